"""The same number of rows for every node: even="drop" and even="repeat" of TFCluster.run() (docs/design/feed.md).

A producer sends its partition to all nodes: as many rows to each, in rounds that fill at most one slot of each node. What
is left at the end and is too little for all is dropped, or filled up with rows that are sent again.
"""

import itertools
import select
import time
from typing import Any, Callable, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import _frames, _producer, _rows, _sources

NONE, DROP, REPEAT = "none", "drop", "repeat"
MODES = (NONE, DROP, REPEAT)
# Numbers of the other nodes' shares, which are acknowledged for themselves: beyond those of all partitions, and without
# gaps, since an endpoint and the ApplicationMaster keep them as ranges.
_SHARES_OF_NODE = 1 << 40
# Rows of a node in any round. The first one, when the size of a row is not known, has one.
_MOST_ROWS = 8192


class Even(NamedTuple):
    """How rows are shared: `mode` is DROP or REPEAT; `tasks` are the nodes, the first of which comes first."""

    mode: str
    tasks: Tuple[str, ...]

    def choose(self, endpoints: _producer.Endpoints) -> List[_producer.Endpoint]:
        """The endpoints of all nodes, in this order. Raises NodeUnavailable."""
        found = {endpoint.task: endpoint for endpoint in endpoints.tasks}
        missing = [task for task in self.tasks if task not in found]
        if missing:
            raise _frames.NodeUnavailable(f"{', '.join(missing)} of job {endpoints.job} cannot be fed now, and with "
                                          f"even={self.mode!r} all nodes are fed together")
        return [found[task] for task in self.tasks]


def check_mode(even: str) -> None:
    """Raises ValueError for anything but a mode."""
    if even not in MODES:
        raise ValueError(f"even={even!r} is none of {', '.join(map(repr, MODES))}")


class Outcome(NamedTuple):
    """How a partition ended."""

    wanted: bool  # whether nodes want more of this feed
    changed: int  # rows that were dropped, or were sent a second time


class RowSource:
    """Rows of a Spark task, which can be read once. Not thread safe."""

    def __init__(self, rows: Iterable[Any]) -> None:
        self._rows = iter(rows)

    def take(self, count: int) -> Optional[_sources.RowsPartition]:
        """At most so many rows; None at the end."""
        taken = list(itertools.islice(self._rows, count))
        return _sources.RowsPartition(taken) if taken else None


class PieceSource:
    """Rows that come in pieces, such as Arrow's batches. Not thread safe."""

    def __init__(self, pieces: Iterable[_sources.Partition]) -> None:
        self._pieces = iter(pieces)
        self._piece: Optional[_sources.Partition] = None
        self._taken = 0

    def take(self, count: int) -> Optional[_sources.Partition]:
        """At most so many rows; None at the end."""
        while self._piece is None or self._taken == self._piece.length:
            self._piece, self._taken = next(self._pieces, None), 0
            if self._piece is None:
                return None
        start, self._taken = self._taken, min(self._piece.length, self._taken + count)
        return self._piece.part(start, self._taken)


def rounded(partitions: Iterable[_sources.Partition], nodes: int) -> Iterator[Tuple[_sources.Partition, ...]]:
    """The same rows as partitions whose lengths are multiples of `nodes`, but for the last one's."""
    rest: List[_sources.Partition] = []
    for partition in partitions:
        end = partition.length - partition.length % nodes
        if end:
            yield (partition.part(0, end),)
        rest += [partition.part(row, row + 1) for row in range(end, partition.length)]
        if len(rest) >= nodes:
            yield tuple(rest[:nodes])
            del rest[:nodes]
    if rest:
        yield tuple(rest)


def _shares(pieces: Tuple[_sources.Partition, ...], nodes: int) -> List[_sources.Partition]:
    """What rounded() yields as equal parts, one for each node; at the end rows that are fewer than nodes."""
    each = pieces[0].length // nodes
    if len(pieces) > 1 or each == 0:
        return list(pieces)
    return [pieces[0].part(node * each, (node + 1) * each) for node in range(nodes)]


def feed(endpoints: _producer.Endpoints, attempt: _producer.Attempt, source: Any, even: Even,
         patience: float = 0) -> Outcome:
    """Feeds one partition to all nodes. source: a RowSource or a PieceSource, which is not touched before all take it.

    `attempt.attempt` is a number that no other attempt of this feed's epoch has. The first node's share bears the
    partition's number, and ends last: when it was acknowledged, so were the others, and when not, all of them are sent
    again, under other numbers. All producers begin at the nodes in the same order, so they do not wait for one another
    in a circle. Raises FeedError, as _producer.feed().
    """
    feedings: List[_producer.Feeding] = []
    try:
        for index, endpoint in enumerate(even.choose(endpoints)):
            number = index * _SHARES_OF_NODE + attempt.attempt if index else attempt.partition
            # The first node's waits for the beginning at all others, each of which may have to make room.
            timeout = attempt.timeout * (1 if index else len(even.tasks))
            share = attempt._replace(partition=number, timeout=timeout)
            feedings.append(_producer.begin(endpoints, share, [endpoint], patience))
            if feedings[-1].outcome is not None:
                return Outcome(feedings[-1].outcome != _frames.STOP, 0)
        return _Rounds(feedings, even.mode).run(source)
    finally:
        for feeding in feedings:
            feeding.close()


class _Rounds:
    """One partition on its way to all nodes. Not thread safe."""

    def __init__(self, feedings: Sequence[_producer.Feeding], mode: str) -> None:
        self._feedings = feedings
        self._mode = mode
        self._slot_bytes = min(feeding.slot_bytes for feeding in feedings)
        self._rows = 1
        self._poll = select.poll()
        for feeding in feedings:
            self._poll.register(feeding, select.POLLIN)
            feeding.take_pending()  # what begin() has read already, poll() does not see

    def run(self, source: Any) -> Outcome:
        """Sends all of it."""
        nodes = len(self._feedings)
        spare: List[_sources.Partition] = []  # the first rows, for REPEAT
        rest: List[_sources.Partition] = []
        for pieces in rounded(iter(lambda: source.take(self._rows * nodes), None), nodes):
            shares = _shares(pieces, nodes)
            spare = spare or [share.part(0, 1) for share in shares]
            if len(shares) < nodes:
                rest = shares
                break
            self._send(shares)
            if self._is_stopped():
                break
        changed = self._finish_rest(rest, spare)
        self._end()
        return Outcome(not self._is_stopped(), changed)

    def _finish_rest(self, rest: List[_sources.Partition], spare: List[_sources.Partition]) -> int:
        """Returns how many rows were dropped or repeated."""
        if not rest or self._is_stopped():
            return 0
        if self._mode == DROP:
            return len(rest)
        missing = len(self._feedings) - len(rest)
        self._send(rest + list(itertools.islice(itertools.cycle(spare), missing)))
        return missing

    def _send(self, shares: Sequence[_sources.Partition]) -> None:
        """Sends as many rows to each node, so that no node has to take more than a slot before another gets its rows:
        a node that waits for others in each step would otherwise hold up what they wait for."""
        encoded = [share.whole() for share in shares]
        most, rows = max(batch.size for batch in encoded), shares[0].length
        if most > self._slot_bytes:
            if rows == 1:
                raise _frames.RowTooLarge(most, self._slot_bytes)
            self._send([share.part(0, rows // 2) for share in shares])
            self._send([share.part(rows // 2, rows) for share in shares])
            return
        for feeding, batch in zip(self._feedings, encoded):
            self._await(feeding.is_ready)
            if self._is_stopped():
                return
            feeding.send(batch)
        self._rows = max(1, min(_MOST_ROWS, int(0.95 * self._slot_bytes * rows / most)))

    def _end(self) -> None:
        """Waits until all rows are consumed, the first node's last."""
        first, others = self._feedings[0], self._feedings[1:]
        for feeding in others:
            if not self._is_stopped():
                feeding.send_end()
        self._await(lambda: all(feeding.outcome is not None for feeding in others))
        if not self._is_stopped():
            first.send_end()
        self._await(lambda: first.outcome is not None)

    def _is_stopped(self) -> bool:
        return any(feeding.outcome == _frames.STOP for feeding in self._feedings)

    def _await(self, done: Callable[[], bool]) -> None:
        """Takes what the endpoints say until `done()`, or until nobody wants the rest. Raises FeedError."""
        self._listen(0)
        while not done() and not self._is_stopped():
            for feeding in self._feedings:
                if feeding.outcome is None:
                    feeding.check_silence()
            oldest = min(feeding.heard for feeding in self._feedings if feeding.outcome is None)
            self._listen(max(0.0, oldest + _producer.SILENCE_SECONDS - time.monotonic()) + 0.1)

    def _listen(self, seconds: float) -> None:
        if not self._poll.poll(int(1000 * seconds)):
            return
        for feeding in self._feedings:
            if feeding.outcome is None:
                feeding.take_pending()
                if feeding.outcome is not None:
                    self._poll.unregister(feeding)
