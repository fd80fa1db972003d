"""The MCP server: tools by which agents and their users look at a run and ask things of it.

Knows the project, requests and stores; the SDK (`mcp`) is known by `server`, `stdio` and `http` only, which are loaded
when one is started. Must not print, and must not write events: that is the driver's, who answers requests.
"""
