"""See ipybox."""

from ipybox_tools import ApprovalRequestor

__all__ = ["ApprovalRequestor"]
