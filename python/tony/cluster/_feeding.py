"""Feeds the nodes of a job from the driver's own process: one thread for each worker, partitions in turn."""

import queue
import threading
from collections import deque
from typing import Any, Deque, Dict, Generator, Iterator, List, NamedTuple, Optional, Tuple

from ..errors import TonyError
from . import _frames, _producer, _sources
from ._nodes import RunningNodes

# As Spark's spark.task.maxFailures.
_ATTEMPTS = 4
# Whether a broken feed is the consequence of the job's end is known after this time.
END_SECONDS = 30
_BETWEEN_ATTEMPTS_SECONDS = 0.5
_POLL_SECONDS = 0.2


class Order(NamedTuple):
    """What is to be fed."""

    feed: str
    results: bool
    timeout: float


class Work(NamedTuple):
    """A partition on its way."""

    epoch: int
    number: int
    partition: _sources.Partition


def endpoints_of(nodes: RunningNodes) -> _producer.Endpoints:
    """Where the nodes are fed now. Raises what a node raised, if the job has ended."""
    nodes.check()
    try:
        found = _producer.endpoints_from(nodes.job.feeds())
    except TonyError:
        nodes.await_end(END_SECONDS)
        nodes.check()
        raise
    if not found.tasks:
        nodes.await_end(END_SECONDS)
        nodes.check()
        raise _frames.FeedError(f"no node of job {nodes.job.id} can be fed: none is left that trains")
    return found


class KnownEndpoints:
    """Where the nodes are fed, as it was told last: to ask takes a program, at many times the cost of a small
    partition. Thread safe."""

    def __init__(self, nodes: RunningNodes) -> None:
        self._nodes = nodes
        self._lock = threading.Lock()
        self._known: Optional[_producer.Endpoints] = None

    def get(self, again: bool) -> _producer.Endpoints:
        """again: after a failure. Raises as endpoints_of()."""
        self._nodes.check()
        with self._lock:
            if self._known is None or again:
                self._known = endpoints_of(self._nodes)
            return self._known


def feed_one(nodes: RunningNodes, known: KnownEndpoints, order: Order, work: Work,
             worker: int) -> Tuple[bool, List[Any]]:
    """Feeds one partition, up to four times; returns whether nodes want more, and its results.

    Raises what a node raised, or FeedError.
    """
    for attempt in range(_ATTEMPTS):
        endpoints = known.get(again=attempt > 0)
        endpoint = endpoints.tasks[worker % len(endpoints.tasks)]
        told = _producer.Attempt(order.feed, work.epoch, work.number, attempt, order.results, order.timeout)
        try:
            return _drain(_producer.feed(endpoints, told, work.partition.batches, endpoint))
        except _frames.RowTooLarge:
            raise
        except _frames.FeedError:
            # Most often a node's program has failed, and the job says more of it.
            last = attempt + 1 == _ATTEMPTS
            if nodes.await_end(END_SECONDS if last else _BETWEEN_ATTEMPTS_SECONDS):
                nodes.check()
            if last or nodes.ended:
                raise
    raise AssertionError("unreachable")


def _drain(feeding: Generator[List[Any], None, Optional[int]]) -> Tuple[bool, List[Any]]:
    results: List[Any] = []
    while True:
        try:
            results += next(feeding)
        except StopIteration as end:
            return end.value != _frames.STOP, results


class Feeder:
    """Feeds a sequence of partitions. Partition N goes to worker N modulo their number, so all get equally many."""

    def __init__(self, nodes: RunningNodes, order: Order, workers: int) -> None:
        self._nodes = nodes
        self._endpoints = KnownEndpoints(nodes)
        self._order = order
        self._queues: "List[queue.Queue[Optional[Work]]]" = [queue.Queue(1) for _ in range(workers)]
        self._done: "queue.Queue[Tuple[Work, List[Any]]]" = queue.Queue()
        self._failure: Optional[BaseException] = None
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(worker,), name=f"tony-feed-{worker}", daemon=True)
                         for worker in range(workers)]

    def _run(self, worker: int) -> None:
        while True:
            work = self._take(self._queues[worker])
            if work is None:
                return
            try:
                wanted, results = feed_one(self._nodes, self._endpoints, self._order, work, worker)
                self._done.put((work, results))
                if not wanted:
                    self._stopped.set()
                    return
            except BaseException as error:  # pylint: disable=broad-except  # it is raised by the caller's thread
                self._failure = self._failure or error
                self._stopped.set()
                return

    def _take(self, source: "queue.Queue[Optional[Work]]") -> Optional[Work]:
        while not self._stopped.is_set():
            try:
                return source.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                pass
        return None

    def _put(self, target: "queue.Queue[Optional[Work]]", work: Optional[Work]) -> None:
        while not self._stopped.is_set():
            try:
                target.put(work, timeout=_POLL_SECONDS)
                return
            except queue.Full:
                pass

    def run(self, works: Iterator[Work]) -> Iterator[List[Any]]:
        """Feeds them all; yields their results in their order. Raises what went wrong first."""
        for thread in self._threads:
            thread.start()
        waiting: Deque[int] = deque()
        ready: Dict[int, List[Any]] = {}
        try:
            for count, work in enumerate(works):
                self._put(self._queues[count % len(self._queues)], work)
                waiting.append(self._key(work))
                self._collect(ready)
                while waiting and waiting[0] in ready:
                    yield ready.pop(waiting.popleft())
                if self._stopped.is_set():
                    break
            for target in self._queues:
                self._put(target, None)
            for thread in self._threads:
                thread.join()
            self._collect(ready)
            if self._failure is not None:
                raise self._failure
            while waiting and waiting[0] in ready:
                yield ready.pop(waiting.popleft())
        finally:
            self._stopped.set()

    @staticmethod
    def _key(work: Work) -> int:
        return (work.epoch << 32) + work.number

    def _collect(self, ready: Dict[int, List[Any]]) -> None:
        while True:
            try:
                work, results = self._done.get_nowait()
            except queue.Empty:
                return
            ready[self._key(work)] = results


def works_of(data: Any, epochs: int, first_epoch: int, workers: int) -> Iterator[Work]:
    """The partitions of all epochs."""
    for epoch in range(epochs):
        for number, partition in enumerate(_sources.partitions_of(data, workers)):
            yield Work(first_epoch + epoch, number, partition)
