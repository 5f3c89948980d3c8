"""Both halves of the wire by which a human decides on tool calls."""
