"""The launcher's end of the socket by which an ApplicationMaster orders executors (docs/design/launcher.md)."""

import json
import select
import socket
from typing import Any, Dict, NamedTuple, Optional

VERSION = 1
_MOST_BYTES = 64 << 10


class Order(NamedTuple):
    """An executor that is to be started."""

    container: str
    task_type: str
    memory_mb: int
    cores: int
    gpus: int
    voucher: str

    def __repr__(self) -> str:
        return f"Order(container={self.container!r}, task_type={self.task_type!r})"


class Gone(Exception):
    """The ApplicationMaster and tony-submit have ended: there is no job any more."""


class Socket:
    """One end of the pair; `theirs` is for tony-submit, as --launcher-fd. Reports may come from any thread."""

    def __init__(self) -> None:
        self._ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def close(self) -> None:
        """Ends the job."""
        self._ours.close()
        self.theirs.close()

    def receive(self, timeout: float) -> Optional[Dict[str, Any]]:
        """The next packet; None after `timeout` seconds without one. Raises Gone."""
        if not select.select([self._ours], [], [], timeout)[0]:
            return None
        try:
            packet = self._ours.recv(_MOST_BYTES + 1)
        except OSError as error:
            raise Gone(str(error)) from error
        if not packet:
            raise Gone("the ApplicationMaster's end of the socket is closed")
        message: Dict[str, Any] = json.loads(packet)
        return message

    def _send(self, kind: str, **members: Any) -> None:
        try:
            self._ours.send(json.dumps({"type": kind, **members}).encode())
        except OSError:
            pass  # receive() tells

    def ended(self, container: str, sentence: str, *, lost: bool = True, seen: bool = True) -> None:
        """The container's processes are gone. seen=False: they may live on where nobody can look."""
        self._send("ended", container=container, lost=lost, seen=seen, sentence=sentence)

    def waiting(self, sentence: str, unblock: str) -> None:
        """Why orders are not carried out yet."""
        self._send("waiting", sentence=sentence, unblock=unblock)

    def refused(self, sentence: str, *, never_fits: bool = False) -> None:
        """The orders that wait cannot be carried out."""
        self._send("refused", never_fits=never_fits, sentence=sentence)


def order_from(message: Dict[str, Any]) -> Order:
    """The order in a packet of type start."""
    return Order(*(message[name] for name in Order._fields))
