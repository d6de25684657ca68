"""Small helpers for the programs of nodes, by TensorFlowOnSpark's names, and shards of files by size."""

import os
import socket
import subprocess
from typing import Iterable, List, Optional, Sequence, Tuple

from . import TFNode

_HADOOP_SECONDS = 60


def get_ip_address() -> str:
    """The address by which this host reaches others; 127.0.0.1 without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address of documentation (RFC 5737): no packet is sent
        except OSError:
            return "127.0.0.1"
        address: str = probe.getsockname()[0]
        return address


def find_in_path(path: str, file: str) -> str:
    """The first file of this name in the folders of `path`, which ":" separates; "" if there is none."""
    for folder in path.split(os.pathsep):
        candidate = os.path.join(folder, file)
        if os.path.isfile(candidate):
            return candidate
    return ""


def expand_hadoop_classpath() -> None:
    """Sets CLASSPATH to Hadoop's jars one by one: libhdfs starts a JVM that does not understand wildcards.

    Without HADOOP_HOME (or HADOOP_PREFIX, HADOOP_HDFS_HOME), or with a CLASSPATH that has no wildcard, nothing changes.
    """
    before = os.environ.get("CLASSPATH", "")
    if before and "*" not in before:
        return
    for name in ("HADOOP_HOME", "HADOOP_PREFIX", "HADOOP_HDFS_HOME"):
        program = os.path.join(os.environ.get(name, ""), "bin", "hadoop")
        if os.environ.get(name) and os.access(program, os.X_OK):
            listing = subprocess.run([program, "classpath", "--glob"], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=_HADOOP_SECONDS, check=False)
            if listing.returncode == 0 and listing.stdout.strip():
                os.environ["CLASSPATH"] = listing.stdout.strip()
                return


def single_node_env(num_gpus: int = -1, worker_index: int = -1, nodes: Sequence[str] = ()) -> None:
    """Prepares the environment of a process whose TensorFlow is alone: no TF_CONFIG, Hadoop's jars, its GPUs.

    num_gpus: 0 hides all GPUs; other values leave those that tony or Spark gave to this process. worker_index, nodes:
    TensorFlowOnSpark's, without effect, as GPUs are leased by tony.
    """
    del worker_index, nodes
    os.environ.pop("TF_CONFIG", None)
    expand_hadoop_classpath()
    if num_gpus == 0:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


def shard_files(files: Iterable[Tuple[str, int]], ctx: "Optional[TFNode.Context]" = None, *,
                num_workers: Optional[int] = None, index: Optional[int] = None) -> List[str]:
    """The files that this node reads, so that all nodes that train have about as many bytes.

    files: (path, size in bytes), the same for all nodes, in any order. ctx: the node's; or num_workers, index.
    The largest file first, always to the node with the least bytes (longest processing time first, Graham 1969): no
    node has more than 4/3 of the least possible maximum.
    """
    if ctx is not None:
        num_workers, index = ctx.num_workers, ctx.worker_index
    if num_workers is None or index is None:
        raise ValueError("shard_files needs ctx, or num_workers and index")
    if not 0 <= index < num_workers:
        raise ValueError(f"index={index} is none of {num_workers} workers")
    loads = [0] * num_workers
    mine: List[str] = []
    for path, size in sorted(files, key=lambda file: (-file[1], file[0])):
        lightest = loads.index(min(loads))
        loads[lightest] += size
        if lightest == index:
            mine.append(path)
    return mine
