"""The wire to a provider: the only module that imports the provider library.

Guarantees: one request, its answer as plain JSON; a deadline over all tries, which back off and are bounded; no
redirect is followed, no answer of more than MOST bytes is read, none in a compressed form.
Refuses: with DrawFailed, in a sentence of ours. What a provider says of an error is dropped with its traceback:
it may repeat the request, the answer or a piece of the key.
"""

import inspect
from contextlib import AsyncExitStack
from typing import Any, cast

import httpx2
from pydantic_ai import exceptions
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, UserPromptPart
from pydantic_ai.models import Model, create_async_httpx2_client, infer_model
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class
from pydantic_ai.settings import ModelSettings

from chronicle.canonical import escape_text
from chronicle.errors import DrawFailed
from chronicle.summarisers.addresses import check_address
from chronicle.summarisers.requests import Request

MOST = 8 * 1024**2

type Answer = dict[str, Any]


class NotRead(Exception):
    """An answer that is left unread; the message says why."""


async def call(request: Request, *, timeout: float, retries: int) -> Answer:
    """Ask, and return `text`, `model`, `finish`, `tokens_in`, `tokens_out`, `cost` (USD, as text, or None).

    `timeout` in seconds covers every try. Raises DrawFailed.
    """
    try:
        async with AsyncExitStack() as stack:
            model = await _model(request.model, stack)
            check_address(model.base_url or "https://localhost")
            response = await model_request(
                model,
                [ModelRequest(parts=[SystemPromptPart(request.system), UserPromptPart(request.user)])],
                model_settings=_settings(request, timeout, retries),
            )
    except DrawFailed:
        raise
    except Exception as error:
        raise DrawFailed(_sentence(error, request.model, timeout)) from None
    return _answer(response)


async def _model(name: str, stack: AsyncExitStack) -> Model:
    client = await stack.enter_async_context(create_async_httpx2_client())
    client.headers["Accept-Encoding"] = "identity"
    client.event_hooks["response"].append(_bounded)

    def provider(kind: str) -> Provider[Any]:
        try:
            made: Any = infer_provider_class(kind)
        except ValueError as error:
            raise DrawFailed(f"MODEL={name} names no provider that is known; write provider:name.") from error
        if "http_client" not in inspect.signature(made).parameters:
            return infer_provider(kind)
        return cast("Provider[Any]", made(http_client=client))

    return infer_model(name, provider)


def _settings(request: Request, timeout: float, retries: int) -> ModelSettings:
    found = ModelSettings(
        max_tokens=request.generation.output_tokens, timeout=timeout, request_timeout=timeout, max_retries=retries
    )
    if request.generation.temperature is not None:
        found["temperature"] = request.generation.temperature
    return found


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> Any:
        size = 0
        async for chunk in self._stream:
            if (size := size + len(chunk)) > MOST:
                raise NotRead(f"The provider's answer is larger than {MOST} bytes; it was not read.")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bounded(response: httpx2.Response) -> None:
    if response.is_redirect:
        raise NotRead("The provider's address redirects to another; that is not followed.")
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise NotRead("The provider's answer is compressed, so nobody knows how large it is; it was not read.")
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)


def _answer(response: ModelResponse) -> Answer:
    usage, measured = response.usage, not response.usage.unmeasured_requests
    return {
        "text": response.text or "",
        "model": escape_text(response.model_name or "")[:200],
        "finish": response.finish_reason,
        "tokens_in": usage.input_tokens if measured and usage.input_tokens else None,
        "tokens_out": usage.output_tokens if measured and usage.output_tokens else None,
        "cost": _cost(response),
    }


def _cost(response: ModelResponse) -> str | None:
    """What the call cost by the price list of the library, which was made with it; None where it knows none."""
    try:
        return str(response.cost().total_price)
    except Exception:  # LookupError, ValueError: a price must never fail a draw
        return None


def _sentence(error: Exception, model: str, timeout: float) -> str:
    """What went wrong, without a word of the provider's."""
    if (unread := _cause(error, NotRead)) is not None:
        return str(unread)
    for kinds, words in SENTENCES:
        if isinstance(error, kinds):
            return words.format(model=model, timeout=timeout, status=getattr(error, "status_code", ""))
    if isinstance(error, exceptions.UserError | ImportError):
        return f"MODEL={model} cannot be asked: {_first(str(error))}"
    return f"The draw failed ({type(error).__name__})."


def _cause(error: BaseException | None, kind: type[Exception]) -> BaseException | None:
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error


def _first(words: str) -> str:
    """The first sentence of what the library says of a setting: it names variables and packages, never values."""
    return words.split(". ")[0].split("\n")[0][:300]


# The first that fits; those of more than one kind come first.
SENTENCES: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    (
        (exceptions.ModelRequestTimeout, exceptions.ModelTimeoutError),
        "The model did not answer within {timeout:g} seconds (MODEL_TIMEOUT).",
    ),
    ((exceptions.ModelAuthenticationError,), "The provider refused the key (status {status})."),
    ((exceptions.ModelNotFoundError,), "The provider knows no model {model} (status {status})."),
    (
        (exceptions.ModelContextWindowExceededError,),
        "The request is too long for the model; set MODEL_INPUT_TOKENS to less than its window.",
    ),
    ((exceptions.ModelRateLimitError,), "The provider takes no more requests for now (status {status})."),
    ((exceptions.ModelQuotaExceededError,), "The quota at the provider is used up (status {status})."),
    ((exceptions.ModelHTTPError,), "The provider answered with status {status}."),
    ((exceptions.ModelConnectionError,), "The connection to the provider failed or was cut off."),
    (
        (exceptions.ModelAPIError, exceptions.UnexpectedModelBehavior),
        "The provider's answer could not be read.",
    ),
)
