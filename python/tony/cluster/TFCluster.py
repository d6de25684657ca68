"""Clusters of nodes: start them, feed them, wait for their end. The names are TensorFlowOnSpark's.

    cluster = TFCluster.run(sc, main_fun, args, num_executors=4, num_ps=1, input_mode=TFCluster.InputMode.TENSORFLOW)
    cluster.shutdown()
"""
# pylint: disable=invalid-name  # TensorFlowOnSpark's names

import logging
import os
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set

from ..errors import TonyError
from ..spec import Keys, Value
from . import _even, _feeding, _frames, _place, _roles, _sources, _spark
from ._node import Plan
from ._nodes import NodesRequest, PreparedNodes, RunningNodes
from ._paths import default_fs

_log = logging.getLogger(__name__)

DAYS_3 = 259200
# What num_epochs=0 means for data that can be read again, as in TensorFlowOnSpark.
_EPOCHS = 10
_FEEDS_SECONDS = 0.1  # between two looks at the feeds that threads feed
_STREAM_SECONDS = 1
# For which a feeding task waits for a node that is started again in a Spark executor.
_BRIEF_SECONDS = 5.0


class InputMode:
    """How the nodes get their data."""

    TENSORFLOW = 0  # the program reads files by itself
    SPARK = 1  # the program is fed: TFCluster.train() and inference()


class _Settings(NamedTuple):
    """How a cluster is to be."""

    roles: Dict[str, int]
    tensorboard: bool
    input_mode: int
    log_dir: Optional[str]
    reservation_timeout: float
    place: str
    job: Mapping[str, Value]
    feeds: Mapping[str, Any]
    even: str


class TFCluster:
    """A cluster of nodes: what run() and reserve() return. Not thread safe."""

    def __init__(self, sc: Any, settings: _Settings) -> None:
        """For run() and reserve()."""
        self.sc = sc
        self.input_mode = settings.input_mode
        self._settings = settings
        self._nodes: Optional[RunningNodes] = None
        self._feeds = _Feeds()
        self._background: List[_Background] = []

    def start(self, map_fun: Callable[..., Any], tf_args: Any) -> None:
        """Starts map_fun(tf_args, ctx) in all nodes, and waits until they run: the second half of run()."""
        if self._nodes is not None:
            raise TonyError("this cluster has been started already")
        self._nodes = start_nodes(self.sc, map_fun, tf_args, self._settings.roles, self._settings.place,
                                  self._settings.job, self._keys())
        _log.info("the nodes are job %s: tony status %s", self._nodes.job.id, self._nodes.job.id)
        try:
            self._nodes.await_started(self._settings.reservation_timeout)
        except BaseException:
            self._nodes.job.ask_to_stop()
            raise
        for name, data in self._settings.feeds.items():
            self._background.append(_Background(self, name, data))

    def _keys(self) -> Keys:
        keys: Keys = {"tony.feed.enabled": True} if self.input_mode == InputMode.SPARK else {}
        if not self._settings.tensorboard:
            return keys
        folder = self._settings.log_dir or "tensorboard"
        return {**keys, "tony.application.tensorboard-log-dir": folder if "://" in folder else os.path.abspath(folder)}

    @property
    def nodes(self) -> RunningNodes:
        """The job of the nodes. Raises TonyError before start()."""
        if self._nodes is None:
            raise TonyError("this cluster has no nodes yet: call start(map_fun, tf_args)")
        return self._nodes

    @property
    def cluster_info(self) -> List[Dict[str, Any]]:
        """The nodes: executor_id, job_name, task_index, host, port and pid of each."""
        tasks = {task.name: task for task in self.nodes.job.tasks()}
        nodes = []
        for node in self.nodes.nodes:
            task = tasks.get(node.task)
            nodes.append({"executor_id": node.number, "job_name": node.role, "task_index": node.task_index,
                          "host": task.host if task else None, "port": task.port if task else None,
                          "pid": task.pid if task else None})
        return nodes

    def train(self, dataRDD: Any, num_epochs: int = 0, feed_timeout: float = 600, qname: str = "input") -> None:
        """Feeds data to the nodes that train; returns when all of it has been consumed, or a node wants no more.

        dataRDD: an RDD, a DataFrame or a DStream of Spark, or data of this process: any iterable of rows, numpy arrays
        (one, a tuple or a dict of them, whose first dimension are the rows), a pandas DataFrame, an Arrow table, batch
        or reader, or an iterable of pandas DataFrames or record batches. A DStream returns at once, and feeds
        as long as its StreamingContext runs.
        num_epochs: how often; 0: 10 times, as in TensorFlowOnSpark, and once for an iterator, which cannot be repeated.
        feed_timeout: seconds for which the nodes may take nothing; progress starts them again. qname: the feed's name,
        for DataFeed(qname_in=…).

        Raises what map_fun raised in a node, and FeedError.
        """
        self._check_feeding()
        if num_epochs < 0:
            raise ValueError(f"num_epochs={num_epochs} is negative")
        repeatable = _spark.is_spark(dataRDD) or _sources.is_repeatable(dataRDD)
        if num_epochs > 1 and not repeatable:
            raise ValueError(f"num_epochs={num_epochs}: an iterator can be read once only; give the data as a list, an "
                             "array or another object that can be iterated again, or num_epochs=1")
        epochs = num_epochs or (_EPOCHS if repeatable else 1)
        if _spark.is_stream(dataRDD):
            dataRDD.foreachRDD(lambda rdd: self._train_micro_batch(rdd, feed_timeout, qname))
        else:
            self._train(dataRDD, epochs, feed_timeout, qname)

    def _train(self, data: Any, epochs: int, feed_timeout: float, qname: str) -> None:
        try:
            if _spark.is_spark(data):
                self._train_spark(data, epochs, feed_timeout, qname)
                return
            order = _feeding.Order(qname, False, feed_timeout, self._even())
            self._say_changed(sum(sum(changed) for changed in self._feed_here(data, epochs, order)))
        except _frames.NotWanted:
            return
        except Exception as error:
            # The feed's error, also within Spark's, is mostly the consequence of what has become of the nodes.
            of_feed = isinstance(error, TonyError) or _frames.__name__ in str(error)
            if not of_feed or isinstance(error, _frames.FinalError) or not self.nodes.await_end(_feeding.END_SECONDS):
                raise
            self.nodes.check()
            _log.warning("all nodes have ended well, before they had consumed all of the data: %s", error)

    def _even(self) -> Optional[_even.Even]:
        """How the nodes share rows; None: each partition is one node's."""
        tasks = tuple(node.task for node in _roles.trained_by(self.nodes.nodes))
        return None if self._settings.even == _even.NONE else _even.Even(self._settings.even, tasks)

    def _say_changed(self, rows: int) -> None:
        if rows:
            what = "left out" if self._settings.even == _even.DROP else "sent a second time"
            _log.warning("even=%r: %d rows were %s so that all nodes got equally many", self._settings.even, rows, what)

    def _check_feeding(self) -> None:
        if self.input_mode != InputMode.SPARK:
            raise TonyError("the nodes read their data by themselves: start the cluster with "
                            "input_mode=InputMode.SPARK to feed them")
        self.nodes.check()

    def _train_micro_batch(self, rdd: Any, feed_timeout: float, qname: str) -> None:
        self.nodes.check()
        if rdd.getNumPartitions() and not self.nodes.ended and not self._feeds.stopped(self.nodes, qname):
            self._train(rdd, 1, feed_timeout, qname)

    def _train_spark(self, data: Any, epochs: int, feed_timeout: float, qname: str) -> None:
        frame = _spark.is_data_frame(data)
        partitions = 1 << 30 if frame else data.getNumPartitions()
        order = self._task_order(qname, epochs, partitions, False, feed_timeout)
        deadline: Optional[float] = None
        while True:
            try:
                self._say_changed((_spark.feed_data_frame if frame else _spark.feed_rdd)(data, order, epochs))
                return
            except Exception as error:
                deadline = deadline or time.monotonic() + feed_timeout
                if not _spark.is_restart(error) or time.monotonic() >= deadline:
                    raise
                # The same numbers, so partitions that were consumed are skipped. Nodes may be elsewhere now.
                _log.warning("a node was lost while it was fed; the rest is fed again when all nodes run")
                left = deadline - time.monotonic()
                order = order._replace(endpoints=_feeding.await_endpoints(self.nodes, left, qname, order.even))

    def _task_order(self, qname: str, epochs: int, partitions: int, results: bool,
                    feed_timeout: float) -> _spark.TaskOrder:
        first = self._feeds.begin(qname, epochs)
        # A task that waits in a Spark executor could keep out the very node for which it waits.
        patience = _BRIEF_SECONDS if self.nodes.backend == _place.SPARK else feed_timeout
        even = None if results else self._even()
        return _spark.TaskOrder(_feeding.await_endpoints(self.nodes, feed_timeout, qname, even), qname, first,
                                max(1, partitions), results, feed_timeout, min(patience, feed_timeout), even)

    def _feed_here(self, data: Any, epochs: int, order: _feeding.Order) -> Iterator[List[Any]]:
        nodes = self.nodes
        workers = len(_roles.trained_by(nodes.nodes))
        first = self._feeds.begin(order.feed, epochs)
        works = _feeding.works_of(data, epochs, first, workers, order.even is not None)
        return _feeding.Feeder(nodes, order, workers).run(works)

    def inference(self, dataRDD: Any, feed_timeout: float = 600, qname: str = "input") -> Any:
        """Feeds data once, and returns one result for each row, in their order.

        For an RDD (or a DataFrame, whose rows become lists): an RDD, which is fed when an action wants it. For data of
        this process, as for train(): an iterator, which feeds as it is read. The nodes use
        DataFeed(train_mode=False).batch_results().
        """
        self._check_feeding()
        if not _spark.is_spark(dataRDD):
            parts = self._feed_here(dataRDD, 1, _feeding.Order(qname, True, feed_timeout))
            return (result for part in parts for result in part)
        rdd = dataRDD.rdd.map(list) if _spark.is_data_frame(dataRDD) else dataRDD
        return _spark.results_of_rdd(rdd, self._task_order(qname, 1, rdd.getNumPartitions(), True, feed_timeout))

    def shutdown(self, ssc: Any = None, grace_secs: float = 0, timeout: float = DAYS_3) -> None:
        """Ends the feeds, waits for the end of the nodes that train, and ends the others.

        ssc: a StreamingContext: shutdown() waits until it ends, or until a node wants no more data, and then stops it.
        grace_secs: in InputMode.SPARK, how long nodes may go on after their data has ended, to export a model for
        example; 0: as long as `timeout`. Unlike TensorFlowOnSpark's it is an upper limit, not a wait. timeout: seconds
        for all of it; 0: none.

        Raises what map_fun raised in a node, with tony.RankFailed as its cause, whose `traceback` is the node's;
        JobFailed for a node that crashed, and TimeoutError, after which the nodes are ended.
        """
        nodes = self.nodes
        deadline = time.monotonic() + timeout if timeout > 0 else None
        if ssc is not None:
            self._await_stream(ssc, deadline)
        limit, words = deadline, f"timeout={timeout:g} s of shutdown()"
        if self.input_mode == InputMode.SPARK:
            self._end_feeds(deadline)
            grace_end = time.monotonic() + grace_secs
            if grace_secs > 0 and (limit is None or grace_end < limit):
                limit, words = grace_end, f"grace_secs={grace_secs:g} s after the end of its data"
        if not nodes.await_end(None if limit is None else max(0.0, limit - time.monotonic())):
            nodes.stop()
            raise TimeoutError(f"job {nodes.job.id} has not ended within {words}, and was stopped; is a node waiting "
                               "for another one? tony logs has their output")
        nodes.check()

    def _await_stream(self, ssc: Any, deadline: Optional[float]) -> None:
        """Waits for the end of the stream, or until nothing more can be fed, and then stops it."""
        try:
            while not ssc.awaitTerminationOrTimeout(_STREAM_SECONDS):
                late = deadline is not None and time.monotonic() > deadline
                if late or self.nodes.ended or any(self._feeds.stopped(self.nodes, feed)
                                                   for feed in self._feeds.names()):
                    # A graceful stop waits for micro-batches, which failed nodes do not take, for up to ten intervals.
                    ssc.stop(False, not self.nodes.failed)
                    return
        except Exception:
            # A micro-batch could not be fed, mostly as the nodes have failed.
            if self.nodes.await_end(_feeding.END_SECONDS) and self.nodes.failed:
                ssc.stop(False, False)
                self.nodes.check()
            raise

    def _end_feeds(self, deadline: Optional[float]) -> None:
        """Ends each feed when its data is consumed, since a node may read one to its end before it begins the next.

        Also one into which nothing was fed: a node may wait for it. Raises what went wrong in a feed of run(feeds=…).
        """
        fed = list(self._background)
        self._end({"input", *self._feeds.names()} - {background.feed for background in fed})
        while fed and (deadline is None or time.monotonic() < deadline):
            for background in [background for background in fed if background.has_ended()]:
                fed.remove(background)
                self._end({background.feed})
            if fed:
                fed[0].wait(_FEEDS_SECONDS)

    def _end(self, feeds: Set[str]) -> None:
        for feed in sorted(feeds):
            try:
                self.nodes.job.end_feed(feed)
            except TonyError:
                if not self.nodes.await_end(_feeding.END_SECONDS):
                    raise
                return

    def tensorboard_url(self) -> Optional[str]:
        """The address of the cluster's TensorBoard; None while there is none."""
        return self.nodes.job.tensorboard_url()


class _Feeds:
    """The names of a cluster's feeds, and the number of each one's next epoch. Thread safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._epochs: Dict[str, int] = {}
        self._stopped: Set[str] = set()
        self._looked = 0.0

    def begin(self, feed: str, epochs: int) -> int:
        """Numbers further epochs; returns the first one's."""
        with self._lock:
            first = self._epochs.get(feed, 0)
            self._epochs[feed] = first + epochs
            return first

    def names(self) -> List[str]:
        """All that anything was fed into."""
        with self._lock:
            return sorted(self._epochs)

    def stopped(self, nodes: RunningNodes, feed: str) -> bool:
        """Whether a node wants no more of it, as it was known a second ago."""
        with self._lock:
            if feed in self._stopped or time.monotonic() < self._looked + _STREAM_SECONDS:
                return feed in self._stopped
            self._looked = time.monotonic()
        try:
            answer = nodes.job.feeds()
        except TonyError:
            return False  # the job has ended: whoever feeds it is told why
        with self._lock:
            self._stopped |= {entry["feed"] for entry in answer.get("feeds", []) if entry["state"] != "open"}
            return feed in self._stopped


class _Background:
    """A feed of run(feeds=…), which a thread feeds once."""

    def __init__(self, cluster: TFCluster, feed: str, data: Any) -> None:
        self.feed = feed
        self._failure: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._run, args=(cluster, feed, data), name=f"tony-feed-{feed}",
                                        daemon=True)
        self._thread.start()

    def _run(self, cluster: TFCluster, feed: str, data: Any) -> None:
        try:
            cluster.train(data, 1, qname=feed)
        except BaseException as error:  # pylint: disable=broad-except  # shutdown() raises it
            self._failure = error

    def wait(self, seconds: float) -> None:
        """Waits for a while for the end of the data."""
        self._thread.join(seconds)

    def has_ended(self) -> bool:
        """Whether all data is consumed. Raises what went wrong."""
        if self._thread.is_alive():
            return False
        if self._failure is not None:
            raise self._failure
        return True


def start_nodes(sc: Any, map_fun: Callable[..., Any], tf_args: Any, roles: Dict[str, int], place: str,
                job: Mapping[str, Value], keys: Mapping[str, Value], alone: bool = False) -> RunningNodes:
    """Submits the job of the nodes. `job` are the user's keys, which win over `keys`."""
    where = _place.choose(place, sc, job)
    backend = str(job.get("tony.backend", "local"))
    nodes = _roles.nodes_of(roles)
    plan = Plan({node.role: node.number for node in reversed(nodes)}, default_fs(sc), os.getcwd())
    python = _place.python_of_nodes(where, sc, backend)
    # Spark's executors are other hosts, where no file of this one is.
    hosts = _place.SPARK if where == _place.SPARK else backend
    prepared = PreparedNodes(NodesRequest(map_fun, tf_args, roles, plan, python, hosts, {**keys, **job}, alone))
    try:
        return RunningNodes(prepared, _place.start(where, sc, prepared.spec(), None))
    except BaseException:
        prepared.remove()
        raise


def reserve(sc: Any, num_executors: int, num_ps: int = 0, tensorboard: bool = False,
            input_mode: int = InputMode.TENSORFLOW, log_dir: Optional[str] = None,
            driver_ps_nodes: bool = False, master_node: Optional[str] = None, reservation_timeout: float = 600,
            queues: Sequence[str] = ("input", "output", "error"), eval_node: bool = False, release_port: bool = True,
            *, place: str = _place.AUTO, job: Optional[Mapping[str, Value]] = None,
            feeds: Optional[Mapping[str, Any]] = None, even: str = _even.NONE) -> TFCluster:
    """A cluster whose nodes start with start(map_fun, tf_args): the first half of run(), which has the arguments."""
    del queues, release_port
    if input_mode not in (InputMode.TENSORFLOW, InputMode.SPARK):
        raise ValueError(f"input_mode={input_mode!r} is neither InputMode.TENSORFLOW nor InputMode.SPARK")
    if input_mode == InputMode.SPARK and (driver_ps_nodes or eval_node):
        what = "driver_ps_nodes" if driver_ps_nodes else "eval_node"
        raise ValueError(f"{what}=True needs input_mode=InputMode.TENSORFLOW, as in TensorFlowOnSpark")
    _even.check_mode(even)
    if (feeds or even != _even.NONE) and input_mode != InputMode.SPARK:
        raise ValueError("feeds need input_mode=InputMode.SPARK, and so does even")
    roles = _roles.count_roles(num_executors + (num_ps if driver_ps_nodes else 0), num_ps, master_node, eval_node)
    return TFCluster(sc, _Settings(roles, tensorboard, input_mode, log_dir, reservation_timeout, place, job or {},
                                   feeds or {}, even))


def run(sc: Any, map_fun: Callable[..., Any], tf_args: Any, num_executors: int, num_ps: int = 0,
        tensorboard: bool = False, input_mode: int = InputMode.TENSORFLOW, log_dir: Optional[str] = None,
        driver_ps_nodes: bool = False, master_node: Optional[str] = None, reservation_timeout: float = 600,
        queues: Sequence[str] = ("input", "output", "error"), eval_node: bool = False, release_port: bool = True,
        *, place: str = _place.AUTO, job: Optional[Mapping[str, Value]] = None,
        feeds: Optional[Mapping[str, Any]] = None, even: str = _even.NONE) -> TFCluster:
    """Starts map_fun(tf_args, ctx) in `num_executors` nodes; returns when they run.

    sc: a SparkContext, or None. tf_args: anything that can be pickled; a list also becomes the nodes' sys.argv.
    num_executors: nodes of all roles: num_ps parameter servers, one of `master_node` ("chief" or "master"; without one
    TF_CONFIG is not set, as in TensorFlowOnSpark), one evaluator with eval_node, and the rest workers.
    tensorboard: runs TensorBoard on log_dir. driver_ps_nodes: num_ps further nodes, besides num_executors.
    reservation_timeout: seconds until all nodes run. queues, release_port: without effect, as tony has no queues and
    holds each node's port in a way that lets TensorFlow listen on it.
    place: "spark" (in the executors of Spark), "tony" (tasks of this machine or YARN containers) or "auto"
    (docs/spark.md). job: tony's keys, such as {"tony.worker.memory": "4g", "tony.backend": "yarn"}.
    feeds: data by the name of its feed, as for train(): each is fed once, beside the others and beside train(). The
    nodes read them by DataFeed(qname_in=NAME).
    even: for training in which all nodes make each step together: "drop" and "repeat" give each node the same number of
    rows of each partition. What is too little for all of them is left out, or filled up with rows that are sent a second
    time; train() logs how many. Every partition then goes to all nodes. "none": to one of them.

    Raises ValueError, CannotPickle, BadJob, NeverFits, TimeoutError, and what map_fun raises meanwhile.
    """
    cluster = reserve(sc, num_executors, num_ps, tensorboard, input_mode, log_dir, driver_ps_nodes, master_node,
                      reservation_timeout, queues, eval_node, release_port, place=place, job=job,
                      feeds=feeds, even=even)
    cluster.start(map_fun, tf_args)
    return cluster
