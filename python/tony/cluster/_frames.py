"""The frames of the feed (docs/design/feed.md): 16 bytes of header, then the payload."""

import socket
import ssl
import struct
import time
from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from ..errors import TonyError

Bytes = Union[bytes, bytearray, memoryview]

VERSION = 1
# Producer to endpoint.
HELLO, BATCH, END = 1, 2, 3
# Endpoint to producer.
CREDIT, ACK, SKIP, STOP, ERROR, AWAY, ALIVE, RESULT = 16, 17, 18, 19, 20, 21, 22, 23
# Program to endpoint.
ATTACH, RELEASE, ANSWER, TERMINATE, NEXT = 32, 33, 34, 35, 36
# Endpoint to program.
ATTACHED, OPEN, SLOT, CLOSED, ENDED, FAILED = 48, 49, 50, 51, 52, 53

# Encodings of BATCH and RESULT.
PICKLED, COLUMNS, ARROW = 1, 2, 3

_HEADER = struct.Struct("<IBBHQ")
_CHUNK = 1 << 16
# No payload is longer, whatever a peer says: the largest slot that tony.feed.buffer allows is smaller.
_LONGEST = 1 << 30


class FeedError(TonyError):
    """A feed has come to a bad end; the message says why."""


class ConnectionLost(FeedError):
    """The other side of a feed has ended, or says nothing."""


class NodeUnavailable(FeedError):
    """A node takes no data now: its program does not run, or its endpoint cannot be reached.

    It may be started again.
    """


class FinalError(FeedError):
    """Another attempt would end in the same way, and the job has nothing to say about it."""


class NotWanted(FeedError):
    """Nobody wants more of this feed: a node has called terminate(), or it was ended."""


class RowTooLarge(FinalError):
    """A row does not fit into a slot."""

    def __init__(self, row_bytes: int, slot_bytes: int) -> None:
        super().__init__(row_bytes, slot_bytes)
        self.row_bytes = row_bytes
        self.slot_bytes = slot_bytes

    def __str__(self) -> str:
        return (f"a row of {self.row_bytes} bytes does not fit into a slot of {self.slot_bytes}; set tony.feed.buffer, "
                "which is divided into 16 slots, to a larger size (job={…})")


class Frame(NamedTuple):
    """A frame without the length of its payload."""

    type: int
    encoding: int
    argument: int
    payload: bytes


def header(kind: int, argument: int, length: int, encoding: int = 0) -> bytes:
    """The 16 bytes before a payload of `length` bytes."""
    return _HEADER.pack(length, kind, encoding, 0, argument)


def _pieces(parts: Sequence[Bytes]) -> Iterator[Bytes]:
    """The parts, small ones joined: a call costs more than their copy. A table can have hundreds of columns."""
    small: List[Bytes] = []
    for part in parts:
        if memoryview(part).nbytes < _CHUNK:
            small.append(part)
            continue
        if small:
            yield b"".join(small)
            small = []
        yield part
    if small:
        yield b"".join(small)


class Connection:
    """Frames over a stream socket, which may be one of TLS. Not thread safe."""

    def __init__(self, stream: socket.socket, peer: str) -> None:
        self._stream = stream
        self._peer = peer
        self._buffer = bytearray()

    def close(self) -> None:
        """Breaks the connection."""
        self._stream.close()

    def fileno(self) -> int:
        """For select()."""
        return self._stream.fileno()

    def send(self, kind: int, argument: int = 0, parts: Sequence[Bytes] = (), encoding: int = 0,
             timeout: Optional[float] = None) -> None:
        """Sends a frame whose payload are the parts. Raises ConnectionLost, also after `timeout` seconds."""
        length = sum(memoryview(part).nbytes for part in parts)
        self._stream.settimeout(timeout)
        try:
            for piece in _pieces([header(kind, argument, length, encoding), *parts]):
                self._stream.sendall(piece)
        except socket.timeout:
            raise ConnectionLost(f"{self._peer} has taken nothing for {timeout:g} s; is its process stopped, or its "
                                 "host overloaded?") from None
        except OSError as error:
            # What it said before it closed the connection may still lie in the buffer: receive() finds it.
            raise ConnectionLost(f"the connection to {self._peer} broke: {error.strerror or error}") from error

    def silence(self, seconds: float) -> ConnectionLost:
        """The error that nothing has come for so long."""
        return ConnectionLost(f"{self._peer} has said nothing for {seconds:g} s; is its process stopped, or its host "
                              "lost?")

    def receive_with_descriptor(self, timeout: float) -> Tuple[Frame, Optional[int]]:
        """The first frame, and the descriptor that came with it (SCM_RIGHTS). Only for a new unix connection."""
        self._stream.settimeout(timeout)
        try:
            data, ancillary, _, _ = self._stream.recvmsg(_HEADER.size, socket.CMSG_SPACE(struct.calcsize("i")))
        except socket.timeout:
            raise ConnectionLost(f"{self._peer} has said nothing for {timeout:g} s") from None
        self._buffer += data
        descriptor: Optional[int] = None
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                (descriptor,) = struct.unpack("i", content[:struct.calcsize("i")])
        return self.receive(timeout), descriptor

    def receive(self, timeout: Optional[float] = None) -> Frame:
        """The next frame. Raises ConnectionLost at the end, or when nothing has come for `timeout` seconds."""
        self._fill(_HEADER.size, timeout)
        length, kind, encoding, zero, argument = _HEADER.unpack_from(self._buffer)
        if zero or length > _LONGEST:
            raise FeedError(f"{self._peer} sends no frames of a feed; is it a tony of another version?")
        end = _HEADER.size + length
        self._fill(end, timeout)
        payload = bytes(memoryview(self._buffer)[_HEADER.size:end])
        del self._buffer[:end]
        return Frame(kind, encoding, argument, payload)

    def receive_pending(self) -> List[Frame]:
        """The frames that are here already. Raises ConnectionLost if there are none, and will be none."""
        frames: List[Frame] = []
        try:
            while self._has_frame() or self._read_now():
                if self._has_frame():
                    frames.append(self.receive(0))
        except ConnectionLost:
            if not frames:
                raise
        return frames

    def _has_frame(self) -> bool:
        if len(self._buffer) < _HEADER.size:
            return False
        return len(self._buffer) >= _HEADER.size + int(_HEADER.unpack_from(self._buffer)[0])

    def _read_now(self) -> bool:
        self._stream.settimeout(0)
        try:
            data = self._stream.recv(_CHUNK)
        except (BlockingIOError, InterruptedError, ssl.SSLWantReadError):
            return False
        except OSError as error:
            raise ConnectionLost(f"the connection to {self._peer} broke: {error.strerror or error}") from error
        if not data:
            raise ConnectionLost(f"{self._peer} has closed the connection")
        self._buffer += data
        return True

    def _fill(self, size: int, timeout: Optional[float]) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while len(self._buffer) < size:
            left = None if deadline is None else max(0.001, deadline - time.monotonic())
            self._stream.settimeout(left)
            try:
                data = self._stream.recv(max(_CHUNK, size - len(self._buffer)))
            except socket.timeout:
                raise self.silence(timeout or 0) from None
            except OSError as error:
                raise ConnectionLost(f"the connection to {self._peer} broke: {error.strerror or error}") from error
            if not data:
                raise ConnectionLost(f"{self._peer} has closed the connection")
            self._buffer += data
            if deadline is not None and timeout is not None:
                deadline = time.monotonic() + timeout
