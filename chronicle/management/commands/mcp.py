"""`mcp`: the agent's tool over MCP, on stdin and stdout for one agent, or over HTTP for many.

Guarantees: on stdio one log and one token, which stands in CHRONICLE_TOKEN and is no argument that other users of
the machine could read; stdout carries the protocol and nothing else. Over HTTP each request brings its token.
Refuses, with one sentence and exit 2: a token or a log that will not do, before the protocol begins; a busy port.
"""

import asyncio
import contextlib
import os
from typing import Any

import uvicorn
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from chronicle.errors import ChronicleError
from chronicle.management import listening
from chronicle.management.answering import WRONG_USE
from chronicle.management.terminal import plain
from chronicle.mcp import asked, wire
from chronicle.mcp.asked import Answer, Caller

TOKEN = "CHRONICLE_TOKEN"  # noqa: S105 - the variable's name


class Command(BaseCommand):
    help = f"Serves the agent's tool over MCP: on stdio for one log (its token in {TOKEN}), or with --http for all."
    requires_system_checks: list[str] = []  # they load pages and admin, and an agent waits for its first answer

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--log", metavar="LOG", help="stdio: the log to read, by its id or its owner's name for it")
        parser.add_argument("--http", action="store_true", help="listen, rather than speak on stdin and stdout")
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
        parser.add_argument("--port", default=8001, type=listening.port, help="the port to listen on (8001)")

    def handle(self, *_: Any, log: str | None, http: bool, host: str, port: int, **__: Any) -> None:
        if http == (log is not None):
            raise CommandError(
                f"Give --log LOG, with the token in {TOKEN}, for stdio; or --http, where each request names its log.",
                returncode=WRONG_USE,
            )
        try:
            if log is None:
                _listen(host, port)
            else:
                _speak(Caller(os.environ.get(TOKEN, ""), log))
        except ChronicleError as error:
            raise CommandError(plain(error), returncode=WRONG_USE) from error


def _speak(caller: Caller) -> None:
    refused = asked.offered(caller)
    if isinstance(refused, Answer):
        raise CommandError(plain(refused.text), returncode=WRONG_USE)
    connections.close_all()  # the wire asks in threads of its own
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(wire.stdio(caller))


def _listen(host: str, port: int) -> None:
    listening.check_free(host, port)
    options: dict[str, Any] = {"log_config": None, "access_log": False, "server_header": False, "lifespan": "on"}
    config = uvicorn.Config(
        wire.http(),
        host=host,
        port=port,
        timeout_graceful_shutdown=5,
        proxy_headers=False,
        ws="none",
        **options,
    )
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run()
