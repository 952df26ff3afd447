"""The official SDK: the only module that imports it. One tool, over stdio or streamable HTTP.

Guarantees: over HTTP nothing is kept between requests, and an answer is one JSON body, so any process can answer
any request; on stdio nothing but the protocol is written; a tool that was asked for and refused is a tool error,
which a model reads; only a listing, where there is no tool to speak of, is refused as an error of the protocol.
"""

from collections.abc import Callable
from typing import Any, cast

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from chronicle.mcp import asked
from chronicle.mcp.asked import Answer, Caller
from chronicle.mcp.door import CALLER, PATH, App, Door
from chronicle.mcp.threads import aside
from chronicle.mcp.whole import Asked, Given, Told

type Context = ServerRequestContext[Any, Any]

VERSION = "1"
MOST_BYTES = 64 * 1024  # of a request: the longest arguments are a few hundred
HINTS = types.ToolAnnotations(title=asked.TITLE, read_only_hint=True, open_world_hint=False)


async def stdio(caller: Caller) -> None:
    """Answer one client on stdin and stdout, until it goes and has its answers."""
    server, asked_for = _server(lambda _: caller), Asked()
    async with stdio_server() as (given, told):
        options = server.create_initialization_options()
        await server.run(Given(given, asked_for), Told(told, asked_for), options)


def http() -> App:
    """Return the ASGI application for any number of clients, behind its door."""
    server = _server(lambda context: cast("Caller", cast("Any", context.request).scope[CALLER]))
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        max_request_body_size=MOST_BYTES,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the door's work
    )
    return Door(cast("App", app))


def _server(caller_of: Callable[[Context], Caller]) -> Server[Any]:
    async def list_tools(context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        offered = await aside(asked.offered, caller_of(context))
        if isinstance(offered, Answer):
            raise MCPError(types.INVALID_REQUEST, offered.text, offered.facts)
        tool = types.Tool(
            name=asked.NAME,
            title=asked.TITLE,
            description=offered.description,
            input_schema=offered.schema,
            annotations=HINTS,
        )
        return types.ListToolsResult(tools=[tool])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name != asked.NAME:
            raise MCPError(types.INVALID_PARAMS, f"There is one tool here, {asked.NAME}.", {"error": "unknown_tool"})
        return _result(await aside(asked.call, caller_of(context), params.arguments))

    return Server(
        asked.NAME,
        version=VERSION,
        title=asked.TITLE,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda _: None,
    )


def _result(answer: Answer) -> types.CallToolResult:
    """The text alone is content: what a model reads is what the receipt is of."""
    facts = {f"{asked.NAME}/{name}": value for name, value in answer.facts.items()}
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answer.text)],
        is_error=answer.refused,
        _meta=facts,
    )
