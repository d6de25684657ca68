"""A node of a cluster, in its own process: makes the `ctx` from what tony tells its tasks, and calls map_fun.

It is the function of the job that TFCluster.run() submits (tony.worker calls it).
"""

import json
import os
import sys
from typing import Any, Callable, Dict, NamedTuple

from . import util
from ._roles import MASTERS
from .TFNode import Context


class Plan(NamedTuple):
    """What all nodes of a cluster have in common."""

    first: Dict[str, int]  # the number of each role's first node
    default_fs: str
    working_dir: str  # of the program that started the cluster


def context(plan: Plan, environment: Dict[str, str]) -> Context:
    """The ctx of the node with this environment."""
    role, index = environment["JOB_NAME"], int(environment["TASK_INDEX"])
    # A framework other than TensorFlow may have no addresses for its tasks.
    spec = json.loads(environment.get("CLUSTER_SPEC") or "{}")
    return Context(executor_id=plan.first[role] + index, job_name=role, task_index=index, cluster_spec=spec,
                   defaultFS=plan.default_fs, working_dir=plan.working_dir)


def run(map_fun: Callable[[Any, Context], Any], tf_args: Any, plan: Plan) -> Any:
    """Calls map_fun(tf_args, ctx), and returns what it returns."""
    # As TensorFlowOnSpark: without a chief, TensorFlow's nodes know nothing of each other.
    if not any(role in MASTERS for role in plan.first):
        os.environ.pop("TF_CONFIG", None)
    util.expand_hadoop_classpath()
    if isinstance(tf_args, list):
        sys.argv = tf_args
    return map_fun(tf_args, context(plan, dict(os.environ)))


def run_alone(map_fun: Callable[[Any, Context], Any], tf_args: Any, plan: Plan) -> Any:
    """Calls map_fun(tf_args, ctx) for an instance of TFParallel, whose TensorFlow is alone."""
    util.single_node_env()
    return run(map_fun, tf_args, plan)
