"""What `ctx.mgr` is: a node's state for its own program, by TensorFlowOnSpark's names.

There it is a process with queues. Here the queues are the feed's slots (TFNode.DataFeed), so that little is left.
"""
# pylint: disable=invalid-name  # TensorFlowOnSpark's names

from typing import Any, Dict


class TFManager:
    """Values by name within one node's process. `state` is "running" or "terminating". Not thread safe."""

    def __init__(self) -> None:
        self._values: Dict[str, Any] = {"state": "running"}

    def get(self, key: str) -> Any:
        """The value of a name; None without one."""
        return self._values.get(key)

    def set(self, key: str, value: Any) -> None:
        """Sets the value of a name."""
        self._values[key] = value
