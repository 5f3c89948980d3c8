"""The Jupyter Kernel Gateway on kernels that the server runs: ``python3 -I -m ipybox_gateway``.

The application is in ``__main__``: settings, and a Unix socket instead of a port. ``supervisor``
has what is asked of the server (src/front/gateway/supervise.h), ``provisioner`` the kernels that
clients of the gateway start, ``manager`` all kernels: those, and the ones that are there already;
``connection`` is one WebSocket of one client, ``authorization`` the forms of the token.
"""

import sys

# A grammar that takes 0.6 s to build, for checks of JSON schemas that nobody asks for here.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
