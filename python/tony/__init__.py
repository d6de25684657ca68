"""tony for Python programs."""
