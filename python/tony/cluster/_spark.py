"""Feeds the nodes of a job from Spark: what the driver asks of Spark, and what its tasks do. Imports no TensorFlow.

pyspark is imported by nobody here: its objects come from the user's program.
"""

import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import zipfile
from typing import Any, Callable, Dict, Iterable, Iterator, NamedTuple, Optional

from . import _even, _frames, _producer, _rows, _sources

_NATIVE = "_columns.abi3.so"


class TaskOrder(NamedTuple):
    """What a feeding task has to do: it travels in the task's closure."""

    endpoints: _producer.Endpoints
    feed: str
    first_epoch: int
    partitions: int  # of one epoch
    results: bool
    timeout: float
    patience: float  # seconds for which a task waits for a node that is started again
    even: Optional[_even.Even] = None


def is_spark(data: Any) -> bool:
    """Whether it is an object of pyspark."""
    return type(data).__module__.partition(".")[0] == "pyspark"


def is_data_frame(data: Any) -> bool:
    """Whether it is a DataFrame of Spark."""
    return is_spark(data) and hasattr(data, "mapInArrow") and hasattr(data, "schema")


def is_stream(data: Any) -> bool:
    """Whether it is a DStream."""
    return is_spark(data) and hasattr(data, "foreachRDD")


# --- the driver -------------------------------------------------------------------------------------------------------

# The archives of the package by Spark's applications, which fetch them as long as they live.
_shipped: "Dict[str, tempfile.TemporaryDirectory[str]]" = {}


def ship_package(sc: Any) -> None:
    """Lets the Python of Spark's executors import this package, also where it is not installed. Once for each sc."""
    application: str = sc.applicationId
    if application in _shipped:
        return
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    _shipped[application] = tempfile.TemporaryDirectory(prefix="tony-package-")  # pylint: disable=consider-using-with
    archive = os.path.join(_shipped[application].name, "tony_package.zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as package:
        for name in _modules(folder):
            package.write(os.path.join(folder, name), os.path.join("tony", name))
    sc.addPyFile(archive)
    native = os.path.join(folder, "cluster", _NATIVE)
    if os.path.exists(native):
        sc.addFile(native)


def _modules(folder: str) -> Iterator[str]:
    """The plain modules of the package, and those of tony.cluster."""
    for part in ("", "cluster"):
        for name in sorted(os.listdir(os.path.join(folder, part))):
            if name.endswith(".py"):
                yield os.path.join(part, name)


def feed_rdd(rdd: Any, order: TaskOrder, epochs: int) -> int:
    """Feeds an RDD `epochs` times, by one Spark job; returns how many rows order.even has dropped or repeated."""
    ship_package(rdd.context)
    whole = rdd if epochs == 1 else rdd.context.union([rdd] * epochs)
    if order.even is None:
        whole.mapPartitionsWithIndex(feeding(order)).foreach(_nothing)
        return 0
    return sum(whole.mapPartitionsWithIndex(feeding_evenly(order)).collect())


def results_of_rdd(rdd: Any, order: TaskOrder) -> Any:
    """The RDD of the results of an RDD's rows, in their order. It is fed when an action wants it."""
    ship_package(rdd.context)
    return rdd.mapPartitionsWithIndex(feeding(order))


def feed_data_frame(frame: Any, order: TaskOrder, epochs: int) -> int:
    """As feed_rdd(), but by a Spark job for each epoch, as Arrow's record batches."""
    ship_package(frame.sparkSession.sparkContext)
    changed = 0
    for epoch in range(epochs):
        task = feeding_arrow(order._replace(first_epoch=order.first_epoch + epoch))
        changed += sum(row.rows for row in frame.mapInArrow(task, "rows long").collect())
    return changed


def is_restart(error: BaseException) -> bool:
    """Whether Spark's job has failed because a node was lost, or is being started again."""
    return any(f"{kind.__module__}.{kind.__name__}" in str(error)
               for kind in (_frames.NodeUnavailable, _frames.ConnectionLost))


def _nothing(_row: Any) -> None:
    pass


def feeding(order: TaskOrder) -> Callable[[int, Iterable[Any]], Iterator[Any]]:
    """The function of a task that feeds a partition of an RDD: yields its results."""
    def task(index: int, rows: Iterable[Any]) -> Iterator[Any]:
        from tony.cluster import _spark  # pylint: disable=import-outside-toplevel  # in Spark's executor
        return _spark.feed_partition(order, index, lambda size: _rows.batches(rows, size))
    return task


def feeding_evenly(order: TaskOrder) -> Callable[[int, Iterable[Any]], Iterator[int]]:
    """The function of a task that feeds a partition of an RDD to all nodes: yields how many rows it has changed."""
    def task(index: int, rows: Iterable[Any]) -> Iterator[int]:
        from tony.cluster import _even, _spark  # pylint: disable=import-outside-toplevel  # in Spark's executor
        yield _spark.feed_partition_evenly(order, index, _even.RowSource(rows))
    return task


def feeding_arrow(order: TaskOrder) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The function of a task that feeds a partition of a DataFrame: yields how many rows it has changed, if any."""
    def task(record_batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext  # type: ignore[import-not-found, unused-ignore]  # pylint: disable=import-outside-toplevel,import-error
        from tony.cluster import _arrow, _spark  # pylint: disable=import-outside-toplevel  # in Spark's executor
        index = TaskContext.get().partitionId()
        if order.even is not None:
            yield _arrow.count_batch("rows", _spark.feed_batches_evenly(order, index, record_batches))
            return
        for _ in _spark.feed_partition(order, index, lambda size: (
                encoded for batch in record_batches for encoded in _arrow.batches(batch, size))):
            pass
    return task


# --- a task -----------------------------------------------------------------------------------------------------------

def feed_partition(order: TaskOrder, index: int, batches: _producer.Batches) -> Iterator[Any]:
    """Feeds the partition `index` of the Spark task in which it is called; yields results."""
    attempt = _begin_task(order, index)
    for results in _producer.feed(order.endpoints, attempt, batches, patience=order.patience):
        yield from results


def feed_partition_evenly(order: TaskOrder, index: int, source: Any) -> int:
    """As feed_partition(), to all nodes; returns how many rows were dropped or repeated."""
    assert order.even is not None
    return _even.feed(order.endpoints, _begin_task(order, index), source, order.even, order.patience).changed


def feed_batches_evenly(order: TaskOrder, index: int, record_batches: Iterable[Any]) -> int:
    """As feed_partition_evenly()."""
    return feed_partition_evenly(order, index, _even.PieceSource(map(_sources.ArrowPartition, record_batches)))


def _begin_task(order: TaskOrder, index: int) -> _producer.Attempt:
    """Makes Spark's Python ready; returns what this task is an attempt of."""
    from pyspark import TaskContext  # type: ignore[import-not-found, unused-ignore]  # pylint: disable=import-outside-toplevel,import-error
    spare_zip_folders()
    load_native()
    number = TaskContext.get().taskAttemptId()
    # Results are wanted again by each action and each attempt; other rows are to be consumed once.
    epoch, partition = (0, number) if order.results else (index // order.partitions, index % order.partitions)
    return _producer.Attempt(order.feed, order.first_epoch + epoch, partition, number, order.results, order.timeout)


def spare_zip_folders() -> None:
    """Spark forgets all imports' caches in every task; since Python 3.10 each zip on the path, with Spark's jars among
    them, is then read again: a tenth of a second for each task. Without its importer in the cache a zip is read again
    only when something is imported that no other folder has."""
    for path, importer in list(sys.path_importer_cache.items()):
        if type(importer).__name__ == "zipimporter":
            del sys.path_importer_cache[path]
    sys.path[:] = [path for path in sys.path if not path.endswith(".jar")]


def load_native() -> None:
    """Loads the compiled module, which cannot be imported out of a zip, from the file that the driver has sent."""
    if _rows._native is not None:  # pylint: disable=protected-access
        return
    path = _shipped_native()
    if path is None:
        return
    name = "tony.cluster._columns"
    spec = importlib.util.spec_from_file_location(
        name, path, loader=importlib.machinery.ExtensionFileLoader(name, path))
    if spec is None or spec.loader is None:
        return
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError:
        return  # of another kind of machine than the driver's
    _rows._native = module  # pylint: disable=protected-access


def _shipped_native() -> Optional[str]:
    from pyspark import SparkFiles  # type: ignore[import-not-found, unused-ignore]  # pylint: disable=import-outside-toplevel,import-error
    path: str = SparkFiles.get(_NATIVE)
    return path if os.path.exists(path) else None


