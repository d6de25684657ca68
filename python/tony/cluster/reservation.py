"""Asks a running cluster to take no more data, by TensorFlowOnSpark's name `reservation.Client`.

TensorFlowOnSpark's server for it lets anybody who reaches its port run code. Here the job is asked, by its user:

    client = reservation.Client(("JOB", 0))      # the job's id, which the driver logs, in place of the server's host
    client.request_stop()
"""

from typing import Any, Sequence

from .._job import attach


class Client:
    """Not thread safe."""

    def __init__(self, server_addr: Sequence[Any]) -> None:
        """server_addr: a pair whose first item is the job's id, or "latest". Raises NoSuchJob."""
        self.server_addr = tuple(server_addr)
        self._job = attach(str(server_addr[0]))

    def request_stop(self, feed: str = "input") -> None:
        """Ends a feed: what is under way is consumed, then the nodes' programs see its end. Raises TonyError."""
        self._job.end_feed(feed)

    def close(self) -> None:
        """Does nothing: no connection is held."""
