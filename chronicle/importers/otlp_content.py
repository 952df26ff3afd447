"""What a span says of a model call, a tool or an agent, wherever its instrumentation put it.

Guarantees: the GenAI conventions old and new (attributes, span events, log records), OpenLLMetry's numbered
attributes, OpenInference, ADK, Langfuse, the AI SDK, MLflow and Logfire are read; of the places that say the same,
one is taken. What no instrumentation recorded is None, and nothing is made up for it. Refuses nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from chronicle.envelope import Kind
from chronicle.importers import text
from chronicle.importers.otlp_messages import Bit, answer, bits, parsed, request
from chronicle.importers.otlp_spans import Happened, Span, inside, listed, whole

EMPTY = (None, "", "{}", "[]", "null", "<not serializable>")
MAX_INDEX = 100_000


class Role(StrEnum):
    """What a span is of; NONE is plumbing."""

    MODEL = "model"
    TOOL = "tool"
    AGENT = "agent"
    LOG = "log"
    NONE = ""


OPERATIONS = {
    "chat": Role.MODEL,
    "completion": Role.MODEL,
    "text_completion": Role.MODEL,
    "generate_content": Role.MODEL,
    "response": Role.MODEL,
    "responses": Role.MODEL,
    "execute_tool": Role.TOOL,
    "invoke_agent": Role.AGENT,
    "invoke_workflow": Role.AGENT,
}
KINDS = {
    "LLM": Role.MODEL,
    "CHAT_MODEL": Role.MODEL,
    "GENERATION": Role.MODEL,
    "TOOL": Role.TOOL,
    "AGENT": Role.AGENT,
}
KIND_NAMES = (
    "openinference.span.kind", "traceloop.span.kind", "langfuse.observation.type", "mlflow.spanType",
)  # fmt: skip
CONVERSATIONS = (
    "gen_ai.conversation.id", "langfuse.session.id", "session.id", "gcp.vertex.agent.session_id",
    "traceloop.association.properties.session_id", "traceloop.association.properties.thread_id",
    "langfuse.trace.metadata.sessionId", "ai.telemetry.metadata.sessionId", "langgraph.thread_id",
    "mlflow.trace.session", "langsmith.trace.session_id", "gen_ai.thread.id", "agent.conversation.id",
)  # fmt: skip
AGENTS = ("gen_ai.agent.name", "agent.name", "agent_name", "ai.telemetry.functionId")
MODELS = (
    "gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "langfuse.observation.model.name",
    "ai.response.model", "ai.model.id", "llm.request.model",
)  # fmt: skip
EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
PLUMBING = ("http.", "url.", "db.", "rpc.", "messaging.", "mcp.", "faas.", "a2a.")


@dataclass(frozen=True, slots=True)
class Content:
    """The messages that went into a call, in order, and those that came out."""

    prompt: list[Bit]
    completion: list[Bit]

    def __bool__(self) -> bool:
        return bool(self.prompt or self.completion)


@dataclass(frozen=True, slots=True)
class Used:
    """A tool's run: its name, the call's id, what it was given and what it gave (None: not recorded)."""

    tool: str
    call: str
    arguments: Any
    result: Bit | None


def role(span: Span) -> Role:
    """Return what a span is of."""
    if span.log:
        return Role.LOG if _is_news(span.happened[0]) else Role.NONE
    operation = span.get("gen_ai.operation.name")
    if isinstance(operation, str) and operation in OPERATIONS:
        return OPERATIONS[operation]
    if isinstance(operation, str) and operation:
        return Role.NONE
    kinds = [parsed(span.attributes.get(name)) for name in KIND_NAMES]
    named = [kind.upper() for kind in kinds if isinstance(kind, str) and kind and kind.upper() != "UNKNOWN"]
    if named:
        return next((KINDS[kind] for kind in named if kind in KINDS), Role.NONE)
    return _by_marks(span)


def _is_news(said: Happened) -> bool:
    return (
        said.name in EVENTS or "gen_ai.input.messages" in said.attributes or "gen_ai.output.messages" in said.attributes
    )


def _by_marks(span: Span) -> Role:
    """Tell a span by what it holds, where no attribute says what it is."""
    given = span.attributes
    sdk = span.word("ai.operationId")
    if sdk:
        return Role.TOOL if sdk == "ai.toolCall" else Role.MODEL if ".do" in sdk and "mbed" not in sdk else Role.AGENT
    if (
        given.get("gcp.vertex.agent.llm_request") not in EMPTY
        or given.get("gcp.vertex.agent.llm_response") not in EMPTY
    ):
        return Role.MODEL
    if span.get("gen_ai.tool.name", "gen_ai.tool.call.id", "gcp.vertex.agent.tool_response"):
        return Role.TOOL
    if span.get("gen_ai.request.model", "llm.request.type", "llm.model_name", "gen_ai.input.messages"):
        return Role.MODEL if span.get("llm.request.type") not in ("embedding", "rerank") else Role.NONE
    if "gen_ai.prompt.0.role" in given or "gen_ai.prompt.0.content" in given or "llm.prompts.0.content" in given:
        return Role.MODEL
    return Role.NONE


def kind(span: Span) -> str:
    """Return what the report counts a span as that gives no events."""
    if span.log:
        return "log record"
    operation = span.word("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind")
    if operation:
        return f"span/{text.name(operation, 'other')[:50].lower()}"
    prefix = next((one for one in PLUMBING for name in span.attributes if name.startswith(one)), "")
    return f"span/{prefix.rstrip('.').replace('url', 'http') or 'other'}"


def conversation(span: Span) -> str:
    """Return the id of the conversation that a span names, "" for none."""
    return text.name(span.word(*CONVERSATIONS), "")


def usage(span: Span) -> dict[str, Any]:
    """Return the tokens that a span counts, as it names them."""
    found: dict[str, Any] = {}
    for prefix in ("gen_ai.usage.", "llm.usage.", "llm.token_count.", "ai.usage."):
        for name, count in span.attributes.items():
            if name.startswith(prefix) and isinstance(count, int | float) and not isinstance(count, bool):
                found.setdefault(name.removeprefix(prefix), count)
    details = parsed(span.attributes.get("langfuse.observation.usage_details"))
    return found or (dict(details) if isinstance(details, Mapping) else {})


def content(span: Span) -> Content:
    """Return what went into a model call and what came out, from the first places that say it."""
    prompt: list[Bit] = []
    completion: list[Bit] = []
    for place in PLACES:
        if prompt and completion:
            break
        found = place(span)
        prompt, completion = prompt or found.prompt, completion or found.completion
    return Content(prompt, completion)


def _conventions(span: Span) -> Content:
    """`gen_ai.input.messages` and its like, on the span or on an event of it."""
    prompt: list[Bit] = []
    completion: list[Bit] = []
    for given in (span.attributes, *(one.attributes for one in span.happened)):
        system = given.get("gen_ai.system_instructions")
        found = bits(system, "system") if system not in EMPTY else []
        found += bits(given["gen_ai.input.messages"]) if given.get("gen_ai.input.messages") not in EMPTY else []
        prompt = prompt or found
        said = given.get("gen_ai.output.messages")
        completion = completion or (bits(said, "assistant") if said not in EMPTY else [])
    return Content(prompt, completion)


def nested(given: Mapping[str, Any], prefix: str) -> Any:
    """Return the numbered attributes under `prefix` as what they were before they were flattened."""
    root: dict[str, Any] = {}
    for name, one in given.items():
        if not name.startswith(prefix):
            continue
        steps, at = name[len(prefix) :].split("."), root
        for step in steps[:-1]:
            inner = at.setdefault(step, {})
            at = inner if isinstance(inner, dict) else at
        if not isinstance(at.get(steps[-1]), dict):
            at[steps[-1]] = one
    return _lists(root)


def _lists(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if node and all(step.isdecimal() and int(step) < MAX_INDEX for step in node if isinstance(step, str)):
        return [_lists(node[step]) for step in sorted(node, key=int)]
    return {step: _lists(inner) for step, inner in node.items()}


def _numbered(span: Span) -> Content:
    """OpenLLMetry's `gen_ai.prompt.0.content` and OpenInference's `llm.input_messages.0.message.content`."""
    pairs = (
        ("gen_ai.prompt.", "gen_ai.completion."),
        ("llm.input_messages.", "llm.output_messages."),
        ("llm.prompts.", "llm.completions."),
    )
    for before, after in pairs:
        given, made = nested(span.attributes, before), nested(span.attributes, after)
        found = Content(bits(given) if given else [], bits(made, "assistant") if made else [])
        if found:
            return found
    return Content([], [])


def _adk(span: Span) -> Content:
    asked = inside(parsed(span.attributes.get("gcp.vertex.agent.llm_request")))
    told = inside(parsed(span.attributes.get("gcp.vertex.agent.llm_response")))
    system = inside(asked.get("config")).get("system_instruction")
    prompt = (bits(system, "system") if system else []) + bits(asked.get("contents"))
    return Content(prompt, bits(told.get("content"), "assistant"))


def _sdk(span: Span) -> Content:
    """The AI SDK of Vercel."""
    given = span.get("ai.prompt.messages", "ai.prompt")
    answered = span.get("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object")
    made: list[Bit] = []
    thought = span.word("ai.response.reasoning")
    made += bits({"role": "assistant", "reasoning": thought}) if thought else []
    made += bits({"role": "assistant", "content": answered}) if isinstance(answered, str) else []
    calls = parsed(span.get("ai.response.toolCalls", "ai.result.toolCalls"))
    made += bits({"role": "assistant", "tool_calls": calls}) if isinstance(calls, list) else []
    return Content(bits(given) if given else [], made)


def _events(span: Span) -> Content:
    """Events named for who speaks: of the span, of a log record, or listed in an attribute."""
    prompt: list[Bit] = []
    completion: list[Bit] = []
    for said in (*span.happened, *_listed_events(span)):
        if said.name in ("gen_ai.content.prompt", "gen_ai.content.completion"):
            given = said.attributes.get(said.name.replace("content.", ""))
            (prompt if said.name.endswith("prompt") else completion).extend(bits(given, _speaker(said.name)))
        elif said.name in EVENTS:
            (completion if said.name == "gen_ai.choice" else prompt).extend(_of_event(said))
    return Content(prompt, completion)


def _speaker(name: str) -> str:
    return "user" if name.endswith("prompt") else "assistant"


def _listed_events(span: Span) -> Iterator[Happened]:
    for name in ("events", "all_messages_events"):
        for one in listed(parsed(span.attributes.get(name))):
            if isinstance(one, Mapping):
                yield Happened(text.name(one.get("event.name"), ""), {}, one)


def _of_event(said: Happened) -> list[Bit]:
    """The message is the body of a log record, or lies in an event's attributes, which may hold it as JSON."""
    given = said.body if said.body is not None else said.attributes.get("gen_ai.event.content", said.attributes)
    given = parsed(given)
    role = EVENTS[said.name]
    if isinstance(given, Mapping):
        return bits(given.get("message", {"role": role, **given}), role)
    return bits({"role": role, "content": given}, role)


def _frameworks(span: Span) -> Content:
    """Logfire, Langfuse, MLflow, OpenLLMetry's entities and OpenInference's plain values, in this order."""
    pairs = (
        ("request_data", "response_data"),
        ("pydantic_ai.all_messages", ""),
        ("langfuse.observation.input", "langfuse.observation.output"),
        ("mlflow.spanInputs", "mlflow.spanOutputs"),
        ("gen_ai.prompt", "gen_ai.completion"),
        ("input.value", "output.value"),
        ("traceloop.entity.input", "traceloop.entity.output"),
    )
    for before, after in pairs:
        given, made = span.attributes.get(before), span.attributes.get(after)
        if given in EMPTY and made in EMPTY:
            continue
        prompt = bits(_held(parsed(given))) if given not in EMPTY else []
        return Content(prompt, bits(_held(parsed(made)), "assistant") if made not in EMPTY else [])
    return Content([], [])


def _held(given: Any) -> Any:
    """Return the messages inside a request or response of a model, or what was given."""
    if not isinstance(given, Mapping):
        return given
    for name in ("messages", "input", "inputs", "choices", "generations", "message", "outputs", "output"):
        inner = parsed(given.get(name))
        if inner is None or inner in EMPTY or "role" in given:
            continue
        if name == "message" and isinstance(inner, Mapping):
            return inner
        return _held(inner)
    return given


PLACES: tuple[Callable[[Span], Content], ...] = (_conventions, _numbered, _sdk, _adk, _events, _frameworks)


def used(span: Span) -> Used:
    """Return what a tool's span says."""
    name = span.word("gen_ai.tool.name", "tool.name", "tool_call.function.name", "ai.toolCall.name", "mcp.tool.name")
    name = name or span.word("traceloop.entity.name") or span.name.removeprefix("execute_tool ").removesuffix(".tool")
    call = span.word("gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id", "tool_call_id")
    return Used(text.name(name, "tool"), text.name(call, ""), _arguments(span), _result(span, call, name))


def _arguments(span: Span) -> Any:
    found = span.get(
        "gen_ai.tool.call.arguments", "tool_arguments", "ai.toolCall.args", "ai.toolCall.input", "tool.parameters",
        "tool_call.function.arguments", "gcp.vertex.agent.tool_call_args", "langfuse.observation.input",
        "mlflow.spanInputs", "input.value", "traceloop.entity.input",
    )  # fmt: skip
    if found is None:
        found = next(
            (one.attributes.get("content") for one in span.happened if one.name == "gen_ai.tool.message"), None
        )
    return parsed(found)


def _result(span: Span, call: str, name: str) -> Bit | None:
    found = span.get(
        "gen_ai.tool.call.result", "tool_response", "ai.toolCall.result", "ai.toolCall.output",
        "gcp.vertex.agent.tool_response", "langfuse.observation.output", "mlflow.spanOutputs", "output.value",
        "traceloop.entity.output",
    )  # fmt: skip
    if found is None:
        found = next((one.attributes.get("message") for one in span.happened if one.name == "gen_ai.choice"), None)
    return answer(call, found, name) if found is not None and found != "" else None


def call_of(use: Used) -> Bit:
    """Return the request that a tool's run answers."""
    return request(use.call, use.tool, use.arguments)


def failed(span: Span) -> str:
    """Return why a span failed, in its own words: its status, or the exception that it recorded."""
    if span.error and span.error != "error":
        return span.error
    for one in span.happened:
        if one.name == "exception":
            words = one.attributes.get("exception.message") or one.attributes.get("exception.type")
            return str(words) if words else span.error
    return span.error or (str(span.get("error.type")) if span.get("error.type") else "")


def duration(span: Span) -> int | None:
    """Return how many milliseconds a span took."""
    if span.start is None or span.end is None or span.end < span.start:
        return None
    return int(whole((span.end - span.start) // 1_000_000, 0))


def is_said(bit: Bit) -> bool:
    """True for a bit that can stand as an event: words, or a call or result, which may be empty."""
    return bit.kind in (Kind.TOOL_REQUEST, Kind.TOOL_RESPONSE) or bool(bit.said.words.strip())
