"""What the program of a node uses: paths, and the data that it is fed. The names are TensorFlowOnSpark's."""
# pylint: disable=invalid-name  # TensorFlowOnSpark's names

import getpass
import logging
from typing import Any, Dict, List, NoReturn, Optional, Union

from ._datafeed import DataFeed as DataFeed
from .TFManager import TFManager

_log = logging.getLogger(__name__)

# Paths of these schemes are complete.
_SCHEMES = ("adl://", "file://", "gs://", "hdfs://", "oss://", "s3://", "s3a://", "s3n://", "swift://", "viewfs://",
            "wasb://")
# Whose relative paths begin in the user's home folder.
_WITH_HOMES = ("hdfs://", "viewfs://")


def _version_1_only(what: str) -> NoReturn:
    raise RuntimeError(f"{what} is of TensorFlow 1; with TensorFlow 2 use a tf.distribute strategy, which reads "
                       "TF_CONFIG, and compat.export_saved_model")


class Context:
    """What a node's program knows of its cluster: the `ctx` of map_fun(args, ctx).

    executor_id, worker_num: the node's number among all, from 0. job_name, task_index: its role, and its index there.
    cluster_spec: the addresses "HOST:PORT" of all nodes by role. num_workers: how many nodes train. worker_index: this
    node's index among those, from 0; -1 for others. defaultFS, working_dir: for paths. mgr: for DataFeed.
    """

    def __init__(self, executor_id: int = 0, job_name: str = "", task_index: int = 0,
                 cluster_spec: Optional[Dict[str, List[str]]] = None, defaultFS: str = "file://",
                 working_dir: str = ".", mgr: Optional[TFManager] = None) -> None:
        self.worker_num = executor_id  # the older of TensorFlowOnSpark's two names
        self.executor_id = executor_id
        self.job_name = job_name
        self.task_index = task_index
        self.cluster_spec: Dict[str, List[str]] = cluster_spec or {}
        self.defaultFS = defaultFS
        self.working_dir = working_dir
        self.mgr = mgr if mgr is not None else TFManager()
        self.user_name = getpass.getuser()
        self.tmp_socket = None  # tony holds the node's port itself, until TensorFlow listens on it
        training = [(role, index) for role in ("chief", "master", "worker")
                    for index in range(len(self.cluster_spec.get(role, [])))]
        self.num_workers = len(training)
        self.worker_index = training.index((job_name, task_index)) if (job_name, task_index) in training else -1

    def absolute_path(self, path: str) -> str:
        """As hdfs_path()."""
        return hdfs_path(self, path)

    def get_data_feed(self, train_mode: bool = True, qname_in: str = "input", qname_out: str = "output",
                      input_mapping: Optional[Dict[str, str]] = None) -> DataFeed:
        """The feed of this name (DataFeed)."""
        return DataFeed(self.mgr, train_mode, qname_in, qname_out, input_mapping)

    def release_port(self) -> None:
        """Does nothing: tony's reservation of the port does not hinder a server that listens with SO_REUSEPORT."""

    def start_cluster_server(self, num_gpus: int = 1, rdma: bool = False) -> NoReturn:
        """Raises RuntimeError: there are no such servers in TensorFlow 2."""
        del num_gpus, rdma
        _version_1_only("start_cluster_server")

    def export_saved_model(self, *_arguments: Any, **_keywords: Any) -> NoReturn:
        """Raises RuntimeError: see compat.export_saved_model."""
        _version_1_only("export_saved_model")


def hdfs_path(ctx: Context, path: Union[str, "Any"]) -> str:
    """The path with its file system: as it is with a scheme, else below ctx.defaultFS.

    A relative path begins in the user's home folder on HDFS, and in the working folder of the program that started the
    cluster on the local file system.
    """
    path = str(path)
    if path.startswith(_SCHEMES):
        return path
    if path.startswith("/"):
        return ctx.defaultFS + path
    if ctx.defaultFS.startswith(_WITH_HOMES):
        return f"{ctx.defaultFS}/user/{ctx.user_name}/{path}"
    if ctx.defaultFS.startswith("file://"):
        return f"{ctx.defaultFS}/{ctx.working_dir[1:]}/{path}"
    _log.warning("the relative path %s begins in the root folder of %s", path, ctx.defaultFS)
    return f"{ctx.defaultFS}/{path}"


def start_cluster_server(ctx: Context, num_gpus: int = 1, rdma: bool = False) -> NoReturn:
    """Raises RuntimeError: there are no such servers in TensorFlow 2."""
    del ctx, num_gpus, rdma
    _version_1_only("start_cluster_server")


def export_saved_model(*_arguments: Any, **_keywords: Any) -> NoReturn:
    """Raises RuntimeError: see compat.export_saved_model."""
    _version_1_only("export_saved_model")


def next_batch(mgr: TFManager, batch_size: int, qname: str = "input") -> List[Any]:
    """As DataFeed(mgr, qname_in=qname).next_batch(batch_size): TensorFlowOnSpark's older form."""
    return list(DataFeed(mgr, qname_in=qname).next_batch(batch_size))


def terminate(mgr: TFManager, qname: str = "input") -> None:
    """As DataFeed(mgr, qname_in=qname).terminate(): TensorFlowOnSpark's older form."""
    DataFeed(mgr, qname_in=qname).terminate()
