"""The agent's tool over MCP: `asked` does what is asked, `door` lets HTTP in, `wire` alone knows the SDK.

Here `import mcp` is the SDK's name, as everywhere: modules are imported by their whole names.
"""
