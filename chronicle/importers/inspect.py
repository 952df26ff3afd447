"""Logs of Inspect, the evaluation framework: `.eval` archives and `.json` documents; each sample is a session.

Guarantees: a sample's final conversation is read, its times, usage and model come from the events beside
it; what a dataset or a solver put in as "user" is no person's; a shortened text (`attachment://`) is had
back from the sample; a tool's answer is joined by its call's id; scores and what is no conversation are
ignored by kind. An archive is read as a stream, member by member. Refuses: by name a member that cannot
be read or inflates past the caps, by place what is no message.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

from chronicle.envelope import ActorKind
from chronicle.importers import archives, blocks, parts, text
from chronicle.importers.making import Maker, Place, Said, arguments
from chronicle.importers.parts import Part
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Read, Refused, Session, Survey

DATASET, SOLVER, AGENT, CLIENT = "dataset", "solver", "agent", "inspect"
SAMPLES, MESSAGES, EVENTS = "samples", "messages", ("events", "transcript")
_ATTACHMENT = re.compile(r"attachment://([0-9a-f]{8,128})")


class Evaluation(NamedTuple):
    """What a log says of all its samples: the task's name, and the evaluation's id."""

    task: str = ""
    id: str = ""


@dataclass(slots=True)
class Sample:
    """What is known of a sample before its messages are read: its header, and what its events say of them."""

    header: Mapping[str, Any]
    evaluation: Evaluation
    times: dict[str, Any] = field(default_factory=dict)  # by message id, or by the id of a call
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)  # model and usage by message id
    begun: Any = None
    compactions: int = 0

    @property
    def session(self) -> str:
        given = self.header.get("uuid")
        own = f"{self.evaluation.id} {self.header.get('id')} epoch {self.header.get('epoch')}"
        return text.name(given, "") or text.name(own.strip(), "sample")

    def resolved(self, value: Any) -> Any:
        """Return a value with its shortened texts put back."""
        attachments = self.header.get("attachments")
        if not isinstance(attachments, Mapping) or not attachments:
            return value
        if isinstance(value, str):
            return _ATTACHMENT.sub(lambda found: str(attachments.get(found[1], found[0])), value)
        if isinstance(value, list):
            return [self.resolved(inner) for inner in value]
        return {key: self.resolved(inner) for key, inner in value.items()} if isinstance(value, dict) else value


class Inspect:
    """The importer."""

    name: ClassVar[str] = "inspect"

    def sniff(self, opened: Opened) -> bool:
        """True for an archive with samples of a log, or an object that names its evaluation."""
        if archives.is_archive(opened):
            with suppress(Exception), archives.archive(opened) as found:
                names = {member.filename for member in found.filelist}
                return bool({"header.json", "_journal/start.json"} & names)
            return False
        head = parts.head(opened)
        named = isinstance(head, dict) and isinstance(head.get("eval"), dict) and "version" in head
        return named and bool({"task", "eval_id", "run_id", "created"} & head["eval"].keys())

    def survey(self, opened: Opened) -> Survey:
        """Count the records."""
        if not archives.is_archive(opened):
            return parts.survey(opened, SAMPLES)
        count = 0
        for item in self.read(opened):
            count = max(count, getattr(item, "line", 0))
        return Survey(count)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of every sample. Raises BrokenFile for an archive that is damaged."""
        if archives.is_archive(opened):
            yield from _archive(opened)
            return
        evaluation = Evaluation()
        for part in parts.parts(opened, SAMPLES):
            yield from parts.said_of(part)
            if part.is_header:
                evaluation = _evaluation(part.value)
            elif not part.reason:
                yield from _whole(part, evaluation)


def _evaluation(header: Any) -> Evaluation:
    about = header.get("eval") if isinstance(header, Mapping) else None
    if not isinstance(about, Mapping):
        return Evaluation()
    task = text.name(about.get("task_display_name", about.get("task")), "")
    return Evaluation(task, text.name(about.get("eval_id", about.get("run_id")), ""))


def _archive(opened: Opened) -> Iterator[Item]:
    record, evaluation = 0, Evaluation()
    with archives.archive(opened) as found:
        for member in sorted(
            found.filelist, key=lambda member: (member.filename != "header.json", member.header_offset)
        ):
            if member.filename == "header.json":
                evaluation = _evaluation(_small(found, member))
            if not member.filename.startswith("samples/") or not member.filename.endswith(".json"):
                record += 1
                yield Ignored(_kind_of(member.filename), record)
                continue
            for item in _member(found, member, evaluation, record):
                record = max(record, getattr(item, "line", 0))
                yield item


def _kind_of(name: str) -> str:
    return "journal" if name.startswith("_journal/") else text.name(name, "a member without a name")[:100]


def _small(found: Any, member: Any) -> Any:
    with suppress(*archives.Damaged):
        header = next(parts.parts_of(lambda: archives.stream(found, member)), None)
        return header.value if header is not None else None
    return None


def _member(found: Any, member: Any, evaluation: Evaluation, before: int) -> Iterator[Item]:
    """Yield the items of a sample in an archive, which is read twice: its events, then its messages."""
    name, record = text.storable(member.filename)[0], before
    try:
        sample = _streamed(found, member, evaluation)
        maker = Maker(sample.session)
        yield from _begun(sample)
        for part in parts.parts_of(lambda: archives.stream(found, member), MESSAGES, *EVENTS):
            record = before + part.record
            part = part._replace(record=record, place=f"{name}!{part.place}")
            if part.reason or part.is_header:
                yield from parts.said_of(part)
            elif part.path in EVENTS:
                yield Ignored(_event_kind(part.value), record)
            else:
                yield from _message(maker, sample, part.value, Place(record, part.place))
        yield from _ended(maker, sample, record)
    except archives.Damaged as error:
        yield Refused(record + 1, f"{name}: {archives.why(error)}")


def _streamed(found: Any, member: Any, evaluation: Evaluation) -> Sample:
    sample = Sample({}, evaluation)
    for part in parts.parts_of(lambda: archives.stream(found, member), MESSAGES, *EVENTS):
        if part.is_header and not sample.header and isinstance(part.value, dict):
            sample.header = part.value
        elif part.path in EVENTS:
            _learn(sample, part.value)
    return sample


def _whole(part: Part, evaluation: Evaluation) -> Iterator[Item]:
    """Yield the items of a sample in a document: one record, whose messages are told apart by the block."""
    value = part.value
    messages = value.get(MESSAGES) if isinstance(value, dict) else None
    if not isinstance(messages, list):
        yield Refused(part.record, f"{part.place}: not a sample: it has no list of messages")
        return
    sample = Sample(value, evaluation)
    for key in EVENTS:
        for event in value[key] if isinstance(value.get(key), list) else ():
            _learn(sample, event)
    maker, made = Maker(sample.session), False
    yield from _begun(sample)
    for number, message in enumerate(messages):
        for item in _message(maker, sample, message, Place(part.record, part.place), number):
            made = made or isinstance(item, Read)
            if not isinstance(item, Ignored):
                yield Noted(item.line, item.reason) if isinstance(item, Refused) else item
    if not made:
        yield Ignored("sample without a conversation", part.record)
    yield from _ended(maker, sample, part.record)


def _begun(sample: Sample) -> Iterator[Item]:
    named = [sample.evaluation.task, str(sample.header.get("id", "")), f"epoch {sample.header.get('epoch', 1)}"]
    yield Session(sample.session, text.storable(", ".join(name for name in named if name))[0][:300])


def _ended(maker: Maker, sample: Sample, record: int) -> Iterator[Item]:
    if sample.compactions:
        yield Noted(
            record, f"{sample.compactions} compactions; the log does not say where in the conversation they stand"
        )
    error = sample.header.get("error")
    if isinstance(error, Mapping) and isinstance(error.get("message"), str):
        yield Noted(record, f"the sample ended in an error: {text.storable(text.first_line(error['message']))[0]}")
    if isinstance(sample.header.get("error_retries"), list) and sample.header["error_retries"]:
        yield Noted(record, f"{len(sample.header['error_retries'])} earlier tries of the sample ended in errors")
    yield from text.timeless(maker.timeless)


def _event_kind(event: Any) -> str:
    return f"event/{text.name(event.get('event') if isinstance(event, dict) else None, 'unknown')[:100]}"


def _learn(sample: Sample, event: Any) -> None:
    """Keep what an event says of a message: when it was, by which model, at what cost."""
    if not isinstance(event, dict):
        return
    time = event.get("completed") or event.get("timestamp")
    match event.get("event"):
        case "sample_init":
            sample.begun = event.get("timestamp")
        case "compaction":
            sample.compactions += 1
        case "tool":
            for key in ("message_id", "id"):
                if isinstance(event.get(key), str):
                    sample.times[event[key]] = time
        case "model":
            _learn_output(sample, event.get("output"), time)


def _learn_output(sample: Sample, output: Any, time: Any) -> None:
    choices = output.get("choices") if isinstance(output, dict) else None
    for choice in choices if isinstance(choices, list) else ():
        message = choice.get("message") if isinstance(choice, dict) else None
        if isinstance(message, dict) and isinstance(message.get("id"), str) and message["id"] not in sample.times:
            sample.times[message["id"]] = time
            made = {key: output[key] for key in ("model", "usage") if output.get(key)}
            sample.outputs[message["id"]] = made


def _message(maker: Maker, sample: Sample, value: Any, at: Place, number: int | None = None) -> Iterator[Item]:
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        yield Refused(at.record, f"{at.place}: not a message")
        return
    id = value["id"] if isinstance(value.get("id"), str) and value["id"] else maker.counted(text.readable(value))
    native = text.name(id, "")
    call = text.name(value.get("tool_call_id"), "")
    at = at._replace(time=sample.times.get(id) or sample.times.get(call) or (None if maker.last else sample.begun))
    made = list(_parts(maker, sample, value, native, at))
    for block, read in enumerate(made):
        yield read if number is None else _numbered(read, f"{at.place}:{number}.{block}")
    if not made:
        yield Ignored("message without content", at.record)


def _numbered(read: Read, locator: str) -> Read:
    return replace(read, event=replace(read.event, locator=locator))


def _parts(maker: Maker, sample: Sample, value: dict[str, Any], native: str, at: Place) -> Iterator[Read]:
    content = sample.resolved(value.get("content"))
    match value["role"]:
        case "assistant":
            yield from _assistant(maker, sample, value, content, native, at)
        case "tool":
            yield _answer(maker, sample, value, content, native, at)
        case role:
            said = blocks.said(content)
            if said.words.strip():
                actor = (DATASET if value.get("source") == "input" else SOLVER) if role == "user" else CLIENT
                yield maker.message(f"{native}:0", at, ActorKind.SYSTEM, actor, said)


def _assistant(
    maker: Maker, sample: Sample, value: dict[str, Any], content: Any, native: str, at: Place
) -> Iterator[Read]:
    listed = blocks.listed(content)
    thoughts = [block for block in listed if _is_reasoning(block)]
    said = blocks.said([block for block in listed if not _is_reasoning(block)])
    calls = [call for call in blocks.listed(value.get("tool_calls")) if isinstance(call, dict)]
    more = dict(sample.outputs.get(str(value.get("id")), {}))
    if isinstance(value.get("model"), str):
        more.setdefault("model", value["model"])
    block = 0
    for block, thought in enumerate(thoughts):
        yield maker.thought(f"{native}:{block}", at, AGENT, _reasoning(thought), block=block)
    block = len(thoughts)
    if said.words.strip():
        yield maker.message(
            f"{native}:{block}", at, ActorKind.AGENT, AGENT, said, payload=None if calls else more, block=block
        )
    for number, call in enumerate(calls, block + 1):
        last = more if call is calls[-1] else None
        given = sample.resolved(arguments(call.get("arguments")))
        yield maker.request(
            f"{native}:{number}", at, AGENT, call.get("function"), given, call.get("id"), payload=last, block=number
        )


def _is_reasoning(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "reasoning"


def _reasoning(block: dict[str, Any]) -> Said:
    words = block.get("summary") if block.get("redacted") is True else block.get("reasoning")
    return (
        Said(words) if isinstance(words, str) and words.strip() else Said("[reasoning that the model keeps to itself]")
    )


def _answer(maker: Maker, sample: Sample, value: dict[str, Any], content: Any, native: str, at: Place) -> Read:
    said, error = blocks.said(content), value.get("error")
    payload: dict[str, Any] = {}
    if isinstance(error, dict):
        payload["is_error"] = True
        words = sample.resolved(error.get("message"))
        if isinstance(words, str) and words not in said.words:
            said = said._replace(words=f"{said.words}\n{words}".strip())
        if isinstance(error.get("type"), str):
            payload["error"] = error["type"]
    return maker.response(
        f"{native}:0", at, said, value.get("tool_call_id"), tool=value.get("function"), payload=payload
    )


IMPORTERS = (Inspect(),)
