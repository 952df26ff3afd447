"""Finding sections by their words, ranked and plain, on both databases."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from chronicle import access, checks, full_text, search, sections
from chronicle.models import Edition, Log, Section
from chronicle.search import Found, Ranked, Retriever, Substring
from chronicle.sections import NewSection
from chronicle.terms import terms_of
from tests.builders import log_of

pytestmark = pytest.mark.django_db

PLACES = {
    "1-10": ("The hornbeam hedge", "Dina asks for three plants, two metres apart."),
    "11-20": ("Water", "The hedge gets a drip line; the hornbeam wants little water, hornbeam says."),
    "21-30": ("Café Zürich", "Naïve ÉLAN, plants.search found Κήπος and Привет; costs 1,200 (100% _sure_)."),
    "31-40": ("晚餐八位", "星期五晚上八位用餐 🌲🌿 booked."),
}
RETRIEVERS: tuple[Retriever, ...] = (Ranked(), Substring())


def written(edition: Edition, ref: str, title: str, prose: str, **given: Any) -> Section:
    from_seq, to_seq = map(int, ref.split("-"))
    new = NewSection(title=title, prose=prose, from_seq=from_seq, to_seq=to_seq, kind="unit", event_count=10, **given)
    return sections.append_new(edition, new)


def filled(owner: str = "demo") -> Edition:
    log = log_of(40, owner=owner)
    edition = sections.current_edition(log)
    for ref, (title, prose) in PLACES.items():
        written(edition, ref, title, prose)
    return edition


@pytest.fixture
def edition() -> Edition:
    return filled()


def refs(found: Found) -> list[str]:
    return [section.ref for section in found.sections]


def ranked(edition: Edition, query: str, **given: Any) -> list[str]:
    return refs(Ranked().retrieve(search.scope(edition), query, **given))


@pytest.mark.promise("A81")
def test_the_plain_retriever_is_case_insensitive_and_newest_first(edition: Edition) -> None:
    plain = Substring()

    def found(query: str, **given: Any) -> list[str]:
        return refs(plain.retrieve(search.scope(edition), query, **given))

    assert found("THE H") == ["11-20", "1-10"]
    assert found("the h", limit=1) == ["11-20"]
    assert found("élan") == ["21-30"]
    assert found("0% _s") == found("%") == ["21-30"]
    assert found("%_%") == []


@pytest.mark.promise("A81")
def test_the_ranked_retriever_puts_the_best_first_and_a_title_before_prose(edition: Edition) -> None:
    assert ranked(edition, "hornbeam") == ["1-10", "11-20"]
    assert ranked(edition, "water") == ["11-20"]
    assert ranked(edition, "HORNBEAM water") == ["11-20"]


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("cafe", "21-30"),
        ("CAFÉ", "21-30"),
        ("cafe\u0301 zurich", "21-30"),
        ("elan", "21-30"),
        ("κήπος", "21-30"),
        ("ПРИВЕТ", "21-30"),
        ("search", "21-30"),
        ("plants.search", "21-30"),
        ("1,200", "21-30"),
        ("sure", "21-30"),
        ("八位", "31-40"),
        ("星期五", "31-40"),
        ("🌲", "31-40"),
        ("🌿 booked", "31-40"),
        ("metr", "1-10"),
    ],
)
def test_words_are_found_in_every_script_whatever_their_case_and_accents(
    edition: Edition, query: str, place: str
) -> None:
    assert place in ranked(edition, query)
    assert ranked(edition, query + " zeppelin zz🛩") == []


def test_where_no_section_holds_every_word_those_that_hold_some_are_found_and_it_is_said(edition: Edition) -> None:
    found = Ranked().retrieve(search.scope(edition), "who ordered a zeppelin for the hornbeam")
    assert set(refs(found)) == {"1-10", "11-20"} and not found.every_term
    assert Ranked().retrieve(search.scope(edition), "hornbeam hedge").every_term


ODD = [
    *(
        "",
        " ",
        '"',
        "'",
        '"unclosed',
        "a AND",
        "OR",
        "NOT x",
        "NEAR(a b)",
        "title:x",
        "-hornbeam",
        "^x",
        "x*",
        "*",
        "(",
        "\\",
    ),
    *("& | !", "a:*", "<->", "%", "_", ";--", "\x00", "hedge\x00", "\ud800", "\u202e", "🌲" * 300, "é" * 10_000, "the"),
    *(
        "x" * 10_000,
        " ".join(f"w{number}" for number in range(2_000)),
        "\u0301",
        "\u0301\u0900",
        "हिन्दी",
        "²½Ⅷ",
        "'a':*",
        "a''b",
    ),
]


@pytest.mark.parametrize("query", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_no_query_is_an_error(edition: Edition, retriever: Retriever, query: str) -> None:
    found = retriever.retrieve(search.scope(edition), query)
    assert found.shown <= found.of <= len(PLACES)
    for section in found.sections:
        assert "".join(piece.text for piece in search.snippet(section, found.terms)).strip("…") in section.prose


@pytest.mark.promise("A81")
def test_syntax_and_patterns_of_a_query_are_words_like_others(edition: Edition) -> None:
    assert ranked(edition, "hornbeam NOT water") == ranked(edition, '"hornbeam" -not- water:') == ["11-20", "1-10"]
    assert ranked(edition, ".*") == ranked(edition, "%") == []
    assert ranked(edition, "title:hedge")[0] == "1-10"


@pytest.mark.promise("A81", "K7")
@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_what_is_superseded_rolled_up_or_not_in_scope_is_left_out_before_the_limit(retriever: Retriever) -> None:
    mine, other = filled(), filled("somebody else")
    old = Section.objects.get(anchor__edition=mine, anchor__from_seq=1)
    new = NewSection(
        title="The hornbeam hedge, again", prose="Reworded.", from_seq=1, to_seq=10, kind="unit", event_count=10
    )
    sections.supersede(mine, old, new)
    first = list(Section.objects.filter(anchor__edition=mine, anchor__from_seq__lte=11, superseded_by=None))
    rollup = NewSection(
        title="Hornbeam", prose="hornbeam " * 9, from_seq=1, to_seq=20, kind="rollup", event_count=20, level=1
    )
    sections.append_rollup(mine, rollup, sorted(first, key=lambda one: one.anchor.from_seq))
    found = retriever.retrieve(search.scope(mine), "hornbeam", limit=1)
    assert (found.shown, found.of) == (1, 2)
    whole = retriever.retrieve(search.scope(mine), "hornbeam")
    assert set(refs(whole)) == {"1-10#2", "11-20"}
    assert not retriever.retrieve(search.scope(mine), "metres").of
    assert "L1:1-20" in refs(retriever.retrieve(search.scope(mine, rollups=True), "hornbeam"))
    assert {one.anchor.edition for one in retriever.retrieve(search.scope(other), "hornbeam").sections} == {other}


def test_a_scope_of_logs_takes_their_editions_in_force(edition: Edition) -> None:
    other = filled("somebody else")
    found = Ranked().retrieve(search.scope(Log.objects.filter(owner="demo")), "hornbeam")
    assert found.of == 2 and {one.anchor.edition.log for one in found.sections} == {edition.log}
    assert Ranked().retrieve(search.scope(Log.objects.all()), "hornbeam").of == 4
    assert Ranked().retrieve(search.scope(Log.objects.none()), "hornbeam").of == 0
    type(other).objects.filter(pk=other.pk).update(state="archived")
    assert Ranked().retrieve(search.scope(Log.objects.all()), "hornbeam").of == 2


def test_a_snippet_stands_around_the_first_word_and_says_what_was_sought(edition: Edition) -> None:
    prose = "x " * 200 + "A <b>Hornbeam</b> stands." + " y" * 200
    far = Section(prose=prose)
    pieces = search.snippet(far, terms_of("hornBEAM"))
    assert pieces[0].text == pieces[-1].text == "…"
    assert [piece.text for piece in pieces if piece.sought] == ["Hornbeam"]
    assert search.snippet(far, terms_of("zeppelin"))[0].text.startswith("x x")


def test_more_words_than_are_looked_for_are_counted() -> None:
    terms = terms_of(" ".join(f"w{number}" for number in range(40)) + " w1 W1")
    assert (len(terms.words), terms.unused) == (32, 8)


@pytest.fixture
def without_an_index(edition: Edition) -> Iterator[Edition]:
    with connection.cursor() as cursor:
        on = f' ON "{full_text.SECTIONS.rows}"' if connection.vendor == "postgresql" else ""
        cursor.execute(f'DROP TRIGGER "{full_text.SECTIONS.trigger}"{on}')
        cursor.execute(f'DROP TABLE "{full_text.SECTIONS.table}"')
    yield edition
    full_text.install(connection)


def test_an_older_database_gets_its_index_by_migrating_and_lacks_it_aloud(without_an_index: Edition) -> None:
    [found] = [one for one in checks.database(databases=["default"]) if one.id == "chronicle.W004"]
    assert full_text.SECTIONS.trigger in found.msg and "migrate" in str(found.hint)
    full_text.install(connection)
    assert not [one for one in checks.database(databases=["default"]) if one.id == "chronicle.W004"]
    assert ranked(without_an_index, "hornbeam") == ["1-10", "11-20"]
    full_text.install(connection)
    assert Ranked().retrieve(search.scope(without_an_index), "hornbeam").of == 2


@pytest.mark.django_db(transaction=True)
def test_the_index_forgets_what_a_flush_removed_first() -> None:
    assert Section.objects.count() == 0
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT COUNT(*) FROM "{full_text.SECTIONS.table}"')
        assert cursor.fetchone() == (0,)
    assert ranked(filled(), "hornbeam") == ["1-10", "11-20"]


@pytest.mark.parametrize("size", [300_000, 3_000_000])
def test_prose_of_any_length_is_indexed(edition: Edition, size: int) -> None:
    log = log_of(5)
    words = " ".join(f"w{number}x" for number in range(size // 8))
    written(sections.current_edition(log), "1-5", "Long", f"zeppelin {words} {'y' * 5000} 🌲")
    assert ranked(sections.current_edition(log), "zeppelin") == ["1-5"]


def test_who_may_see_no_log_finds_nothing(edition: Edition, django_user_model: Any) -> None:
    nobody = django_user_model.objects.create_user("nobody")
    assert Ranked().retrieve(search.scope(access.visible_logs(nobody)), "hornbeam").of == 0
