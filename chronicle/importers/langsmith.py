"""LangSmith's runs: a list, `{"runs": […]}`, one a line, or one with its children inside.

Guarantees: runs of models and tools are told, chains repeat them and are ignored by kind; a run is part of the thread
that its metadata names, else of its trace; a time without a zone is UTC, as LangSmith writes it; read like the spans
of `otlp`. Refuses: a run without an id, by its place.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from chronicle.importers import lines, otlp_spans, parts, text
from chronicle.importers.otlp import of_lines
from chronicle.importers.otlp_reading import Found, Line, Reading
from chronicle.importers.otlp_spans import Span, inside, listed, nanoseconds
from chronicle.importers.protocol import Item, Opened, Survey

RUNS = "runs"
DEEPEST = 20
KINDS = {"llm": "LLM", "tool": "TOOL"}
THREADS = ("thread_id", "conversation_id", "session_id")
TOKENS = ("prompt_tokens", "completion_tokens", "total_tokens")


class LangSmith:
    """The importer; it keeps nothing between files."""

    name: ClassVar[str] = "langsmith"

    def sniff(self, opened: Opened) -> bool:
        head = parts.head(opened)
        if isinstance(head, Mapping) and isinstance(head.get(RUNS), list):
            head = head[RUNS]
        return any(map(_is_run, otlp_spans.documents_in(head))) or any(map(_is_run, lines.first_documents(opened)))

    def survey(self, opened: Opened) -> Survey:
        if of_lines(opened):
            return Survey(sum(1 for _ in lines.raw_lines(opened)))
        return Survey(sum(1 for _ in _found(opened)))

    def read(self, opened: Opened) -> Iterator[Item]:
        reading = Reading()
        if of_lines(opened):
            given = (one for one in lines.documents(opened, lenient=True) if not one.reason and not one.blank)
            reading.learn(found for one in given for found in _of_run(one.value, ""))
            for document in lines.documents(opened, lenient=True):
                if document.reason or document.blank or document.invalid is not None:
                    yield from lines.said_of(document)
                if not document.reason and not document.blank:
                    yield from reading.line(Line(document.line, document.place, list(_of_run(document.value, ""))))
        else:
            reading.learn(_found(opened))
            yield from reading.spans(_found(opened))
        yield from reading.notes()


def _is_run(value: Any) -> bool:
    given = inside(value)
    return isinstance(given.get("run_type"), str) and "id" in given and bool({"trace_id", "dotted_order"} & set(given))


def _found(opened: Opened) -> Iterator[Found]:
    for part in parts.parts(opened, RUNS):
        if part.reason:
            yield Found(part.place, part.reason)
        elif part.is_header and "run_type" not in inside(part.value):
            yield Found(part.place, ignored="header")
        else:
            yield from _of_run(part.value, part.place, len(part.data))


def _of_run(record: Any, place: str, size: int = 1000) -> Iterator[Found]:
    """Yield a run and the runs inside it, at most DEEPEST deep."""
    waiting = [(record, place, 0)]
    while waiting:
        run, at, depth = waiting.pop()
        yield Found(at, span(run), size=max(size, 1000))
        before = at.removesuffix(parts.HEADER) if at.endswith(parts.HEADER) else f"{at}/" if at else ""
        children = listed(inside(run).get("child_runs")) if depth < DEEPEST else []
        waiting += [(child, f"{before}child_runs/{n}", depth + 1) for n, child in reversed(list(enumerate(children)))]


def span(run: Any) -> Span | str:
    """Return a run as a span, or why it is none."""
    if not isinstance(run, Mapping):
        return "not a JSON object"
    run_id = text.name(run.get("id"), "")
    if not run_id:
        return "a run without an id"
    failed = run.get("error")
    return Span(
        trace=text.name(run.get("trace_id"), "") or run_id,
        id=run_id,
        parent=text.name(run.get("parent_run_id"), ""),
        name=text.name(run.get("name"), "run"),
        start=_time(run.get("start_time")),
        end=_time(run.get("end_time")),
        attributes=_attributes(run),
        error=failed if isinstance(failed, str) else "",
    )


def _time(given: Any) -> int | None:
    if isinstance(given, int | float) and not isinstance(given, bool):
        return nanoseconds(int(given * 10**6)) if 10**11 < given < 10**15 else None  # milliseconds
    found = nanoseconds(given)
    return found if found is not None or not isinstance(given, str) else nanoseconds(f"{given}Z")


def _attributes(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run says, under names that the reading of spans knows."""
    kind = str(run.get("run_type"))
    extra = inside(run.get("extra"))
    metadata, asked = inside(extra.get("metadata")), inside(extra.get("invocation_params"))
    found: dict[str, Any] = {"openinference.span.kind": KINDS.get(kind, kind)}
    if kind in KINDS:
        found |= {"input.value": run.get("inputs"), "output.value": _answered(run.get("outputs"), kind)}
    thread = next((metadata[name] for name in THREADS if isinstance(metadata.get(name), str)), None)
    model = metadata.get("ls_model_name") or asked.get("model") or asked.get("model_name")
    call = _call(run) if kind == "tool" else ""
    pairs = (("gen_ai.conversation.id", thread), ("llm.model_name", model), ("tool_call_id", call))
    found |= {name: value for name, value in pairs if value}
    return found | {f"llm.token_count.{name}": run[name] for name in TOKENS if run.get(name)}


def _answered(outputs: Any, kind: str) -> Any:
    """A model's outputs as they are; a tool's as what it answered, taken out of LangChain's message."""
    if kind != "tool" or not isinstance(outputs, Mapping):
        return outputs
    output = outputs.get("output", outputs)
    inner = inside(inside(output).get("kwargs")) or inside(inside(output).get("data")) or inside(output)
    return inner.get("content", output)


def _call(run: Mapping[str, Any]) -> str:
    """The id of the call that a tool's run answers: in its output message, its inputs or its metadata."""
    output = inside(inside(run.get("outputs")).get("output"))
    extra = inside(run.get("extra"))
    places = (output, inside(output.get("kwargs")), inside(output.get("data")), inside(run.get("inputs")), extra)
    found = (place.get("tool_call_id") for place in (*places, inside(extra.get("metadata"))))
    return next((one for one in found if isinstance(one, str) and one), "")


IMPORTERS = (LangSmith(),)
