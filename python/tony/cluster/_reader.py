"""The program's end of a feed: batches in the endpoint's memory, as a stream of rows (docs/design/feed.md)."""

import json
import mmap
import os
import pickle
import socket
import struct
from collections import deque
from typing import Any, Deque, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import _frames, _rows

SOCKET = "TONY_FEED_SOCKET"
_ATTACH_SECONDS = 30
_SLOT = struct.Struct("<QII")
_CONNECTION = struct.Struct("<Q")


class Partition:
    """A partition of which rows arrive."""

    def __init__(self, connection: int, opened: Dict[str, Any]) -> None:
        self.connection = connection
        self.epoch = int(opened.get("epoch", 0))
        self.number = int(opened.get("partition", 0))
        self.wants_results = bool(opened.get("results"))
        self.closed = False  # all its batches have been announced
        self.broken = False  # its producer broke off: another attempt sends all of it again
        self.unanswered = 0  # rows that the program has taken without giving their results
        self.waiting = 0  # announced batches that the program has not taken in full


class Batch:
    """A batch in a slot, of which the program has taken the first rows."""

    def __init__(self, partition: Partition, slot: int, view: memoryview, rows: int, encoding: int) -> None:
        self.partition = partition
        self.slot = slot
        self.view = view
        self.rows = rows
        self.encoding = encoding
        self.taken = 0
        self.decoded: Optional[List[Any]] = None
        self.columns: Optional[_rows.NumpyColumns] = None  # look into the view
        self.names: Optional[Tuple[str, ...]] = None

    @property
    def left(self) -> int:
        """Rows that the program has not taken yet."""
        return self.rows - self.taken


class Piece(NamedTuple):
    """Rows of one batch."""

    batch: Batch
    start: int
    end: int


class Reader:
    """One feed of this process. Not thread safe."""

    def __init__(self, feed: str, path: Optional[str] = None) -> None:
        """Attaches to the feed of this name. path: of the endpoint's socket; by default that of the environment."""
        path = path or os.environ.get(SOCKET)
        if not path:
            raise _frames.FeedError(f"this program has no feed {feed!r}: start the cluster with "
                                    "input_mode=InputMode.SPARK, and read the feed in a node that trains")
        self._feed = feed
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connection = _frames.Connection(stream, f"the endpoint of feed {feed!r}")
        try:
            stream.connect(path)
            self._connection.send(_frames.ATTACH, _frames.VERSION, [json.dumps({"feed": feed}).encode()])
            self._memory, self._slot_bytes = self._attached()
        except OSError as error:
            self._connection.close()
            raise _frames.FeedError(f"the endpoint of feed {feed!r} at {path} cannot be reached: "
                                    f"{error.strerror or error}") from error
        except BaseException:
            self._connection.close()
            raise
        self._partitions: Dict[int, Partition] = {}
        self._batches: Deque[Batch] = deque()
        self._answers: Deque[Partition] = deque()
        self.ended = False
        self.terminated = False

    def _attached(self) -> Tuple[memoryview, int]:
        frame, descriptor = self._connection.receive_with_descriptor(_ATTACH_SECONDS)
        try:
            if frame.type == _frames.FAILED:
                raise _frames.FeedError(frame.payload.decode("utf-8", "replace"))
            if frame.type != _frames.ATTACHED or descriptor is None:
                raise _frames.FeedError(f"the endpoint answers with frame {frame.type} and no memory; is the package "
                                        "of the same version as tony's programs?")
            slot_bytes = int(json.loads(frame.payload)["slot_bytes"])
            size = os.fstat(descriptor).st_size
            if slot_bytes <= 0 or slot_bytes * frame.argument > size:
                raise _frames.FeedError(f"{frame.argument} slots of {slot_bytes} bytes do not fit into the {size} "
                                        "bytes of the endpoint's memory")
            return memoryview(mmap.mmap(descriptor, size, prot=mmap.PROT_READ)), slot_bytes
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def next_piece(self, most: int) -> Optional[Piece]:
        """Up to `most` rows of the next batch. Waits for it; None at the end of the feed, or after terminate()."""
        while not self._batches:
            if self.ended or self.terminated:
                return None
            self._check_answers()
            self._take(self._connection.receive())
        batch = self._batches[0]
        if batch.taken == 0:
            self._check_answers(batch.partition)
        piece = Piece(batch, batch.taken, min(batch.rows, batch.taken + most))
        batch.taken = piece.end
        if batch.partition.wants_results:
            if batch.partition.unanswered == 0 and batch.partition not in self._answers:
                self._answers.append(batch.partition)
            batch.partition.unanswered += piece.end - piece.start
        if batch.left == 0:
            self._batches.popleft()
            batch.partition.waiting -= 1
        return piece

    @property
    def empty(self) -> bool:
        """Whether no rows are here."""
        return not self._batches

    def partition_ends(self, partition: Partition) -> bool:
        """Whether the program has taken all rows of it. Waits until it is known whether there are more."""
        while not (partition.closed or partition.waiting or self.ended or self.terminated):
            self._take(self._connection.receive())
        return not partition.waiting

    def release(self, batch: Batch) -> None:
        """Gives the memory of a batch back. No view of it may be read any more."""
        batch.columns = None
        batch.view.release()
        self._connection.send(_frames.RELEASE, batch.slot)

    def answer(self, results: Sequence[Any]) -> None:
        """Sends results, in the order of the rows. Raises FeedError for more of them than rows were taken."""
        surplus = len(results) - sum(partition.unanswered for partition in self._answers)
        if surplus > 0:
            raise _frames.FeedError(f"batch_results() was given {surplus} more results than rows were taken by "
                                    "next_batch(); each row has one result")
        start = 0
        while start < len(results):
            partition = self._answers[0]
            chosen = list(results[start:start + partition.unanswered])
            if not partition.broken:
                self._send_results(partition, chosen)
            start += len(chosen)
            partition.unanswered -= len(chosen)
            if partition.unanswered == 0:
                self._answers.popleft()

    def _send_results(self, partition: Partition, results: List[Any]) -> None:
        encoded = _rows.encode(results)
        if encoded.size > self._slot_bytes - _CONNECTION.size:
            if len(results) == 1:
                raise _frames.FeedError(f"a result of {encoded.size} bytes does not fit into a slot of "
                                        f"{self._slot_bytes}; set tony.feed.buffer to a larger size")
            half = len(results) // 2
            self._send_results(partition, results[:half])
            self._send_results(partition, results[half:])
            return
        self._connection.send(_frames.ANSWER, len(results),
                              [_CONNECTION.pack(partition.connection), *encoded.parts], encoded.encoding)

    def terminate(self) -> None:
        """Wants no more: what is here is dropped, and the producers are told."""
        if self.terminated or self.ended:
            self.terminated = True
            return
        self.terminated = True
        for batch in self._batches:
            if batch.decoded is None:
                self.release(batch)
        self._batches.clear()
        self._answers.clear()
        self._connection.send(_frames.TERMINATE)

    def _check_answers(self, now: Optional[Partition] = None) -> None:
        """Before rows of another partition than those that wait for results: too few results never come right."""
        if not self._answers:
            return
        partition = self._answers[0]
        done = partition is not now if now is not None else partition.closed and not partition.waiting
        if done and partition.broken:
            self._answers.popleft()
        elif done:
            # The endpoint tells the producer, whichever of the two notices first.
            self._connection.send(_frames.NEXT, partition.connection)
            raise _frames.FeedError(
                f"batch_results() was given {partition.unanswered} results too few for partition {partition.number}: "
                "each row of next_batch() has one result, before the next partition's rows are taken")

    def _close_partition(self, connection: int, broken: bool) -> None:
        partition = self._partitions.pop(connection, None)
        if partition is None:
            return
        partition.closed, partition.broken = True, broken
        if not broken:
            return
        for batch in [batch for batch in self._batches if batch.partition is partition]:
            self._batches.remove(batch)
            if batch.decoded is None:
                self.release(batch)
        partition.waiting = 0

    def _take(self, frame: _frames.Frame) -> None:
        if frame.type == _frames.SLOT:
            self._take_slot(frame)
        elif frame.type == _frames.OPEN:
            opened = json.loads(frame.payload)
            self._partitions[frame.argument] = Partition(frame.argument, opened)
        elif frame.type == _frames.CLOSED:
            self._close_partition(frame.argument, broken=frame.encoding == 1)
        elif frame.type == _frames.ENDED:
            self.ended = True
        elif frame.type == _frames.FAILED:
            raise _frames.FeedError(frame.payload.decode("utf-8", "replace"))
        # Frames of later versions say what this one does not need.

    def _take_slot(self, frame: _frames.Frame) -> None:
        connection, length, rows = _SLOT.unpack_from(frame.payload)
        start = frame.argument * self._slot_bytes
        if length > self._slot_bytes or start + length > len(self._memory) or connection not in self._partitions:
            raise _frames.FeedError(f"the endpoint of feed {self._feed!r} announces slot {frame.argument} with "
                                    f"{length} bytes of connection {connection}, which cannot be")
        partition = self._partitions[connection]
        partition.waiting += 1
        self._batches.append(Batch(partition, frame.argument, self._memory[start:start + length], rows, frame.encoding))


def load_results(encoding: int, payload: bytes, rows: int) -> List[Any]:
    """The results of a RESULT frame, for the producer. Raises FeedError for another number than `rows`."""
    try:
        results = _rows.decode(encoding, memoryview(payload), rows)
    except (ValueError, pickle.UnpicklingError) as error:
        raise _frames.FeedError(f"results cannot be read: {error}") from error
    if len(results) != rows:
        raise _frames.FeedError(f"a frame of {rows} results has {len(results)}")
    return results
