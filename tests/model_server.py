"""A server that speaks the chat API of OpenAI on loopback, in a thread of its own, and answers by a script.

Each request takes the next step of the script; the last step stays. A step is called with the request's body and a
handler to answer through; `requests` keeps the bodies, `headers` what came with them.
"""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

MODEL = "openai-chat:scripted"
ANSWER = "TITLE: The cellar is kept from freezing\n\nAna asked for a heater and Bo ordered one for Friday."

type Step = Callable[[dict[str, Any], "Handler"], None]


class Handler(BaseHTTPRequestHandler):
    server: "Server"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        script = self.server.script
        step = script.pop(0) if len(script) > 1 else script[0]
        step(body, self)

    def give(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: Sequence[Step]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = list(script) or [says()]
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.let_go = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_: Any) -> None:
        pass  # a client that went away


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch, *script: Step) -> Iterator[Server]:
    """Run a server, and name it as OPENAI_BASE_URL."""
    server = Server(script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-to-be-seen")
    try:
        yield server
    finally:
        server.let_go.set()
        server.shutdown()
        thread.join()
        server.server_close()


def completion(
    text: str | None,
    *,
    finish: str = "stop",
    tokens: tuple[int, int] | None = (100, 20),
    model_name: str = "scripted-2026",
    **message: Any,
) -> dict[str, Any]:
    """Return an answer in the shape of the chat API."""
    usage = (
        {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)} if tokens else None
    )
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1767225600,
        "model": model_name,
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        ],
        "usage": usage if tokens else None,
    }


def says(text: str | None = ANSWER, **given: Any) -> Step:
    """Answer with a text."""
    return lambda _, handler: handler.give(200, json.dumps(completion(text, **given)).encode())


def fails(status: int, body: bytes = b'{"error": {"message": "sk-never-to-be-seen"}}', **headers: str) -> Step:
    """Answer with an error, to be tried again at once."""
    return lambda _, handler: handler.give(status, body, **{"retry_after_ms": "1", **headers})


def gives(body: bytes, **headers: str) -> Step:
    """Answer 200 with these bytes."""
    return lambda _, handler: handler.give(200, body, **headers)


def hangs() -> Step:
    """Answer nothing until the test is over."""
    return lambda _, handler: handler.server.let_go.wait(30) and None


def breaks_off() -> Step:
    """Promise a whole answer and close the connection in the middle of it."""

    def step(_: dict[str, Any], handler: Handler) -> None:
        body = json.dumps(completion(ANSWER)).encode()
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[:40])
        handler.wfile.flush()
        handler.connection.close()
        handler.close_connection = True

    return step
