"""See ipybox."""
