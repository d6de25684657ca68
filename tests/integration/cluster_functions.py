"""Map functions that cluster_test.py runs in nodes. They lie in a module, as they are pickled by their names."""

import json
import os
import pickle
import signal
import socket
import sys
import time


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
        time.sleep(0.01)  # the others may not have been killed before they have written


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


def keep(args, ctx, name, values):
    """Leaves values for the test, in the folder args[0]."""
    path = os.path.join(args[0], f"{name}-{ctx.task_index}")
    with open(path, "wb") as file:
        pickle.dump(values, file)


def take_rows(args, ctx):
    """Keeps all rows that it is fed."""
    feed = ctx.get_data_feed()
    rows = []
    while not feed.should_stop():
        rows += feed.next_batch(100)
    keep(args, ctx, "rows", rows)


def take_arrays(args, ctx):
    """Keeps the sizes of all batches of arrays, and each field's sum."""
    feed = ctx.get_data_feed()
    sizes, sums = [], 0
    arrays = feed.next_numpy(64)
    while arrays is not None:
        images, labels = arrays if isinstance(arrays, tuple) else arrays.values()
        sizes.append((images.shape, str(images.dtype), labels.shape))
        sums += images.sum(dtype="f8") + labels.sum()
        arrays = feed.next_numpy(64)
    keep(args, ctx, "arrays", (sizes, sums))


def double(_args, ctx):
    """Answers each row with its double."""
    feed = ctx.get_data_feed(train_mode=False)
    while not feed.should_stop():
        batch = feed.next_batch(37)
        if batch:
            feed.batch_results([2 * row for row in batch])


def answer_one_too_few(_args, ctx):
    """Leaves one row without a result."""
    feed = ctx.get_data_feed(train_mode=False)
    feed.batch_results(feed.next_batch(1000)[1:])
    feed.next_batch(1000)


def answer_one_too_many(_args, ctx):
    """Answers more than there is."""
    feed = ctx.get_data_feed(train_mode=False)
    feed.batch_results([*feed.next_batch(1000), 0])


def stop_early(args, ctx):
    """Wants ten rows only; what the feed says afterwards is kept."""
    feed = ctx.get_data_feed()
    rows = len(feed.next_batch(10))
    feed.terminate()
    keep(args, ctx, "rows", (rows, feed.next_batch(1), feed.should_stop()))


def fail_when_told(args, _ctx):
    """Raises when the pipe args[1] has a writer."""
    with open(args[1], encoding="utf-8"):
        raise CityError("Ulm")


def fail_while_fed(_args, ctx):
    """Raises after its first rows."""
    ctx.get_data_feed().next_batch(10)
    raise CityError("Ulm")


def die_while_fed(_args, ctx):
    """Is killed after its first rows."""
    ctx.get_data_feed().next_batch(10)
    os.kill(os.getpid(), signal.SIGKILL)


def leave_early(args, ctx):
    """One node ends well after its first rows; the other one keeps all rows."""
    if ctx.task_index == 0:
        ctx.get_data_feed().next_batch(10)
    else:
        take_rows(args, ctx)


def fail_early(args, ctx):
    """One node fails after its first rows; the first one, as whose the job ends, keeps all rows."""
    if ctx.task_index == 1:
        fail_while_fed(args, ctx)
    take_rows(args, ctx)


def count_runs(args):
    """The number of this node's runs, with this one. For a single node."""
    with open(args[0] + "-runs", "a+", encoding="utf-8") as file:
        file.write("x")
        file.flush()
        file.seek(0)
        return len(file.read())


def die_twice(args, ctx):
    """Is killed after its first rows in two runs; keeps all rows in the third one."""
    if count_runs(args) <= 2:
        die_while_fed(args, ctx)
    take_rows(args, ctx)


def lose_container_once(args, ctx):
    """Kills its tony-executor after the first rows; keeps all rows when it is started in another container."""
    if count_runs(args) == 1:
        ctx.get_data_feed().next_batch(10)
        os.kill(executor_above(os.getpid()), signal.SIGKILL)
        signal.pause()
    take_rows(args, ctx)


def lose_spark_executor_once(args, ctx):
    """Kills the JVM in which its node is, after the first rows; keeps all rows when it is started again."""
    if count_runs(args) == 1:
        ctx.get_data_feed().next_batch(10)
        with open(f"/proc/{executor_above(os.getpid())}/cmdline", encoding="utf-8") as file:
            (jvm,) = [word.partition("=")[2] for word in file.read().split("\0") if word.startswith("--tied-to-pid=")]
        os.kill(int(jvm), signal.SIGKILL)
        signal.pause()
    take_rows(args, ctx)


def take_rows_behind_a_gate(args, ctx):
    """Takes its first rows, says so in the pipe args[1], and takes the others when somebody has written into args[2]."""
    feed = ctx.get_data_feed()
    rows = feed.next_batch(10)
    with open(args[1], "w", encoding="utf-8") as told:
        told.write("fed\n")
    with open(args[2], encoding="utf-8") as gate:
        gate.readline()
    while not feed.should_stop():
        rows += feed.next_batch(100)
    keep(args, ctx, "rows", rows)


def executor_above(pid):
    """The process of tony-executor that has started this one."""
    while True:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            name, rest = file.read().rsplit(")", 1)
        if name.endswith("(tony-executor"):
            return pid
        pid = int(rest.split()[1])


def train_in_step(args, ctx):
    """Makes each step only when all nodes have rows for it, which the test behind the socket args[1] knows."""
    feed = ctx.get_data_feed()
    rows = []
    with socket.socket(socket.AF_UNIX) as others:
        others.settimeout(60)
        others.connect(args[1])
        while not feed.should_stop():
            batch = feed.next_batch(7)
            if batch:
                others.sendall(b"x")
                if others.recv(1) != b"x":
                    raise CityError("others have no rows for this step")
                rows += [number for number, _ in batch]
    keep(args, ctx, "rows", rows)


def die_once_in_node_1(args, ctx):
    """One of two nodes is killed after its first rows; both keep all rows of their last run."""
    if ctx.task_index == 1 and count_runs(args) == 1:
        die_while_fed(args, ctx)
    take_rows(args, ctx)


def take_two_feeds(args, ctx):
    """Keeps the rows of two feeds, read alternately."""
    feeds = [ctx.get_data_feed(qname_in="train"), ctx.get_data_feed(qname_in="validation")]
    rows = [[], []]
    while not all(feed.should_stop() for feed in feeds):
        for feed, taken in zip(feeds, rows):
            if not feed.should_stop():
                taken += feed.next_batch(10)
    keep(args, ctx, "rows", rows)


def take_one_feed_after_the_other(args, ctx):
    """Keeps the rows of two feeds; reads the first one to its end before it begins the second."""
    rows = []
    for name in ("input", "validation"):
        feed = ctx.get_data_feed(qname_in=name)
        while not feed.should_stop():
            rows += feed.next_batch(100)
    keep(args, ctx, "rows", rows)


def take_until_200(args, ctx):
    """Keeps 200 rows, then wants no more."""
    feed = ctx.get_data_feed()
    rows = []
    while len(rows) < 200 and not feed.should_stop():
        rows += feed.next_batch(200 - len(rows))
    feed.terminate()
    keep(args, ctx, "rows", rows)


def keep_columns(args, ctx):
    """Keeps the columns of an estimator's feed, as rows of (y, x)."""
    feed = ctx.get_data_feed(input_mapping=args.input_mapping)
    rows = []
    while not feed.should_stop():
        batch = feed.next_batch(args.batch_size)
        rows += zip(batch["y"], batch["x"])
    keep([args.folder], ctx, "rows", rows)
