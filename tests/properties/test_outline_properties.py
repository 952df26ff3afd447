"""The offline summariser holds its promises for any span."""

from hypothesis import given, settings
from hypothesis import strategies as st

from chronicle import canonical
from chronicle.envelope import ActorKind, Kind
from chronicle.summarisers.outline import LENGTH, Outline
from chronicle.summarisers.protocol import Child, Said, Span
from tests.outlines import invented_words, misquoted

CONTENT_KINDS = [Kind.MESSAGE, Kind.THOUGHT, Kind.TOOL_REQUEST, Kind.TOOL_RESPONSE]
storable = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
fragments = st.sampled_from(
    ["“", "”", "«", "»", "\n", "\n\n", "…", ". ", "? ", "@x ", "```\n", "- ", "{", '{"path": "', "é́", "日本", "ا"]
)
words = st.text(storable, min_size=1, max_size=30)
texts = st.lists(words | fragments | st.sampled_from(["table ", "for ", "four ", "R-9054 "]), max_size=60).map("".join)
names = st.sampled_from(["Ada", "Bo", "user", "the auditor agreed"]) | st.text(storable, min_size=1, max_size=60)


@st.composite
def spans(draw: st.DrawFn) -> Span:
    said: list[Said] = []
    for _ in range(draw(st.integers(1, 25))):
        kind = draw(st.sampled_from(CONTENT_KINDS))
        payload = draw(
            st.none()
            | st.fixed_dictionaries(
                {"tool": names, "is_error": st.booleans(), "input": st.dictionaries(names, texts, max_size=2)}
            )
        )
        requests = [place for place, one in enumerate(said) if one.kind == Kind.TOOL_REQUEST]
        answers = draw(st.sampled_from([None, *requests])) if kind == Kind.TOOL_RESPONSE else None
        said.append(Said(kind, draw(st.sampled_from(list(ActorKind))), draw(names), draw(texts),
                         canonical.dump(payload) if payload else "", answers))  # fmt: skip
    return Span(tuple(said))


@settings(max_examples=80, deadline=None)
@given(spans())
def test_any_outline_quotes_exactly_invents_nothing_and_stays_short(span: Span) -> None:
    draft = Outline().section(span)
    assert not misquoted(draft.prose, span.said)
    assert not invented_words(draft.prose, span.said)
    assert len(draft.prose) <= LENGTH
    assert 1 <= len(draft.title) <= 80
    assert "\n" not in draft.title
    paragraphs = draft.prose.split("\n\n")
    assert 2 <= len(paragraphs) <= 5
    assert not any(
        line[:1] in "#-*+>|0123456789." and line[:2].strip() in {"#", "-", "*", "+", ">"} for line in paragraphs
    )
    assert Outline().section(span) == draft


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(Child, title=texts.filter(bool), prose=texts.filter(bool), event_count=st.integers(0, 400)),
        min_size=2,
        max_size=30,
    )
)
def test_any_rollup_is_short_and_holds_a_title(children: list[Child]) -> None:
    draft = Outline().rollup(children)
    assert draft.prose.strip()
    assert len(draft.prose) <= 1500
    assert 1 <= len(draft.title) <= 80
    assert "\n" not in draft.title
    assert Outline().rollup(children) == draft
