"""Clusters of nodes: start them, feed them, wait for their end. The names are TensorFlowOnSpark's.

    cluster = TFCluster.run(sc, main_fun, args, num_executors=4, num_ps=1, input_mode=TFCluster.InputMode.TENSORFLOW)
    cluster.shutdown()
"""
# pylint: disable=invalid-name  # TensorFlowOnSpark's names

import logging
import os
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

from ..errors import TonyError
from ..spec import Keys, Value
from . import _place, _roles
from ._node import Plan
from ._nodes import NodesRequest, PreparedNodes, RunningNodes
from ._paths import default_fs

_log = logging.getLogger(__name__)

DAYS_3 = 259200


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


class TFCluster:
    """A cluster of nodes: what run() and reserve() return. Not thread safe."""

    def __init__(self, sc: Any, settings: _Settings) -> None:
        """For run() and reserve()."""
        self.sc = sc
        self.input_mode = settings.input_mode
        self._settings = settings
        self._nodes: Optional[RunningNodes] = None

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

    def _keys(self) -> Keys:
        if not self._settings.tensorboard:
            return {}
        folder = self._settings.log_dir or "tensorboard"
        return {"tony.application.tensorboard-log-dir": folder if "://" in folder else os.path.abspath(folder)}

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
        told = []
        for node in self.nodes.nodes:
            task = tasks.get(node.task)
            told.append({"executor_id": node.number, "job_name": node.role, "task_index": node.task_index,
                         "host": task.host if task else None, "port": task.port if task else None,
                         "pid": task.pid if task else None})
        return told

    def shutdown(self, ssc: Any = None, grace_secs: float = 0, timeout: float = DAYS_3) -> None:
        """Waits for the end of the nodes that train, and ends the others.

        ssc: a StreamingContext, which is stopped first, once a node wants no more data. grace_secs: in InputMode.SPARK,
        how long nodes may go on after their data has ended, to export a model for example; 0: as long as `timeout`.
        Unlike TensorFlowOnSpark's it is an upper limit, not a wait. timeout: seconds for all of it; 0: none.

        Raises what map_fun raised in a node, with tony.RankFailed as its cause, whose `traceback` is the node's;
        JobFailed for a node that crashed, and TimeoutError, after which the nodes are ended.
        """
        del ssc
        deadline = time.monotonic() + timeout if timeout > 0 else None
        nodes = self.nodes
        limit = None if deadline is None else max(0.0, deadline - time.monotonic())
        del grace_secs
        if not nodes.await_end(limit):
            nodes.stop()
            raise TimeoutError(f"job {nodes.job.id} has not ended within timeout={timeout:g} s of shutdown(), and was "
                               "stopped; is a node waiting for another one? tony logs has their output")
        nodes.check()

    def tensorboard_url(self) -> Optional[str]:
        """The address of the cluster's TensorBoard; None while there is none."""
        return self.nodes.job.tensorboard_url()


def start_nodes(sc: Any, map_fun: Callable[..., Any], tf_args: Any, roles: Dict[str, int], place: str,
                job: Mapping[str, Value], keys: Mapping[str, Value], alone: bool = False) -> RunningNodes:
    """Submits the job of the nodes. `job` are the user's keys, which win over `keys`."""
    where = _place.choose(place, sc, job)
    backend = str(job.get("tony.backend", "local"))
    nodes = _roles.nodes_of(roles)
    plan = Plan({node.role: node.number for node in reversed(nodes)}, default_fs(sc), os.getcwd())
    python = _place.python_of_nodes(where, sc, backend)
    prepared = PreparedNodes(NodesRequest(map_fun, tf_args, roles, plan, python, backend, {**keys, **job}, alone))
    try:
        return RunningNodes(prepared, _place.start(where, sc, prepared.spec(), None))
    except BaseException:
        prepared.remove()
        raise


def reserve(sc: Any, num_executors: int, num_ps: int = 0, tensorboard: bool = False,
            input_mode: int = InputMode.TENSORFLOW, log_dir: Optional[str] = None,
            driver_ps_nodes: bool = False, master_node: Optional[str] = None, reservation_timeout: float = 600,
            queues: Sequence[str] = ("input", "output", "error"), eval_node: bool = False, release_port: bool = True,
            *, place: str = _place.AUTO, job: Optional[Mapping[str, Value]] = None) -> TFCluster:
    """A cluster whose nodes start with start(map_fun, tf_args): the first half of run(), which has the arguments."""
    del queues, release_port
    if input_mode not in (InputMode.TENSORFLOW, InputMode.SPARK):
        raise ValueError(f"input_mode={input_mode!r} is neither InputMode.TENSORFLOW nor InputMode.SPARK")
    if input_mode == InputMode.SPARK and (driver_ps_nodes or eval_node):
        what = "driver_ps_nodes" if driver_ps_nodes else "eval_node"
        raise ValueError(f"{what}=True needs input_mode=InputMode.TENSORFLOW, as an evaluator or a parameter server of "
                         "the driver is not fed" if driver_ps_nodes else
                         f"{what}=True needs input_mode=InputMode.TENSORFLOW: an evaluator is not fed")
    roles = _roles.count_roles(num_executors + (num_ps if driver_ps_nodes else 0), num_ps, master_node, eval_node)
    return TFCluster(sc, _Settings(roles, tensorboard, input_mode, log_dir, reservation_timeout, place, job or {}))


def run(sc: Any, map_fun: Callable[..., Any], tf_args: Any, num_executors: int, num_ps: int = 0,
        tensorboard: bool = False, input_mode: int = InputMode.TENSORFLOW, log_dir: Optional[str] = None,
        driver_ps_nodes: bool = False, master_node: Optional[str] = None, reservation_timeout: float = 600,
        queues: Sequence[str] = ("input", "output", "error"), eval_node: bool = False, release_port: bool = True,
        *, place: str = _place.AUTO, job: Optional[Mapping[str, Value]] = None) -> TFCluster:
    """Starts map_fun(tf_args, ctx) in `num_executors` nodes; returns when they run.

    sc: a SparkContext, or None. tf_args: anything that can be pickled; a list also becomes the nodes' sys.argv.
    num_executors: nodes of all roles: num_ps parameter servers, one of `master_node` ("chief" or "master"; without one
    TF_CONFIG is not set, as in TensorFlowOnSpark), one evaluator with eval_node, and the rest workers.
    tensorboard: runs TensorBoard on log_dir. driver_ps_nodes: num_ps further nodes, besides num_executors.
    reservation_timeout: seconds until all nodes run. queues, release_port: without effect, as tony has no queues and
    holds each node's port in a way that lets TensorFlow listen on it.
    place: "spark" (in the executors of Spark), "tony" (tasks of this machine or YARN containers) or "auto"
    (docs/spark.md). job: tony's keys, such as {"tony.worker.memory": "4g", "tony.backend": "yarn"}.

    Raises ValueError, CannotPickle, BadJob, NeverFits, TimeoutError, and what map_fun raises meanwhile.
    """
    cluster = reserve(sc, num_executors, num_ps, tensorboard, input_mode, log_dir, driver_ps_nodes, master_node,
                      reservation_timeout, queues, eval_node, release_port, place=place, job=job)
    cluster.start(map_fun, tf_args)
    return cluster
