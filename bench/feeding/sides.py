"""The two sides of bench/feed: a cluster of tony and one of TensorFlowOnSpark, and TensorFlowOnSpark's queue alone."""

import contextlib
import multiprocessing
import time
import typing

import consumers

BATCH = 100
# Spark keeps Python workers in pools by their environment. Each side has its own, so that tony's tasks, which spare
# their Python worker the zip folders (docs/spark.md), do not speed up those of the others.
SIDE = "TONY_BENCH_SIDE"
# What tony sends to Spark's tasks.
PACKAGE = "tony_package.zip"


class Fed(typing.NamedTuple):
    """One train()."""

    rows: int
    call: float  # seconds of the call
    span: float  # records a second between the first and the last batch

    @property
    def rate(self):
        """Records a second of the whole call."""
        return self.rows / self.call


def timed(function, *arguments):
    """The seconds that a call takes."""
    begin = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - begin


@contextlib.contextmanager
def as_side(sc, name):
    """Spark's tasks that are made meanwhile are this side's; those of the others do not get tony's package."""
    # pylint: disable=protected-access  # what Spark's Python workers import has no other name
    if sc is None:
        yield
        return
    includes = sc._python_includes
    sc.environment[SIDE] = name
    if name != "tony":
        sc._python_includes = [include for include in includes if include != PACKAGE]
    try:
        yield
    finally:
        sc._python_includes = includes


def checked(logs, rows, total, call):
    """What the nodes have taken of a train() of so many rows, whose first numbers have this sum."""
    taken = logs.take(rows)
    if taken.rows != rows or abs(taken.total - total) > 1e-6 * total:
        raise SystemExit(f"bench/feed: {rows} rows with the sum {total:g} were fed, and {taken.rows} rows with the sum "
                         f"{taken.total:g} were taken")
    return Fed(rows, call, taken.counted / max(taken.span, 1e-6))


class Ours:
    """A cluster of tony. Not thread safe."""

    name = "tony"

    def __init__(self, sc, folder, workers, **consumer):
        """consumer: for consumers.ours()."""
        from tony.cluster import TFCluster  # pylint: disable=import-outside-toplevel,import-error
        self.sc = sc
        self.logs = consumers.Logs(f"{folder}/logs-{time.monotonic_ns()}")
        keys = {"tony.local.dir": f"{folder}/tony", "tony.local.ledger": "private", "tony.worker.memory": "600m"}
        with as_side(sc, self.name):
            begin = time.perf_counter()
            self.cluster = TFCluster.run(sc, consumers.ours(str(self.logs.folder), BATCH, **consumer), None, workers,
                                         input_mode=TFCluster.InputMode.SPARK, job=keys)
            self.start_seconds = time.perf_counter() - begin

    def train(self, data, rows, total, epochs=1):
        """Feeds data with so many rows; returns Fed."""
        with as_side(self.sc, self.name):
            call = timed(self.cluster.train, data, epochs)
        return checked(self.logs, rows * epochs, total * epochs, call)

    def close(self):
        """Ends the nodes."""
        with as_side(self.sc, self.name):
            self.cluster.shutdown(timeout=120)


class Theirs:
    """A cluster of TensorFlowOnSpark. Not thread safe."""

    name = "TensorFlowOnSpark"

    def __init__(self, sc, folder, workers):
        from tensorflowonspark import TFCluster  # pylint: disable=import-outside-toplevel,import-error
        self.sc = sc
        self.logs = consumers.Logs(f"{folder}/logs-{time.monotonic_ns()}")
        with as_side(sc, self.name):
            begin = time.perf_counter()
            self.cluster = TFCluster.run(sc, consumers.theirs(str(self.logs.folder), BATCH), {}, workers, num_ps=0,
                                         input_mode=TFCluster.InputMode.SPARK)
            self.start_seconds = time.perf_counter() - begin

    def train(self, data, rows, total):
        """Feeds an RDD with so many rows; returns Fed."""
        with as_side(self.sc, self.name):
            # It takes RDDs only: its pipeline does the same with DataFrames.
            call = timed(self.cluster.train, data.rdd if hasattr(data, "schema") else data, 1)
        return checked(self.logs, rows, total, call)

    def close(self):
        """Ends the nodes."""
        with as_side(self.sc, self.name):
            self.cluster.shutdown(timeout=120)


class Queue:
    """TensorFlowOnSpark's manager and queue without Spark, with one node. Not thread safe."""

    def __init__(self, folder):
        from tensorflowonspark import TFManager  # pylint: disable=import-outside-toplevel,import-error
        self.logs = consumers.Logs(f"{folder}/logs-{time.monotonic_ns()}")
        self._manager = TFManager.start(b"bench", ["input", "output", "error"], "local")
        self._manager.set("state", "running")

        class Context:
            """What the node's program reads of its ctx."""
            mgr = self._manager
            task_index = 0

        main = consumers.theirs(str(self.logs.folder), BATCH)
        self._node = multiprocessing.get_context("fork").Process(target=main, args=(None, Context), daemon=True)
        self._node.start()

    def train(self, rows, count, total):
        """Feeds an iterable with so many rows as TFSparkNode.train() does, without its waits of a second."""
        queue = self._manager.get_queue("input")

        def put_all():
            for row in rows:
                queue.put(row, block=True)
            queue.join()
        call = timed(put_all)
        return checked(self.logs, count, total, call)

    def close(self):
        """Ends the node and the manager."""
        self._manager.get_queue("input").put(None)
        self._node.join(30)
        self._manager.shutdown()
