"""Feeds the nodes of a job from the driver's own process: one thread for each worker, partitions in turn."""

import itertools
import queue
import threading
import time
from collections import deque
from typing import Any, Deque, Dict, Generator, Iterator, List, NamedTuple, Optional, Set, Tuple

from ..errors import TonyError
from . import _even, _frames, _producer, _roles, _rows, _sources
from ._nodes import RunningNodes

# As Spark's spark.task.maxFailures.
_ATTEMPTS = 4
# Whether a broken feed is the consequence of the job's end is known after this time.
END_SECONDS = 30
# A node that is away for longer, while others can be fed, may have failed for good (fail-on-worker-failure-enabled).
_AWAY_SECONDS = 30
_BETWEEN_ATTEMPTS_SECONDS = 0.5
_POLL_SECONDS = 0.2
# Partitions on their way at once that all nodes share.
_SHARED_AT_ONCE = 2
_attempt_numbers = itertools.count()


class Order(NamedTuple):
    """What is to be fed."""

    feed: str
    results: bool
    timeout: float
    even: Optional[_even.Even] = None  # each partition's result is then how many of its rows were dropped or repeated


class Work(NamedTuple):
    """A partition on its way."""

    epoch: int
    number: int
    pieces: Tuple[_sources.Partition, ...]

    def batches(self, slot_bytes: int) -> Iterator[_rows.Encoded]:
        """As they are sent to one node."""
        return itertools.chain.from_iterable(piece.batches(slot_bytes) for piece in self.pieces)


class KnownEndpoints:
    """Where the nodes are fed, as the job said it last. Thread safe."""

    def __init__(self, nodes: RunningNodes) -> None:
        self._nodes = nodes
        self._lock = threading.Lock()
        self._found: Optional[_producer.Endpoints] = None
        self._over: Set[str] = set()  # feeds of which nobody wants more
        self._given_up: Set[str] = set()

    def get(self) -> _producer.Endpoints:
        """Raises what a node raised, if the job has ended, and TonyError if it does not answer."""
        with self._lock:
            self._nodes.check()
            if self._found is None:
                answer = self._nodes.job.feeds()
                self._found = _producer.endpoints_from(answer)
                self._over = {entry["feed"] for entry in answer.get("feeds", []) if entry["state"] != "open"}
            return self._found

    def forget(self) -> None:
        """Lets the job be asked again: a node that is started again may be elsewhere."""
        with self._lock:
            self._found = None

    def give_up(self, worker: int) -> None:
        """Lets others have the share of a worker until it can be fed again."""
        with self._lock:
            self._given_up.add(_roles.trained_by(self._nodes.nodes)[worker].task)

    def of_all(self, even: _even.Even, feed: str) -> _producer.Endpoints:
        """Where nodes are fed that share the rows.

        Raises FinalError if one of them has ended well, as the others are not to train alone, and NotWanted if they
        want no more.
        """
        found = self.get()
        if feed in self._over:
            raise _frames.NotWanted(f"nobody wants more of the feed {feed!r} of job {found.job}")
        present = {endpoint.task for endpoint in found.tasks}
        ended = [task for task in even.tasks if task not in present and self._nodes.has_succeeded(task)]
        if ended:
            raise _frames.FinalError(f"{', '.join(ended)} of job {found.job} ended well before all rows were consumed, "
                                     f"and with even={even.mode!r} the nodes share them: let each node take rows until "
                                     "should_stop(), or call terminate()")
        return found

    def of_worker(self, worker: int) -> Tuple[_producer.Endpoints, _producer.Endpoint]:
        """Where this worker is fed, or another one if it has ended well, or was given up.

        Raises NodeUnavailable while it is away.
        """
        found = self.get()
        task = _roles.trained_by(self._nodes.nodes)[worker].task
        candidates = [endpoint for endpoint in found.tasks if endpoint.task == task]
        if not candidates and (task in self._given_up or self._nodes.has_succeeded(task)):
            candidates = list(found.tasks)
        if not candidates:
            raise _frames.NodeUnavailable(f"{task} of job {found.job} cannot be fed now: it does not run, or not yet "
                                          "again")
        return found, candidates[worker % len(candidates)]


def await_endpoints(nodes: RunningNodes, timeout: float, feed: str,
                    even: Optional[_even.Even] = None) -> _producer.Endpoints:
    """Where the nodes are fed, as soon as all of them can be that have not ended well; after a while only some.

    With `even` all of them. Raises what a node raised if the job ends, NotWanted (only with `even`) and FinalError, and
    TonyError after `timeout` seconds.
    """
    known = KnownEndpoints(nodes)
    begun = time.monotonic()
    while True:
        try:
            found = known.get() if even is None else known.of_all(even, feed)
            present = {endpoint.task for endpoint in found.tasks}
            missing = [node.task for node in _roles.trained_by(nodes.nodes)
                       if node.task not in present and not nodes.has_succeeded(node.task)]
            away = time.monotonic() >= begun + _AWAY_SECONDS
            if present and (not missing or (away and even is None)):
                return found
            raise _frames.NodeUnavailable(f"{', '.join(missing) or 'no node'} of job {nodes.job.id} cannot be fed: "
                                          f"after {timeout:g} s (feed_timeout) it does not run")
        except (_frames.FinalError, _frames.NotWanted):
            raise
        except TonyError:
            known.forget()
            if nodes.await_end(_BETWEEN_ATTEMPTS_SECONDS):
                nodes.check()
                raise
            if time.monotonic() >= begun + timeout:
                raise


def feed_one(known: KnownEndpoints, nodes: RunningNodes, order: Order, work: Work,
             worker: int) -> Tuple[bool, List[Any]]:
    """Feeds one partition; returns whether nodes want more, and its results.

    Up to four times; a node that is started again does not count, and may take order.timeout seconds for it.
    Raises what a node raised, or FeedError.
    """
    failures = 0
    failing_since: Optional[float] = None
    while True:
        try:
            return _feed_once(known, order, work, worker)
        except _frames.FinalError:
            raise
        except TonyError as error:
            # Most often a node's program has failed, and the job says more of it.
            known.forget()
            failing_since = failing_since or time.monotonic()
            failing = time.monotonic() - failing_since
            if failing >= _AWAY_SECONDS and order.even is None:
                known.give_up(worker)
            failures += isinstance(error, _frames.FeedError) and not isinstance(error, _frames.NodeUnavailable)
            last = failures == _ATTEMPTS or failing >= order.timeout
            if nodes.await_end(END_SECONDS if last else _BETWEEN_ATTEMPTS_SECONDS):
                nodes.check()
            if last or nodes.ended:
                raise


def _feed_once(known: KnownEndpoints, order: Order, work: Work, worker: int) -> Tuple[bool, List[Any]]:
    attempt = _producer.Attempt(order.feed, work.epoch, work.number, next(_attempt_numbers), order.results,
                                order.timeout)
    if order.even is None:
        endpoints, endpoint = known.of_worker(worker)
        return _drain(_producer.feed(endpoints, attempt, work.batches, [endpoint]))
    try:
        endpoints = known.of_all(order.even, order.feed)
    except _frames.NotWanted:
        return False, []
    outcome = _even.feed(endpoints, attempt, _even.PieceSource(work.pieces), order.even)
    return outcome.wanted, [outcome.changed]


def _drain(feeding: Generator[List[Any], None, Optional[int]]) -> Tuple[bool, List[Any]]:
    results: List[Any] = []
    while True:
        try:
            results += next(feeding)
        except StopIteration as end:
            return end.value != _frames.STOP, results


class Feeder:
    """Feeds a sequence of partitions. Partition N goes to worker N modulo their number, so all get equally many.

    With order.even, each partition goes to all of them.
    """

    def __init__(self, nodes: RunningNodes, order: Order, workers: int) -> None:
        if order.even is not None:
            workers = _SHARED_AT_ONCE
        self._nodes = nodes
        self._order = order
        self._known = KnownEndpoints(nodes)
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
                wanted, results = feed_one(self._known, self._nodes, self._order, work, worker)
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


def works_of(data: Any, epochs: int, first_epoch: int, workers: int, even: bool) -> Iterator[Work]:
    """The partitions of all epochs."""
    for epoch in range(epochs):
        partitions = _sources.partitions_of(data, workers)
        pieces = _even.rounded(partitions, workers) if even else ((partition,) for partition in partitions)
        for number, partition in enumerate(pieces):
            yield Work(first_epoch + epoch, number, partition)
