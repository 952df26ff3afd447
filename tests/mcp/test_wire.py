"""Both wires with the SDK's own client: a real process on stdio, a real port on loopback; old and new revision."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.faults.test_cluster import free_port
from tests.faults.world import ROOT, World, until
from tests.plugins.worlds import copy

pytestmark = pytest.mark.django_db  # it runs on each database, in a copy of its own

LOG, FOREIGN, UNKNOWN = "dinner", "elsewhere", "nowhere"
WAYS = [("stdio", "auto"), ("http", "auto"), ("http", "legacy")]  # stdio in the old revision is spoken by hand below
READS = [{}, {"action": "open", "id": "1-3"}, {"action": "expand", "id": "1-3", "limit": 2}]


@dataclass(frozen=True, slots=True)
class Site:
    """A site with two logs, and its MCP server on a port."""

    world: World
    port: int

    def token(self, can: str = "expand", *, name: str = "booking", owner: str = "demo") -> str:
        return str(self.world.ask("token", name=name, can=can, owner=owner))

    def revoke(self, token: str) -> None:
        self.world.ask("revoke", token=token)

    def receipts(self, *, since: int = 0) -> list[tuple[Any, ...]]:
        query = "SELECT number, what, reader, capability, text_digest FROM chronicle_receipt"
        return self.world.rows(f"{query} WHERE number > {since} ORDER BY number")

    def last(self) -> int:
        return max([number for number, *_ in self.receipts()], default=0)

    @asynccontextmanager
    async def client(self, wire: str, token: str, *, log: str = LOG, mode: str = "auto") -> AsyncIterator[Client]:
        if wire == "stdio":
            environment = {**self.world.environment, "CHRONICLE_TOKEN": token}
            command = StdioServerParameters(
                command=sys.executable, args=["manage.py", "mcp", "--log", log], env=environment, cwd=ROOT
            )
            with (self.world.folder / "stdio.log").open("a") as errors:
                async with Client(stdio_client(command, errlog=errors), mode=mode) as client:
                    yield client
            return
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as web,
            Client(streamable_http_client(f"http://127.0.0.1:{self.port}/mcp/{log}", http_client=web), mode=mode) as it,
        ):
            yield it

    def post(self, *, method: str = "POST", path: str = f"/mcp/{LOG}", **headers: str) -> httpx2.Response:
        """Ask past the SDK: a listing of the tools, with these headers."""
        told = {"Accept": "application/json, text/event-stream", **{k.replace("_", "-"): v for k, v in headers.items()}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        url = f"http://127.0.0.1:{self.port}{path}"
        return httpx2.request(method, url, headers=told, json=asked if method == "POST" else None, timeout=30)


@pytest.fixture(scope="module")
def site(migrated: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("mcp")
    with copy(folder, migrated) as url:
        world, port = World(url, folder, SUMMARISER="outline"), free_port()
        world.start("manage.py", "mcp", "--http", "--port", str(port), name="mcp")
        for log in (LOG, FOREIGN):
            world.ask("units", log=log, contents=["Eight of us", "A quiet table"])
            world.ask("run", job=world.ask("consolidation", log=log))
        site = Site(world, port)
        until(lambda: answers(site))
        try:
            yield site
        finally:
            world.end()


def answers(site: Site) -> bool:
    try:
        return site.post().status_code == 401
    except httpx2.TransportError:
        return False


def run[Found](work: Awaitable[Found]) -> Found:
    """Run, and raise what went wrong without the groups that the client's tasks wrap it in."""

    async def unwrapped() -> Found:
        try:
            return await work
        except BaseExceptionGroup as group:
            error: BaseException = group
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            raise error from None

    return asyncio.run(unwrapped())


async def said(client: Client, arguments: dict[str, Any]) -> tuple[bool, str, dict[str, Any]]:
    """Whether it was refused, the one text, and the facts beside it."""
    told = await client.call_tool("chronicle", arguments)
    [content] = told.content
    facts = {name.removeprefix("chronicle/"): fact for name, fact in (told.meta or {}).items()}
    return bool(told.is_error), content.text, facts  # type: ignore[union-attr]


@pytest.mark.promise("S62", "K40", "K44")
@pytest.mark.parametrize(("wire", "mode"), WAYS)
def test_a_client_lists_opens_and_expands_and_each_leaves_a_receipt(site: Site, wire: str, mode: str) -> None:
    async def reads() -> list[tuple[bool, str, dict[str, Any]]]:
        async with site.client(wire, token, mode=mode) as client:
            [tool] = (await client.list_tools()).tools
            assert tool.name == "chronicle" and tool.input_schema["additionalProperties"] is False
            return [await said(client, arguments) for arguments in READS]

    token, before = site.token(), site.last()
    told = run(reads())
    assert not any(refused for refused, *_ in told)
    listed, opened, expanded = (text for _, text, _ in told)
    assert listed.startswith("# 2 of 2 entries, newest first")
    assert "1-3 (current)" in opened
    assert "go on after 2" in expanded and "Eight of us 0" in expanded
    kept = site.receipts(since=before)
    assert [row[1:4] for row in kept] == [(what, "booking", "expand") for what in ("list", "open", "expand")]
    assert [(facts["receipt"], facts["digest"]) for *_, facts in told] == [(row[0], row[4]) for row in kept]


@pytest.mark.promise("S64", "K40")
@pytest.mark.parametrize("wire", ["stdio", "http"])
def test_a_metadata_token_is_offered_no_expand_and_its_call_is_refused(site: Site, wire: str) -> None:
    async def tries() -> tuple[Any, tuple[bool, str, dict[str, Any]]]:
        async with site.client(wire, token) as client:
            [tool] = (await client.list_tools()).tools
            return tool, await said(client, {"action": "expand", "id": "1-3"})

    token = site.token("read")
    tool, (refused, text, facts) = run(tries())
    assert tool.input_schema["properties"]["action"]["enum"] == ["list", "open"]
    assert "expand" not in tool.model_dump_json()
    assert refused and facts["error"] == "capability_missing" and "may not expand" in text


@pytest.mark.promise("S63", "K6")
def test_over_http_a_foreign_log_and_an_unknown_one_are_one_answer(site: Site) -> None:
    async def tries(log: str) -> list[Any]:
        async with site.client("http", token, log=log) as client:
            found = [await said(client, arguments) for arguments in READS]
            with pytest.raises(MCPError) as refused:
                await client.list_tools()
            return [*found, refused.value.message, refused.value.data]

    token = site.token("admin", owner="mallory")
    foreign = run(tries(LOG))
    assert foreign == run(tries(UNKNOWN))
    assert foreign[-2] == "There is no log with this id." and all(refused for refused, *_ in foreign[:3])
    raw = [site.post(path=f"/mcp/{log}", Authorization=f"Bearer {token}") for log in (LOG, UNKNOWN)]
    told = [(one.status_code, one.content, {**one.headers, "date": ""}) for one in raw]
    assert told[0] == told[1]


HOSTILE: list[tuple[dict[str, Any], str]] = [
    ({"action": 7}, "action: Input should be a valid string."),
    ({"action": "\0"}, "'\\x00' is no action"),
    ({"action": "open", "id": "1-3\u202e"}, "'1-3\\u202e' is no section id"),
    ({"action": "open", "id": f"1-{10**17}"}, "There is no section"),
    ({"action": "expand", "id": "1-3", "after": -1}, "greater than or equal to 0"),
    ({"action": "expand", "id": "1-3", "after": 10**30}, "after: "),
    ({"log": FOREIGN}, "log is no argument"),
]


@pytest.mark.parametrize("wire", ["stdio", "http"])
def test_hostile_arguments_are_tool_errors_and_a_revoked_token_ends_the_session(site: Site, wire: str) -> None:
    async def tries() -> str:
        async with site.client(wire, token) as client:
            for arguments, words in HOSTILE:
                refused, text, facts = await said(client, arguments)
                assert refused and words in text and "Traceback" not in text, arguments
                assert facts["message"] == text
            with pytest.raises(MCPError, match="There is one tool here"):
                await client.call_tool("chronicle2", {})
            assert not (await said(client, {}))[0]
            return await revoked(client)

    async def revoked(client: Client) -> str:
        site.revoke(token)
        with pytest.raises(MCPError, match="This token was revoked"):
            await client.list_tools()
        if wire == "stdio":
            refused, text, facts = await said(client, {})
            assert refused and facts["error"] == "unauthorized"
            return text
        with pytest.raises(MCPError) as error:  # over HTTP the request itself is refused, with 401
            await client.call_tool("chronicle", {})
        return str(error.value.message)

    token = site.token()
    assert run(tries()) == "This token was revoked; make another one."


def test_many_sessions_at_once_are_each_answered_with_their_own(site: Site) -> None:
    async def one(number: int) -> bool:
        async with site.client("http", tokens[number % 2]) as client:
            found = [await said(client, READS[(number + turn) % 3]) for turn in range(3)]
            return not any(refused for refused, *_ in found)

    async def all_of_them() -> list[bool]:
        return await asyncio.gather(*map(one, range(12)))

    tokens = [site.token(name=name) for name in ("left", "right")]
    before = site.last()
    assert all(run(all_of_them()))
    kept = site.receipts(since=before)
    assert [row[0] for row in kept] == list(range(before + 1, before + 37))
    assert sorted(row[2] for row in kept) == ["left"] * 18 + ["right"] * 18


def test_without_a_right_token_the_door_says_so_before_anything_is_read(site: Site) -> None:
    for given, words in (
        ({}, "Give a token"),
        ({"Authorization": "Bearer wrong"}, "This token is not known here."),
        ({"Authorization": "Basic eA=="}, "Give a token: Authorization: Bearer"),
        ({"Authorization": "Bearer"}, "Give a token"),
    ):
        told = site.post(**given)
        assert told.status_code == 401 and told.headers["WWW-Authenticate"].startswith("Bearer realm=")
        assert told.json()["error"]["data"] == {"error": "unauthorized"} and words in told.json()["error"]["message"]
    told = site.post(Authorization=f"Bearer {site.token('record')}")
    assert told.status_code == 403 and told.json()["error"]["data"] == {"error": "capability_missing"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:80"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "localhost@evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "http://[::1"}, 403),
        ({"Origin": ""}, 403),
        ({"Host": "localhost:9"}, 200),
        ({"Host": "localhost:9", "Origin": "http://localhost:9"}, 200),
    ],
)
def test_a_name_that_is_not_the_sites_and_a_page_of_another_site_get_nothing(
    site: Site, headers: dict[str, str], status: int
) -> None:
    assert site.post(Authorization=f"Bearer {site.token()}", **headers).status_code == status


def test_only_posts_to_the_address_of_a_log_are_taken(site: Site) -> None:
    token = f"Bearer {site.token()}"
    for method in ("GET", "DELETE", "PUT", "OPTIONS"):
        told = site.post(method=method, Authorization=token)
        assert told.status_code == 405 and told.headers["Allow"] == "POST"
    for path in ("/", "/mcp", "/mcp/", "/mcp/a/b", "/admin/", "/mcp/%00"):
        assert site.post(path=path, Authorization=token).status_code == 404
    large = {"Authorization": token, "Content-Type": "application/json", "Accept": "application/json"}
    url = f"http://127.0.0.1:{site.port}/mcp/{LOG}"
    assert httpx2.post(url, headers=large, content=b" " * 100_000).status_code == 413
    broken = httpx2.post(url, headers=large, content=b'{"jsonrpc": ')
    assert broken.status_code == 400 and "Traceback" not in broken.text


def spoken(site: Site, log: str, token: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", "mcp", "--log", log]
    environment = {**site.world.environment, "CHRONICLE_TOKEN": token, "LOG_LEVEL": "DEBUG"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    call = {"name": "chronicle", "arguments": {"action": "list"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "this is no protocol",
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        *(json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}) for id in range(3, 9)),
    ]
    text = "".join(f"{line}\n" for line in lines)
    return subprocess.run(command, cwd=ROOT, env=environment, input=text, capture_output=True, text=True, timeout=60)


def test_on_stdout_is_the_protocol_alone_and_who_says_all_at_once_gets_every_answer(
    site: Site,
) -> None:
    ended = spoken(site, LOG, site.token())
    told = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.returncode == 0 and {one.get("id") for one in told} >= set(range(1, 9)), ended.stderr
    assert all(one["result"] for one in told if one.get("id"))
    assert all(one["jsonrpc"] == "2.0" for one in told)


def test_what_the_server_logs_names_no_token_and_no_words(site: Site) -> None:
    logged = site.world.log("mcp")
    assert re.search(r"receipt \d+ of a (list|open|expand)", logged)
    assert "Traceback" not in logged and "Eight of us" not in logged and "chronicle_" not in logged
