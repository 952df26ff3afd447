"""A log that holds something of every kind, and a database that is emptied of it."""

import base64
import json
from pathlib import Path

from django.db import connection
from django.utils import timezone

from chronicle import append_only, policies, prompts, receipts
from chronicle.fold import consolidate
from chronicle.log import append
from chronicle.models import Anchor, Finding, Log, Section, SignOff
from chronicle.pins import PinLedger
from chronicle.rebuild import rebuild
from chronicle.sections import NewSection, current_edition, current_sections, supersede
from tests.builders import marker, said
from tests.ingesting import ingested, only_log, talk
from tests.summarisers import Noting

KEY = "p1:model_call:" + "7" * 64
# Children before parents.
TABLES = """
    signoff finding receiptpart receipt rollupsource sectionpin section anchor unitfailure foldposition edition
    pin pinscratch event attachment source policy prompt log auditentry
"""


def whole_log(folder: Path, generations: int = 11) -> Log:
    """A log with a source, an image, private and escaped events, pins, prompts, policies, two editions, rollups,
    generations (one slot has `generations`), receipts, findings and sign-offs."""
    log = _ingested(folder)
    for number in range(1, 14):
        append(log, [said(f"message {number} ✓\u0301"), marker()])
    append(log, [said("The PIN is 4821.", audience=("zoë", "booking"))], keys=["a key"])
    prompts.add("terse", "Say it in a line.", "Say all in a line.", "ada")
    policies.set_for(log, made_by="ada", prompt="terse/1", interval_messages=7, from_seq=log.last_seq + 1)
    _pinned(log)
    consolidate(log, summariser=Noting("First account"))
    log.refresh_from_db()
    receipts.read_brief(log, by="concierge", capability="read", upto_seq=12)
    rebuild(log, discard_generated=True, by="ada", reason="better words", summariser=Noting("Second account"))
    for number in range(2, generations + 1):
        again(log, "5-6", f"Account {number}")
    again(log, _rollup(log), "All over again")
    receipts.read_brief(log, by="concierge", capability="read", budget=300, reader="booking")
    edition = current_edition(log)
    receipts.read_list(edition, by="concierge", capability="metadata")
    receipts.read_open(edition, "5-6", by="concierge", capability="read")
    receipts.read_expand(edition, "5-6", by="concierge", capability="expand")
    _said_of(log)
    return log


def _ingested(folder: Path) -> Log:
    image = {"type": "image", "source": {"media_type": "image/png", "data": base64.b64encode(b"\x89PNG").decode()}}
    records = [talk(1, words="A lone \ud800 stays."), talk(2) | {"message": {"content": [image]}}]
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return only_log(ingested(path, owner="alice"))


def _pinned(log: Log) -> None:
    unit = PinLedger(log).open("1/29-29")
    unit.resolve(KEY, "model_call", lambda: {"words": ["ÿ", 1.5, None]})
    unit.commit()
    log.refresh_from_db()
    append(log, [said("Once more."), marker()])


def again(log: Log, ref: str, words: str, *, pins: tuple[str, ...] = (KEY,)) -> Section:
    """The next generation of a section; a rollup reads its children's current ones."""
    edition = current_edition(log)
    old = next(one for one in current_sections(edition) if one.anchor.ref == ref)
    anchor = old.anchor
    children = list(current_sections(edition).filter(anchor__rolled_up_into=anchor)) if anchor.level else []
    new = NewSection(
        level=anchor.level,
        from_seq=anchor.from_seq,
        to_seq=anchor.to_seq,
        kind=anchor.kind,
        event_count=anchor.event_count,
        title=words,
        prose=f"{words}. é",
        made_by="ada",
        pins=pins,
    )
    return supersede(edition, old, new, sources=children)


def _rollup(log: Log) -> str:
    return Anchor.objects.filter(edition=current_edition(log), level=1).first().ref  # type: ignore[union-attr]


def _said_of(log: Log) -> None:
    section = Section.objects.filter(anchor__edition__log=log).order_by("-pk")[0]
    same = {"section": section, "section_digest": section.digest, "at": timezone.now()}
    first = Finding.objects.create(**same, reviewer="rosa", words="Not said.", cited_seqs=[3, 4])
    Finding.objects.create(**same, reviewer="rosa", words="It was.", withdraws=first)
    SignOff.objects.create(**same, reviewer="rosa", verdict="agrees")


def emptied() -> None:
    """Remove every log behind the back of the database, as a fresh one has none."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    append_only.drop(connection)
    with connection.cursor() as cursor:
        for table in TABLES.split():
            cursor.execute(f"DELETE FROM chronicle_{table}")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    append_only.install(connection)


def moved_on(log: Log) -> Log:
    """The log's row as it stands now."""
    return Log.objects.get(public_id=log.public_id)
