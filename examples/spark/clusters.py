"""What the programs have in common in the driver: flags, data, the cluster of nodes, inference, and the check.

A program is a module with the names and functions of mnist.py. The nodes' part is in the module that it calls NODES:
train(args, ctx), predict_feed(args, ctx) and, for programs that read files, predict_files(args, ctx, files). Only that
module imports TensorFlow, or PyTorch: the driver and Spark's executors need neither.
"""

import argparse
import importlib
import json
import math
import os
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "common"))

import storage
from tony.cluster import TFCluster, TFParallel, flags, util

CLASSES = 10


def make_parser(name, description):
    """The parser with the flags of all programs: the announcement's, and those of the training."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--spark", action="store_true", help="Spark holds the data: for spark-submit")
    add("--input_mode", choices=("tensorflow", "spark"), default="tensorflow",
        help="tensorflow: the nodes read files; spark: they are fed, by Spark or, without --spark, by this program")
    add("--place", choices=("auto", "tony", "spark"), default="auto", help="where the nodes run (docs/spark.md)")
    add("--memory", help="of each node; unless given, 2g, and 6g with --full")
    add("--steps", type=int, help="global steps in all")
    add("--batch_size", type=int, help="pictures of a global step")
    add("--images", type=int, help="pictures for training, where there are none yet")
    add("--checkpoint_every", type=int, default=20, metavar="STEPS")
    add("--seed", type=int, default=1)
    add("--data_dir", help="with train/ and test/; it is filled if it is not there")
    add("--model_dir", help="for checkpoints; a training goes on from the last one")
    add("--export_dir", help="for the trained model; unless given, in model_dir")
    add("--cut_exchange", action="store_true", help="each node trains alone: only to see the check fail")
    add("--slow_step_seconds", type=float, default=0.0, help="sleep in each step, to watch or kill")
    flags.add_arguments(parser)
    parser.set_defaults(program=name)
    return parser


def complete(parser, args, program):
    """Fills in what depends on other flags, and refuses what does not go together."""
    args.size = program.FULL_SIZE if args.full else program.SIZE
    args.images = args.images or program.IMAGES
    # Gradients that come too late teach less.
    args.steps = args.steps or (3 * program.STEPS if args.num_ps_tasks else program.STEPS)
    args.batch_size = args.batch_size or program.BATCH_SIZE
    args.memory = args.memory or ("6g" if args.full else "2g")
    args.cluster_size = args.cluster_size or (3 + args.num_ps_tasks if args.num_ps_tasks else 2)
    kind = args.program + ("-full" if args.full else "")
    args.data_dir = os.path.abspath(args.data_dir or os.path.join("data", kind))
    args.model_dir = os.path.abspath(args.model_dir or os.path.join("models", kind))
    args.export_dir = os.path.abspath(args.export_dir or os.path.join(args.model_dir, "export"))
    args.workers = args.cluster_size - args.num_ps_tasks - (1 if args.num_ps_tasks else 0)
    if program.FRAMEWORK == "pytorch" and (args.num_ps_tasks or args.input_mode == "tensorflow"):
        parser.error("--num_ps_tasks, --input_mode=tensorflow: this program is fed, and has no parameter servers")
    if args.num_ps_tasks and args.input_mode == "spark":
        parser.error("--num_ps_tasks with --input_mode=spark: workers of TensorFlow 2's ParameterServerStrategy run "
                     "graphs of the chief, which cannot call the Python that reads a worker's feed. Let the nodes read "
                     "files (--input_mode=tensorflow), or train synchronously (--num_ps_tasks=0)")
    if args.num_ps_tasks and (args.sync_replicas or args.replicas_to_aggregate):
        parser.error("--sync_replicas, --replicas_to_aggregate with --num_ps_tasks: TensorFlow 2's parameter servers "
                     "are asynchronous. Synchronous training has none: --num_ps_tasks=0")
    if args.replicas_to_aggregate not in (None, args.workers):
        parser.error(f"--replicas_to_aggregate={args.replicas_to_aggregate}: TensorFlow 2 averages the gradients of "
                     f"all {args.workers} workers")
    if not 1 <= args.workers <= CLASSES:
        parser.error(f"--cluster_size={args.cluster_size}: {args.workers} workers; there have to be 1 to {CLASSES}, as "
                     "there is a file for each class")
    if args.batch_size % args.workers:
        parser.error(f"--batch_size={args.batch_size} does not divide by {args.workers} workers")
    if args.cut_exchange and os.path.exists(os.path.join(args.model_dir, "checkpoint.npz")):
        parser.error(f"--cut_exchange needs a --model_dir without a checkpoint: {args.model_dir} has one")


def spark_context(args):
    """The SparkContext; None without --spark. Spark's executors, which lack this folder, get its functions by value."""
    if not args.spark:
        return None
    from pyspark import SparkConf, SparkContext, cloudpickle

    for module in list(sys.modules.values()):
        if pathlib.Path(getattr(module, "__file__", None) or "/").parent == pathlib.Path(__file__).parent:
            cloudpickle.register_pickle_by_value(module)
    return SparkContext(conf=SparkConf().setAppName(args.program))


def files(args, part):
    """(path, bytes) of the files for training or for the test."""
    folder = os.path.join(args.data_dir, part)
    return [(entry.path, entry.stat().st_size) for entry in os.scandir(folder) if not entry.name.startswith((".", "_"))]


def paths(args, part):
    """The paths of those files, in order."""
    return sorted(path for path, _ in files(args, part))


def training_rows(args, program, sc):
    """What the nodes are fed with: an RDD, or a list.

    Partition N goes to worker N modulo their number. So each worker gets the classes that it would also read from
    files, in a random order.
    """
    workers, seed = args.workers, args.seed

    def shuffled(rows):
        import random

        rows = sorted(rows, key=lambda row: (row[1], row[0]))  # Spark may have fetched them in another order
        random.Random(seed).shuffle(rows)
        return rows

    if sc is not None:
        by_worker = program.rdd(sc, os.path.join(args.data_dir, "train")).map(lambda row: (row[1] % workers, row))
        return by_worker.partitionBy(workers, lambda worker: worker).values().mapPartitions(shuffled)
    rows = shuffled(program.rows(paths(args, "train")))
    return sorted(rows, key=lambda row: row[1] % workers)


def nodes_of(args):
    """The module with the nodes' part."""
    return importlib.import_module(importlib.import_module(args.program).NODES)


def train_node(args, ctx):
    """The program of a node that trains, or serves its training."""
    nodes_of(args).train(args, ctx)


def feed_predictions_node(args, ctx):
    """The program of a node that answers each row (picture, label) that it is fed with (class, label)."""
    nodes_of(args).predict_feed(args, ctx)


def file_predictions_node(args, ctx):
    """The program of an instance that classifies its share of the test's files."""
    nodes_of(args).predict_files(args, ctx, util.shard_files(files(args, "test"), ctx))


def job_of(args, program, *roles):
    """tony's keys for nodes of these roles."""
    keys = {f"tony.{role}.memory": args.memory for role in roles}
    return {**keys, "tony.application.framework": program.FRAMEWORK, "tony.am.retry-count": 2,
            "tony.execution.envs": "TF_CPP_MIN_LOG_LEVEL=2"}


def train(args, program, sc):
    """Runs the training to its end; raises what a node raises."""
    settings = flags.run_arguments(args, sc, master_node="chief" if program.FRAMEWORK == "tensorflow" else None)
    settings["job"].update(job_of(args, program, "ps", "chief", "worker"))
    fed = args.input_mode == "spark"
    cluster = TFCluster.run(sc, train_node, args, input_mode=TFCluster.InputMode.SPARK if fed else
                            TFCluster.InputMode.TENSORFLOW, log_dir=args.model_dir, place=args.place, **settings)
    if fed:
        cluster.train(training_rows(args, program, sc), math.ceil(args.steps * args.batch_size / args.images))
    cluster.shutdown()
    if args.num_ps_tasks:
        os.remove(done_file(args, cluster.nodes.job.id))


def done_file(args, job_id):
    """The file by which the chief tells workers of parameter servers that it is done."""
    return os.path.join(args.model_dir, f"done-{job_id}")


def predictions(args, program, sc):
    """(class, label) of the test's pictures, by the exported model in several nodes."""
    job = job_of(args, program, "worker")
    if args.input_mode == "tensorflow":
        TFParallel.run(sc, file_predictions_node, args, args.workers, place=args.place, job=job)
        return [pair for worker in range(args.workers) for pair in left_by(args, f"predictions-{worker}")]
    cluster = TFCluster.run(sc, feed_predictions_node, args, args.workers, input_mode=TFCluster.InputMode.SPARK,
                            place=args.place, job=job)
    if sc is None:
        pairs = list(cluster.inference(program.rows(paths(args, "test"))))
    else:
        pairs = cluster.inference(program.rdd(sc, os.path.join(args.data_dir, "test"))).collect()
    cluster.shutdown()
    return pairs


def leave(args, name, value):
    """Leaves a value for the driver."""
    storage.write(os.path.join(args.model_dir, f"{name}.json"), json.dumps(value).encode())


def left_by(args, name):
    """What a node has left."""
    return json.loads(storage.read(os.path.join(args.model_dir, f"{name}.json")))


def check(args, nodes, pairs, least):
    """Prints whether the nodes trained as one, and well; returns the program's exit code.

    nodes: what each node that trained has left: the `digest` of its variables, and the `devices` where they are.
    pairs: (class, label) of the test's pictures. least: the accuracy that is wanted.
    """
    accuracy = sum(found == label for found, label in pairs) / max(1, len(pairs))
    print(f"test accuracy: {accuracy:.3f}", flush=True)
    wrong = []
    if args.num_ps_tasks and not all("/job:ps/" in device for node in nodes for device in node["devices"]):
        wrong.append("the variables are not on the parameter servers")
    if len({node["digest"] for node in nodes}) != 1:
        wrong.append("the workers have ended with different weights")
    if accuracy < least:
        wrong.append(f"the accuracy is below {least}")
    print("check: FAILED: " + ", and ".join(wrong) if wrong else "check: PASSED", flush=True)
    return 1 if wrong else 0


def main(name, description):
    """Writes the data, trains, exports, infers and checks. `name`: the program's module. Returns the exit code."""
    program = importlib.import_module(name)
    parser = make_parser(name, description)
    if program.FRAMEWORK == "tensorflow":
        parser.add_argument("--full", action="store_true", help="the network in its full size")
    else:
        parser.set_defaults(full=False, input_mode="spark")
    args = parser.parse_args()
    complete(parser, args, program)
    if not os.path.exists(args.data_dir):
        program.write(args.data_dir + ".part", args.images, args.size)
        os.rename(args.data_dir + ".part", args.data_dir)
    os.makedirs(args.model_dir, exist_ok=True)
    sc = spark_context(args)
    train(args, program, sc)
    nodes = [left_by(args, f"node-{number}") for number in range(1 if args.num_ps_tasks else args.workers)]
    pairs = predictions(args, program, sc)
    if sc is not None:
        sc.stop()
    return check(args, nodes, pairs, program.ACCURACY)
