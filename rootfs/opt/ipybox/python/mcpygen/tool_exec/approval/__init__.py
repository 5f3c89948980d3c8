"""See mcpygen."""
