"""The agent's tool over MCP: what is answered, and both wires with the SDK's own client."""
