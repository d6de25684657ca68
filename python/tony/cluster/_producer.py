"""The producer's end of a feed: sends one partition to one worker's endpoint (docs/design/feed.md)."""

import json
import os
import socket
import ssl
import time
from typing import Any, Callable, Dict, Generator, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import _frames, _rows
from ._reader import load_results

# An endpoint says something every five seconds.
SILENCE_SECONDS = 30
_CONNECT_SECONDS = 30
# For the frame that says why an endpoint has closed the connection.
_REASON_SECONDS = 1
# Between two attempts to begin.
_PAUSE_SECONDS = 0.5
# An endpoint that cannot be reached for so long is gone. It may have closed a connection since it has too many new ones.
_GONE_SECONDS = 2

Batches = Callable[[int], Iterable[_rows.Encoded]]


class Endpoint(NamedTuple):
    """Where a worker is fed."""

    task: str
    host: str
    unix: str
    port: int
    container: str


class Endpoints(NamedTuple):
    """Where the workers of a job are fed, and by whom: what `tony feed JOB --json` says. The token is a secret."""

    job: str
    token: str
    authority: str
    tasks: Tuple[Endpoint, ...]

    def __repr__(self) -> str:
        return f"Endpoints(job={self.job!r}, tasks={self.tasks!r})"


class Attempt(NamedTuple):
    """One attempt to feed one partition."""

    feed: str
    epoch: int
    partition: int
    attempt: int
    results: bool
    timeout: float  # seconds without progress of the program


def endpoints_from(answer: Dict[str, Any]) -> Endpoints:
    """From the JSON of `tony feed`."""
    tasks = tuple(Endpoint(task["task"], task["host"], task["unix"], task["port"], task["container"])
                  for task in answer["tasks"])
    return Endpoints(answer["job"], answer["token"], answer["authority"], tasks)


def candidates(endpoints: Endpoints, partition: int) -> List[Endpoint]:
    """The workers that may get a partition, best first: in turn, those of this host before all others."""
    if not endpoints.tasks:
        raise _frames.FeedError(f"no node of job {endpoints.job} can be fed now; has it ended?")
    here = [task for task in endpoints.tasks if _is_here(task)]
    elsewhere = [task for task in endpoints.tasks if task not in here]
    return _from(here, partition) + _from(elsewhere, partition)


def _from(tasks: List[Endpoint], partition: int) -> List[Endpoint]:
    first = partition % len(tasks) if tasks else 0
    return tasks[first:] + tasks[:first]


def _is_here(endpoint: Endpoint) -> bool:
    return bool(endpoint.unix) and os.access(endpoint.unix, os.W_OK)


def connect(endpoints: Endpoints, endpoint: Endpoint) -> _frames.Connection:
    """A connection: by the unix socket if it is on this host, else by TLS."""
    stream: Optional[socket.socket] = None
    try:
        if _is_here(endpoint):
            stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            stream.settimeout(_CONNECT_SECONDS)
            stream.connect(endpoint.unix)
        else:
            stream = _connect_tls(endpoints, endpoint)
    except OSError as error:
        if stream is not None:
            stream.close()
        raise _frames.ConnectionLost(f"the endpoint of {endpoint.task} on {endpoint.host} cannot be reached: "
                                     f"{error.strerror or error}") from error
    return _frames.Connection(stream, f"the endpoint of {endpoint.task} on {endpoint.host}")


def _connect_tls(endpoints: Endpoints, endpoint: Endpoint) -> socket.socket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # The certificate names a container of the job, not a host.
    context.check_hostname = False
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    context.load_verify_locations(cadata=endpoints.authority)
    plain = socket.create_connection((endpoint.host, endpoint.port), _CONNECT_SECONDS)
    try:
        stream = context.wrap_socket(plain)
        names = (stream.getpeercert() or {}).get("subjectAltName", ())
        wanted = f"tony://{endpoints.job}/executor/{endpoint.container}"
        if ("URI", wanted) not in names:
            raise _frames.FeedError(f"{endpoint.host}:{endpoint.port} is not {endpoint.task} of job {endpoints.job}")
        return stream
    except BaseException:
        plain.close()
        raise


class Feeding:
    """The way of one partition to one endpoint. Not thread safe.

    outcome: None before the end, then ACK (all rows were consumed), SKIP (they were consumed before) or STOP (nobody
    wants them). rows: that were sent. heard: when the endpoint has last said something, by time.monotonic().
    """

    def __init__(self, connection: _frames.Connection, token: str, attempt: Attempt) -> None:
        self._connection = connection
        self._credits = 0
        self._slot_bytes: Optional[int] = None
        self._results: List[List[Any]] = []
        self.outcome: Optional[int] = None
        self.rows = 0
        self.heard = time.monotonic()
        hello = {"token": token, "feed": attempt.feed, "epoch": attempt.epoch, "partition": attempt.partition,
                 "attempt": attempt.attempt, "results": attempt.results,
                 "timeout_ms": int(attempt.timeout * 1000), "schema": None}
        self._send(_frames.HELLO, _frames.VERSION, [json.dumps(hello).encode()])

    def begin(self) -> None:
        """Waits until the partition may be sent, or `outcome` says that it need not be. Raises FeedError."""
        while self._slot_bytes is None and self.outcome is None:
            self._take(self._receive())

    def run(self, batches: Batches) -> Iterator[List[Any]]:
        """Sends the batches, END, and waits until they are consumed; yields results as they come.

        After begin(): `batches` is asked for them when the size of a slot is known. Raises FeedError.
        """
        if self.outcome is not None:
            return
        for batch in batches(self.slot_bytes):
            self.take_pending()
            while not self.is_ready():
                self._take(self._receive())
            yield from self._new_results()
            if self.outcome is not None:
                return
            self.send(batch)
        self.send_end()
        while self.outcome is None:
            self._take(self._receive())
            yield from self._new_results()

    @property
    def slot_bytes(self) -> int:
        """The most that a batch may have, after begin()."""
        assert self._slot_bytes is not None
        return self._slot_bytes

    def fileno(self) -> int:
        """For poll()."""
        return self._connection.fileno()

    def close(self) -> None:
        """Breaks the connection."""
        self._connection.close()

    def take_pending(self) -> None:
        """Takes what the endpoint has said until now. Raises FeedError."""
        for frame in self._connection.receive_pending():
            self._take(frame)

    def check_silence(self) -> None:
        """Raises ConnectionLost if the endpoint is silent for too long, of one that is asked often."""
        if time.monotonic() > self.heard + SILENCE_SECONDS:
            raise self._connection.silence(SILENCE_SECONDS)

    def is_ready(self) -> bool:
        """Whether a batch may be sent, or need not be."""
        return self._credits > 0 or self.outcome is not None

    def send(self, batch: _rows.Encoded) -> None:
        """Sends a batch, for which there is a credit. Raises FeedError."""
        self._credits -= 1
        self.rows += batch.rows
        self._send(_frames.BATCH, batch.rows, batch.parts, batch.encoding)

    def send_end(self) -> None:
        """Says that all rows were sent. Raises FeedError."""
        self._send(_frames.END, self.rows)

    def _new_results(self) -> Iterator[List[Any]]:
        results, self._results = self._results, []
        yield from results

    def _receive(self) -> _frames.Frame:
        return self._connection.receive(SILENCE_SECONDS)

    def _send(self, kind: int, argument: int, parts: Sequence[_frames.Bytes] = (), encoding: int = 0) -> None:
        try:
            self._connection.send(kind, argument, parts, encoding, timeout=SILENCE_SECONDS)
        except _frames.ConnectionLost:
            while self.outcome is None:  # what it said before it closed the connection is the better reason
                try:
                    frame = self._connection.receive(_REASON_SECONDS)
                except _frames.ConnectionLost:
                    break
                self._take(frame)
            if self.outcome is None:
                raise

    def _take(self, frame: _frames.Frame) -> None:
        self.heard = time.monotonic()
        if frame.type == _frames.CREDIT:
            self._credits += frame.argument
            if frame.payload:
                self._slot_bytes = int(json.loads(frame.payload)["slot_bytes"])
        elif frame.type == _frames.RESULT:
            self._results.append(load_results(frame.encoding, frame.payload, frame.argument))
        elif frame.type in (_frames.ACK, _frames.SKIP, _frames.STOP):
            self.outcome = frame.type
        elif frame.type == _frames.ERROR:
            raise _frames.FeedError(frame.payload.decode("utf-8", "replace"))
        elif frame.type == _frames.AWAY:
            raise _frames.NodeUnavailable(frame.payload.decode("utf-8", "replace"))
        elif frame.type != _frames.ALIVE:  # which says only that the endpoint lives
            raise _frames.FeedError(f"the endpoint sends a frame of type {frame.type}, which this tony does not know; let "
                                    "the producer have the job's version of tony")


def _begin_at(endpoints: Endpoints, endpoint: Endpoint, attempt: Attempt) -> Feeding:
    """Raises ConnectionLost, NodeUnavailable and other FeedErrors, after which nothing has been sent."""
    connection = connect(endpoints, endpoint)
    try:
        feeding = Feeding(connection, endpoints.token, attempt)
        feeding.begin()
        return feeding
    except BaseException:
        connection.close()
        raise


def begin(endpoints: Endpoints, attempt: Attempt, tasks: Sequence[Endpoint], patience: float) -> Feeding:
    """Begins at the first of `tasks` whose executor lives, when its program runs.

    A node whose program is started again keeps its share of the data. That of a lost executor goes to the next one:
    leases make any worker right. Raises NodeUnavailable after `patience` seconds, or if no executor is left for two.
    """
    deadline = time.monotonic() + patience
    gone = time.monotonic() + min(patience, _GONE_SECONDS)
    left = list(tasks)
    while True:
        try:
            return _begin_at(endpoints, left[0], attempt)
        except _frames.ConnectionLost as error:
            del left[0]
            if not left and time.monotonic() < gone:
                time.sleep(_PAUSE_SECONDS)
                left = list(tasks)
            elif not left:
                raise _frames.NodeUnavailable(f"{error}; no other node of job {endpoints.job} that this producer knows "
                                              "can be reached") from error
        except _frames.NodeUnavailable:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_PAUSE_SECONDS)


def feed(endpoints: Endpoints, attempt: Attempt, batches: Batches, tasks: Optional[Sequence[Endpoint]] = None,
         patience: float = 0) -> Generator[List[Any], None, Optional[int]]:
    """Feeds one partition; yields lists of results, in the order of the rows, if they are wanted.

    tasks: to one of which it is fed, best first; by default all. patience: seconds that a node may take to be started
    again. `batches` is not touched before a node takes the partition.

    The generator's value is how it ended, as Feeding.outcome. Raises FeedError; NodeUnavailable if nothing was sent, or
    if the node's program has ended meanwhile.
    """
    feeding = begin(endpoints, attempt, tasks or candidates(endpoints, attempt.partition), patience)
    try:
        answered = 0
        for results in feeding.run(batches):
            answered += len(results)
            yield results
        if attempt.results and feeding.outcome != _frames.ACK:
            raise _frames.FeedError(f"partition {attempt.partition} of feed {attempt.feed!r} has no results: a node "
                                    "has called terminate(), or the feed was ended")
        if attempt.results and answered != feeding.rows:
            raise _frames.FeedError(f"{answered} results have come for the {feeding.rows} rows of partition "
                                    f"{attempt.partition} of feed {attempt.feed!r}")
        return feeding.outcome
    finally:
        feeding.close()
