"""Map functions that cluster_test.py runs in nodes. They lie in a module, as they are pickled by their names."""

import json
import os
import sys


class CityError(Exception):
    """An exception with a place."""


def describe(args, ctx):
    """Writes what this node knows of its cluster into the folder args[0], and serves if it is no worker or chief."""
    told = {"number": ctx.worker_num, "executor_id": ctx.executor_id, "workers": ctx.num_workers,
            "worker_index": ctx.worker_index, "roles": {role: len(nodes) for role, nodes in ctx.cluster_spec.items()},
            "tf_config": json.loads(os.environ["TF_CONFIG"])["task"] if "TF_CONFIG" in os.environ else None,
            "argv": sys.argv, "path": ctx.absolute_path("data")}
    path = os.path.join(args[0], f"{ctx.job_name}-{ctx.task_index}")
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(told, file)
    os.rename(path + ".part", path)
    if ctx.job_name in ("ps", "evaluator"):
        wait_for_ever(args)
    while ctx.job_name == "chief" and len([name for name in os.listdir(args[0]) if "." not in name]) < args[1]:
        pass  # the others may not have been killed before they have written


def wait_for_ever(args):
    """Until it is killed: nobody opens this pipe for writing."""
    with open(args[-1], encoding="utf-8") as never:
        never.read()


def fail_in_worker_1(args, ctx):
    """Raises in one node; the others wait for it."""
    if (ctx.job_name, ctx.task_index) != ("worker", 1):
        wait_for_ever(args)
    raise CityError("Ulm")


def wait(args, _ctx):
    """Never ends."""
    wait_for_ever(args)


def number_and(args, ctx):
    """What an instance of TFParallel returns."""
    return ctx.worker_num, args, "TF_CONFIG" in os.environ
