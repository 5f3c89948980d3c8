"""Calling tools from applications, and deciding on calls: see docs/tool-server.md."""
