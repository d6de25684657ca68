"""The flags of TensorFlowOnSpark's announcement, for a program's argument parser.

    parser = argparse.ArgumentParser()
    flags.add_arguments(parser)
    args = parser.parse_args()
    cluster = TFCluster.run(sc, main_fun, args, **flags.run_arguments(args, sc))

--cluster_size, --num_gpus, --num_ps_tasks, --tensorboard and --rdma decide how the cluster is. --sync_replicas and
--replicas_to_aggregate are for the program: main_fun finds them in its arguments.
"""

import argparse
from typing import Any, Dict, Optional

from ._roles import MASTERS, WORKER

_TRUE, _FALSE = ("true", "t", "yes", "1"), ("false", "f", "no", "0")


def _boolean(text: str) -> bool:
    """As TensorFlow's own flags have it: --name, --name=true, --name=false."""
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


def _count(least: int) -> Any:
    def parse(text: str) -> int:
        if not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} on")
        return int(text)
    return parse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags to a parser. A boolean one may stand alone or have a value: --rdma, --rdma=false."""
    group = parser.add_argument_group("cluster")
    group.add_argument("--cluster_size", type=_count(1), metavar="N",
                       help="nodes of all roles; unless given, as many as Spark has executors, or 1 without Spark")
    group.add_argument("--num_gpus", type=_count(0), default=0, metavar="N", help="GPUs of each node that trains")
    group.add_argument("--num_ps_tasks", type=_count(0), default=0, metavar="N", help="parameter servers among the nodes")
    group.add_argument("--replicas_to_aggregate", type=_count(1), metavar="N",
                       help="gradients that are averaged for a step of synchronous training; unless given, all workers'")
    for name, text in (("sync_replicas", "train synchronously"), ("tensorboard", "run TensorBoard"),
                       ("rdma", "fail where there is no adapter for RDMA (docs/rdma.md)")):
        group.add_argument(f"--{name}", type=_boolean, nargs="?", const=True, default=False, metavar="true|false", help=text)


def _cluster_size(sc: Any) -> int:
    """How many executors the SparkContext was asked for; 1 if that is not known."""
    return int(sc.getConf().get("spark.executor.instances", "1")) if sc is not None else 1


def run_arguments(args: argparse.Namespace, sc: Any = None, master_node: Optional[str] = None) -> Dict[str, Any]:
    """The keyword arguments of TFCluster.run() that the flags stand for. `sc`: a SparkContext, or None."""
    job: Dict[str, str] = {}
    if args.num_gpus:
        for role in (WORKER, *((master_node,) if master_node in MASTERS else ())):
            job[f"tony.{role}.gpus"] = str(args.num_gpus)
    if args.rdma:
        job["tony.application.rdma"] = "true"
    return {"num_executors": args.cluster_size or _cluster_size(sc), "num_ps": args.num_ps_tasks,
            "tensorboard": args.tensorboard, "master_node": master_node, "job": job}
