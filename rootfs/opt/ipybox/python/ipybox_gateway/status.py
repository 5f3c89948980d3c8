"""``GET /api/status``: clients of Jupyter Server ask it; the Kernel Gateway (3.0.1) has none."""

from __future__ import annotations

import json
from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server._tz import isoformat, utcnow
from jupyter_server.base.handlers import APIHandler
from kernel_gateway.mixins import CORSMixin, JSONErrorsMixin, TokenAuthorizationMixin
from tornado import web


class StatusHandler(TokenAuthorizationMixin, CORSMixin, JSONErrorsMixin, APIHandler):  # type: ignore[misc]
    """What Jupyter Server says, of all kernels that the gateway lists."""

    started = isoformat(utcnow())

    @web.authenticated
    async def get(self) -> None:
        """Answer."""
        kernels: list[dict[str, Any]] = await ensure_async(self.kernel_manager.list_kernels())
        self.finish(
            json.dumps(
                {
                    "started": self.started,
                    "last_activity": max([k["last_activity"] for k in kernels] or [self.started]),
                    "kernels": len(kernels),
                    "connections": sum(k["connections"] for k in kernels),
                },
                sort_keys=True,
            )
        )
