# Until there is one in the workspace.
"""Tools of MCP servers, a package each.

search("words")  finds tools of all servers, a line each
servers()        lists the servers
help(mcptools.NAME) and its docstring have a line a tool of one server.
"""

from pkgutil import extend_path

from ipybox_tools import lazy_root

__path__ = extend_path(__path__, __name__)
__getattr__, __dir__ = lazy_root(__name__)
