"""`python -m ipybox.mcp_server`: the command `ipybox`, as configurations of 0.9 start it."""

from ipybox._command import ipybox as cli

__all__ = ["cli"]

if __name__ == "__main__":
    cli()
