"""What may be wrong with a file, one change each, and the words that the refusal must hold."""

from collections.abc import Callable
from typing import Any

from chronicle import canonical
from tests.carry.bundle import Bundle

type Change = Callable[[Bundle], Any]


def say(kind: str, /, **new: Any) -> Change:
    """Change what the first row of a kind says."""

    def change(bundle: Bundle) -> None:
        row = bundle.one(kind)
        row.update(new)
        if kind == "section":
            bundle.reseal(row)

    return change


def drop(kind: str, /, **said: Any) -> Change:
    return lambda bundle: bundle.drop(bundle.one(kind, **said))


def _an_inverted_range(bundle: Bundle) -> None:
    row = bundle.one("anchor", from_seq=5)
    row["from_seq"], row["to_seq"] = 6, 5


def _a_hole(bundle: Bundle) -> None:
    bundle.drop(bundle.one("anchor", from_seq=25), bundle.one("section", level=0, from_seq=25))


def _a_late_start(bundle: Bundle) -> None:
    bundle.drop(bundle.one("anchor", level=0, from_seq=1), bundle.one("section", level=0, from_seq=1))


def _an_overlap(bundle: Bundle) -> None:
    bundle.one("anchor", from_seq=5).update(to_seq=7, event_count=2)


def _past_the_end(bundle: Bundle) -> None:
    bundle.of("anchor", level=0)[-1]["to_seq"] = 100


def _over_an_empty_log(bundle: Bundle) -> None:
    log = bundle.one("log")
    bundle.drop(*bundle.of("event"), *bundle.of("pin"), *bundle.of("attachment"))
    log["last_seq"] = bundle.header["logs"][0]["last_seq"] = 0
    log["head"] = bundle.header["logs"][0]["head"] = canonical.genesis(log["id"])


def _a_missing_child(bundle: Bundle) -> None:
    bundle.one("anchor", from_seq=5)["rolled_up_into"] = None


def _a_rollup_of_one(bundle: Bundle) -> None:
    for row in bundle.of("anchor", level=0)[:8]:
        row["rolled_up_into"] = None


def _a_stamp_nowhere(bundle: Bundle) -> None:
    bundle.one("anchor", from_seq=5)["rolled_up_into"] = [1, 20]


def _a_rollup_that_read_others(bundle: Bundle) -> None:
    row = bundle.one("section", level=1)
    row["sources"] = row["sources"][:-1]


def _a_rollup_that_read_what_is_not_there(bundle: Bundle) -> None:
    bundle.one("section", level=1)["sources"][0][3] = 7


def _a_cycle(bundle: Bundle) -> None:
    bundle.one("section", generation=2)["supersedes"] = 2


def _a_fork(bundle: Bundle) -> None:
    bundle.one("section", generation=3)["supersedes"] = 1


def _a_missing_generation(bundle: Bundle) -> None:
    bundle.drop(bundle.one("section", generation=2))


def _other_events(bundle: Bundle) -> None:
    log = bundle.one("log")
    log["id"] = bundle.header["logs"][0]["id"] = "another"


def _another_owner_in_the_header(bundle: Bundle) -> None:
    bundle.header["logs"][0]["owner"] = "mallory"


def _a_section_at_no_anchor(bundle: Bundle) -> None:
    row = bundle.one("section", level=0, from_seq=5)
    row["to_seq"] = 7
    bundle.reseal(row)


def _an_anchor_without_words(bundle: Bundle) -> None:
    bundle.drop(bundle.one("section", level=0, from_seq=27))


def _swapped(bundle: Bundle) -> None:
    first, second = bundle.of("event")[:2]
    at, other = bundle.rows.index(first), bundle.rows.index(second)
    bundle.rows[at], bundle.rows[other] = second, first


def _a_policy_out_of_range(bundle: Bundle) -> None:
    bundle.one("policy")["rollup_batch"] = 1


def _a_receipt_of_nothing(bundle: Bundle) -> None:
    bundle.one("receipt")["parts"][0]["generation"] = 9


def _a_receipt_of_others(bundle: Bundle) -> None:
    bundle.one("receipt")["parts"][0]["form"] = "title"


def _said_of_other_words(bundle: Bundle) -> None:
    bundle.one("finding")["section_digest"] = "0" * 64


def _withdrawn_twice(bundle: Bundle) -> None:
    last = bundle.of("finding")[-1]
    bundle.after(last, {**last, "number": 3})


def _two_in_force(bundle: Bundle) -> None:
    bundle.one("edition", number=1)["state"] = "current"


def _none_in_force(bundle: Bundle) -> None:
    bundle.one("edition", number=2)["state"] = "archived"


def _a_pin_elsewhere(bundle: Bundle) -> None:
    pin = bundle.one("pin")
    bundle.drop(pin)
    bundle.after(bundle.of("event")[0], {**pin, "seq": 1})


def _a_source_unknown(bundle: Bundle) -> None:
    bundle.drop(bundle.one("source"))


def _an_unknown_origin(bundle: Bundle) -> None:
    bundle.one("section")["origin"] = "guessed"


def _no_prose(bundle: Bundle) -> None:
    bundle.one("section")["prose"] = ""


def _other_words(bundle: Bundle) -> None:
    bundle.one("section")["prose"] = "x"


def _another_head(bundle: Bundle) -> None:
    bundle.one("log")["head"] = bundle.header["logs"][0]["head"] = "0" * 64


def _twice(kind: str) -> Change:
    return lambda bundle: bundle.after(bundle.one(kind), dict(bundle.one(kind)))


def _out_of_order(bundle: Bundle) -> None:
    bundle.after(bundle.of("event")[-1], {**bundle.one("policy"), "from_seq": 99})


def _before_any_log(bundle: Bundle) -> None:
    bundle.rows.insert(0, dict(bundle.one("policy")))


def _a_log_too_many(bundle: Bundle) -> None:
    bundle.rows.append(dict(bundle.one("log")))


def _a_log_too_few(bundle: Bundle) -> None:
    bundle.header["logs"].append({**bundle.header["logs"][0], "id": "zz"})


def _a_log_twice(bundle: Bundle) -> None:
    bundle.header["logs"] *= 2


def _a_field_too_few(bundle: Bundle) -> None:
    del bundle.one("event")["salt"]


OLD = "2020-01-01T00:00:00.000000+00:00"
NO_DAY = "2026-02-30T00:00:00.000000+00:00"

REFUSED: list[tuple[str, Change, str]] = [
    ("an inverted range", _an_inverted_range, "section 6-5: its range runs backwards"),
    ("a hole", _a_hole, "section 27-28: no section covers 25 to 26"),
    ("a chronicle that starts late", _a_late_start, "section 5-6: no section covers 1 to 4"),
    ("an overlap", _an_overlap, "section 7-8: it overlaps the one before"),
    ("a range past the end", _past_the_end, "goes past the end of its log, 32"),
    ("sections over an empty log", _over_an_empty_log, "section 1-4 goes past the end of its log, 0"),
    ("empty prose", say("section", prose=" "), "section 1-4 has no words"),
    ("no prose", _no_prose, "$.prose"),
    ("an empty title", say("section", title=" \u00a0"), "section 1-4 has no words"),
    ("an unknown level", say("anchor", level=40_000), "$.level"),
    ("a negative level", say("anchor", level=-1), "$.level"),
    ("a rollup on the ground", say("anchor", kind="rollup"), "does not stand at level 0"),
    ("an unknown kind", say("anchor", kind="chapter"), "$.kind"),
    ("an unknown origin", _an_unknown_origin, "$.origin"),
    ("a missing child", _a_missing_child, "section L1:1-18: its children are not a contiguous run"),
    ("a rollup without children", _a_rollup_of_one, "section L1:1-18: it is not the union of its children"),
    ("a stamp that leads nowhere", _a_stamp_nowhere, "section 5-6 is rolled up into L1:1-20, which is not in the file"),
    ("a rollup that read less", _a_rollup_that_read_others, "section L1:1-18 did not read exactly its children"),
    ("a rollup that read others", _a_rollup_that_read_what_is_not_there, "L1:1-18 read 1-4#7, which does not stand"),
    ("a cycle", _a_cycle, "supersedes generation 2: a cycle"),
    ("a fork", _a_fork, "supersedes generation 1, not the one before it: a fork"),
    ("a missing generation", _a_missing_generation, "section 5-6#3: generation 2 is missing"),
    ("other words", _other_words, "section 1-4: its words are not what was recorded"),
    ("an anchor that counts otherwise", say("anchor", event_count=1), "section 1-4: its count of events is wrong"),
    ("a section without an anchor", _a_section_at_no_anchor, "section 5-7: there is no anchor for it"),
    ("an anchor without words", _an_anchor_without_words, "section 27-28 has no words: no generation"),
    ("another log's events", _other_events, "event 1: it does not follow its predecessor"),
    ("another owner in the header", _another_owner_in_the_header, "is not as the header names it"),
    ("a missing event", drop("event", seq=3), "event 3: missing; the next one there is 4"),
    ("swapped events", _swapped, "event 1: missing; the next one there is 2"),
    ("the last event missing", lambda b: b.drop(b.of("event")[-1]), "says 32 events, 31 are there"),
    ("another head", _another_head, "its head is not the last event's digest"),
    ("an event's words", say("event", content="forged"), "event 1: its content is not what was recorded"),
    ("an event's type", say("event", type="x"), "event 1: it does not follow its predecessor"),
    ("an event's size", say("event", size=1), "event 1: its size"),
    ("an event written after the log's end", say("log", last_activity_at=OLD), "event 1: it was written after"),
    ("an event from a source unknown", _a_source_unknown, "event 1: its source is not in the file"),
    ("a payload that is no JSON", say("event", payload="{"), "event 1: its payload not JSON"),
    ("a payload of another form", say("event", payload='{"a": 1}'), "its payload is not in its canonical form"),
    ("a pin that is not there", drop("pin"), "promoted a pin, and the file does not hold it"),
    ("prose that nobody can see", say("section", prose="\u200b\u2060"), "has no words"),
    ("no pin at all", lambda bundle: bundle.drop(*bundle.of("pin")), "promoted a pin, and the file does not hold it"),
    ("a pin that says otherwise", say("pin", result='"x"'), "it is not what that event says"),
    ("a pin elsewhere", _a_pin_elsewhere, "pin of event 1: that event promoted no pin"),
    ("an attachment's bytes", say("attachment", data="AAAA"), "its bytes are not what was recorded"),
    ("an attachment that is no base64", say("attachment", data="é"), "its data is not base64"),
    ("a policy out of range", _a_policy_out_of_range, "rollup_batch is a whole number from 2 to 100"),
    ("a prompt's texts", say("prompt", section="Lie."), "prompt terse/1: its texts are not what was recorded"),
    ("a receipt of a section that is not there", _a_receipt_of_nothing, "receipt 1 cites section 1-4#9 of edition 1"),
    ("a receipt that says otherwise", _a_receipt_of_others, "receipt 1 is not what was recorded"),
    ("a receipt past the end", say("receipt", upto_seq=99), "receipt 1 goes past the end of its log"),
    ("a receipt of no edition", say("receipt", edition=9), "receipt 1 was read from edition 9"),
    ("a finding on other words", _said_of_other_words, "finding 1: the section it names has another digest"),
    ("a finding withdrawn twice", _withdrawn_twice, "finding 3 withdraws number 1"),
    ("a finding past the end", say("finding", cited_seqs=[99]), "finding 1 cites an event past the end"),
    ("two editions in force", _two_in_force, "edition 2 is in force, and another before it too"),
    ("no edition in force", _none_in_force, "none of its editions is in force"),
    ("a date that is none", say("policy", made_at=NO_DAY), "made_at is no moment"),
    ("a row of no kind", lambda b: b.after(b.one("policy"), {"row": "spell"}), "Invalid value 'spell'"),
    ("a row too many", _twice("policy"), "twice, or out of order"),
    ("a row out of order", _out_of_order, "a policy stands behind an event"),
    ("a row before any log", _before_any_log, "a policy stands before any log"),
    ("a log too many", _a_log_too_many, "is not named by the header"),
    ("a log too few", _a_log_too_few, "log zz, which the header names, is not in the file"),
    ("a log twice", _a_log_twice, "it names a log twice"),
    ("a list for a text", say("event", actor=["a"]), "Expected `str`, got `array` - at `$.actor`"),
    ("a truth for a number", say("event", seq=True), "Expected `int`, got `bool` - at `$.seq`"),
    ("a number no database holds", say("event", seq=2**63), "$.seq"),
    ("a huge number", say("event", size=10**400), "$.size"),
    ("a name that is too long", say("event", actor="a" * 201), "$.actor"),
    ("a field too many", say("event", colour="red"), "unknown field `colour`"),
    ("a field too few", _a_field_too_few, "missing required field `salt`"),
    ("a NUL", say("policy", made_by="a\x00"), "made_by holds a character no database takes at position 1"),
    ("a NUL in a list", say("policy", boundary=["a/b", "a\x00/"]), "boundary[1] holds a character no database takes"),
]  # fmt: skip
