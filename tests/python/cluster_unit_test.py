#!/usr/bin/env python3
"""The parts of tony.cluster that need no job: roles, paths, places, and TensorFlowOnSpark's names."""

import fcntl
import hashlib
import inspect
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import types
import unittest
from unittest import mock

from tony import _launcher
from tony.cluster import (TFCluster, TFNode, TFParallel, TFSparkNode, _even, _frames, _node, _paths, _place, _producer,
                          _roles, _sources, _spark, _spark_place, _spark_task, util)


class RolesTest(unittest.TestCase):
    """Which node has which role."""

    def test_order_and_numbers(self):
        nodes = _roles.nodes_of(_roles.count_roles(6, 2, "chief", True))
        self.assertEqual([(node.number, node.task) for node in nodes], [
            (0, "ps:0"), (1, "ps:1"), (2, "chief:0"), (3, "evaluator:0"), (4, "worker:0"), (5, "worker:1")])
        self.assertEqual([node.task for node in _roles.trained_by(nodes)], ["chief:0", "worker:0", "worker:1"])

    def test_numbers_that_do_not_fit(self):
        for arguments, text in (((0,), "one node or more"), ((2, -1), "negative"), ((3, 1, "boss"), "chief and master"),
                                ((2, 2, "chief"), "too few nodes for 2 ps, 1 chief; give 3 or more"),
                                ((2, 2), "none would train")):
            with self.assertRaisesRegex(ValueError, text):
                _roles.count_roles(*arguments)
        self.assertEqual(_roles.count_roles(1, 0, "master"), {"master": 1})

    def test_evaluators_are_not_fed(self):
        with self.assertRaisesRegex(ValueError, "eval_node=True needs input_mode=InputMode.TENSORFLOW"):
            TFCluster.reserve(None, 3, eval_node=True, input_mode=TFCluster.InputMode.SPARK)
        with self.assertRaisesRegex(ValueError, "input_mode=7 is neither"):
            TFCluster.reserve(None, 3, input_mode=7)


class EvenTest(unittest.TestCase):
    """Rows that nodes share."""

    @staticmethod
    def rows_of(pieces):
        """The rows of pieces, in lists."""
        return [[row for part in piece for row in part.rows] for piece in pieces]

    def test_partitions_are_multiples_but_the_last(self):
        for lengths, told in (((6, 3), [6, 3]), ((7, 5, 1), [6, 3, 3, 1]), ((1, 1), [2]), ((0,), []), ((4, 4), [3, 3, 2])):
            start, partitions = 0, []
            for length in lengths:
                partitions.append(_sources.RowsPartition(list(range(start, start + length))))
                start += length
            found = self.rows_of(_even.rounded(partitions, 3))
            self.assertEqual([len(rows) for rows in found], told)
            self.assertEqual(sorted(sum(found, [])), list(range(start)))

    def test_pieces_are_taken_in_their_order(self):
        source = _even.PieceSource(_sources.RowsPartition(rows) for rows in ([1, 2, 3], [], [4]))
        taken = [source.take(2) for _ in range(4)]
        self.assertEqual([piece and piece.rows for piece in taken], [[1, 2], [3], [4], None])

    def test_all_nodes_have_to_be_there(self):
        endpoint = _producer.Endpoint("worker:1", "here", "", 1, "container")
        endpoints = _producer.Endpoints("job_1", "", "", (endpoint,))
        self.assertEqual(_even.Even("drop", ("worker:1",)).choose(endpoints), [endpoint])
        with self.assertRaisesRegex(_frames.NodeUnavailable, "worker:0, worker:2 of job job_1 cannot be fed now"):
            _even.Even("drop", ("worker:0", "worker:1", "worker:2")).choose(endpoints)


class NamesTest(unittest.TestCase):
    """TensorFlowOnSpark's parameters, in its order."""

    def test_parameters(self):
        told = {TFCluster.run: "sc map_fun tf_args num_executors num_ps tensorboard input_mode log_dir driver_ps_nodes "
                               "master_node reservation_timeout queues eval_node release_port",
                TFParallel.run: "sc map_fn tf_args num_executors use_barrier",
                TFNode.DataFeed: "mgr train_mode qname_in qname_out input_mapping",
                TFCluster.TFCluster.shutdown: "self ssc grace_secs timeout",
                TFSparkNode.TFNodeContext: "executor_id job_name task_index cluster_spec defaultFS working_dir mgr"}
        for function, names in told.items():
            self.assertEqual(list(inspect.signature(function).parameters)[:len(names.split())], names.split())


class PathsTest(unittest.TestCase):
    """Paths of a node's program."""

    def test_hdfs_path(self):
        ctx = TFNode.Context(defaultFS="hdfs://nn:8020", working_dir="/home/me")
        ctx.user_name = "me"
        self.assertEqual(ctx.absolute_path("s3a://bucket/x"), "s3a://bucket/x")
        self.assertEqual(ctx.absolute_path("/x"), "hdfs://nn:8020/x")
        self.assertEqual(ctx.absolute_path("x"), "hdfs://nn:8020/user/me/x")
        ctx.defaultFS = "file://"
        self.assertEqual(ctx.absolute_path("/x"), "file:///x")
        self.assertEqual(ctx.absolute_path("x"), "file:///home/me/x")

    def test_default_file_system(self):
        with tempfile.TemporaryDirectory(prefix="tony-test-") as folder, \
                mock.patch.dict(os.environ, {"HADOOP_CONF_DIR": folder}):
            self.assertEqual(_paths.default_fs(None), "file://")
            (pathlib.Path(folder) / "core-site.xml").write_text(
                "<configuration><property><name>fs.defaultFS</name><value>hdfs://nn:8020/</value></property>"
                "</configuration>", encoding="utf-8")
            self.assertEqual(_paths.default_fs(None), "hdfs://nn:8020")

    def test_shards_of_files(self):
        files = [("a", 50), ("b", 40), ("c", 30), ("d", 30), ("e", 10)]
        shards = [util.shard_files(reversed(files), num_workers=2, index=index) for index in range(2)]
        self.assertEqual(shards, [["a", "d"], ["b", "c", "e"]])
        spec = {"chief": ["h:1"], "ps": ["h:2"], "worker": ["h:3"]}
        ctx = TFNode.Context(job_name="worker", task_index=0, cluster_spec=spec)
        self.assertEqual(util.shard_files(files, ctx), shards[1])
        with self.assertRaisesRegex(ValueError, "index=2 is none of 2 workers"):
            util.shard_files(files, num_workers=2, index=2)


class ContextTest(unittest.TestCase):
    """What a node is told."""

    def test_of_the_environment(self):
        plan = _node.Plan({"ps": 0, "chief": 1, "worker": 2}, "file://", "/w")
        ctx = _node.context(plan, {"JOB_NAME": "worker", "TASK_INDEX": "1",
                                   "CLUSTER_SPEC": '{"ps":["a:1"],"chief":["b:2"],"worker":["c:3","d:4"]}'})
        self.assertEqual((ctx.worker_num, ctx.executor_id, ctx.job_name, ctx.task_index, ctx.num_workers,
                          ctx.worker_index), (3, 3, "worker", 1, 3, 2))

    def test_tensorflow_1_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, "TensorFlow 1"):
            TFNode.Context().start_cluster_server(1)


class SecretsTest(unittest.TestCase):
    """What a log or a traceback must not show."""

    def test_repr(self):
        endpoints = _producer.Endpoints("job-1", "s3cret", "certificate", ())
        order = _spark.TaskOrder(endpoints, "input", 0, 1, False, 60, 0)
        voucher = _launcher.Order("c-1", "worker", 100, 1, 0, "s3cret")
        for value in (endpoints, order, voucher):
            self.assertNotIn("s3cret", repr(value))
        self.assertIn("job-1", repr(order))
        self.assertIn("c-1", repr(voucher))


class KillTest(unittest.TestCase):
    """Killing a node."""

    def check_kill(self):
        """Kills a process, but not another one that has its number."""
        with subprocess.Popen(["sleep", "600"]) as process:
            self.addCleanup(process.kill)
            start = _spark_task.start_of(process.pid)
            _spark_task.kill_process(process.pid, start + 1)
            self.assertIsNone(process.poll())
            _spark_task.kill_process(process.pid, start)
            self.assertEqual(process.poll(), -signal.SIGKILL)

    def test_kill(self):
        self.check_kill()

    def test_kill_with_python_3_8(self):
        if hasattr(os, "pidfd_open"):
            self.addCleanup(setattr, os, "pidfd_open", os.pidfd_open)
            del os.pidfd_open
        self.check_kill()


class BundleTest(unittest.TestCase):
    """The runtime bundle on a host of Spark's."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tony-test-")  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        patch = mock.patch.object(tempfile, "tempdir", folder.name)
        patch.start()
        self.addCleanup(patch.stop)
        self.bundle = self.folder / "bundle.tar.gz"
        (self.folder / "start").write_text("started", encoding="utf-8")
        with tarfile.open(self.bundle, "w:gz") as archive:
            archive.add(self.folder / "start", "tony-runtime/bin/start")
        self.digest = hashlib.sha256(self.bundle.read_bytes()).hexdigest()
        self.own = self.folder / f"tony-spark-{os.getuid()}"

    def program(self):
        """The command. Its bundle is in use until the test's end."""
        settings = _spark_task.Settings(None, "bundle", self.digest, {}, False)
        locks = []
        try:
            return _spark_task.program(settings, locks, lambda _: str(self.bundle))
        finally:
            for lock in locks:
                self.addCleanup(os.close, lock)

    def unpacked(self):
        """The names of the bundles that are unpacked."""
        return [path.name for path in self.own.iterdir() if path.is_dir()]

    def make_other_bundle(self):
        """An unpacked bundle of another version; returns its folder."""
        other = self.own / "runtime-0123456789abcdef"
        (other / "tony-runtime").mkdir(parents=True)
        self.own.chmod(0o700)
        return other

    def test_spark_does_not_unpack_what_is_shipped(self):
        path = _spark_place.bundle_to_ship(str(self.bundle), self.digest)
        self.assertEqual(pathlib.Path(path).suffixes, [".bundle"])
        self.assertEqual(pathlib.Path(path).read_bytes(), self.bundle.read_bytes())
        self.assertEqual(_spark_place.bundle_to_ship(str(self.bundle), self.digest), path)

    def test_is_unpacked_once(self):
        command = self.program()
        self.assertEqual(pathlib.Path(command[0]).read_text(encoding="utf-8"), "started")
        self.bundle.unlink()
        self.assertEqual(self.program(), command)
        self.assertEqual(self.unpacked(), [f"runtime-{self.digest[:16]}"])

    def test_one_of_another_version_goes_unless_it_is_used(self):
        other = self.make_other_bundle()
        with open(f"{other}.lock", "wb") as used:
            fcntl.flock(used, fcntl.LOCK_SH)
            self.program()
            self.assertEqual(len(self.unpacked()), 2)
        shutil.rmtree(self.own / f"runtime-{self.digest[:16]}")
        for left in ("unpacking-abc", "runtime-fedcba9876543210.removed"):  # by processes that were killed
            (self.own / left / "tony-runtime").mkdir(parents=True)
        self.program()
        self.assertEqual(self.unpacked(), [f"runtime-{self.digest[:16]}"])

    def test_another_bundle_is_not_unpacked(self):
        self.bundle.write_bytes(self.bundle.read_bytes()[:-1])
        with self.assertRaisesRegex(RuntimeError, "is not the driver's runtime bundle"):
            self.program()
        self.assertEqual(self.unpacked(), [])

    def test_a_held_lock(self):
        self.own.mkdir(0o700)
        with open(self.own / "runtimes.lock", "wb") as held, \
                mock.patch.object(_spark_task, "_REDEEM_SECONDS", 0.1):
            fcntl.flock(held, fcntl.LOCK_EX)
            with self.assertRaisesRegex(RuntimeError, "is held by another process for 0.1 s"):
                self.program()


class SparkErrorTest(unittest.TestCase):
    """Spark's errors in one line."""

    def test_cause(self):
        error = Exception("An error occurred while calling z:org.PythonRDD.collectAndServe.\n"
                          ": org.apache.spark.SparkException: Job 3 cancelled\n\tat org.Here\n")
        self.assertEqual(_spark_place.cause_of(error), "org.apache.spark.SparkException: Job 3 cancelled")
        self.assertEqual(_spark_place.cause_of(OSError()), "OSError")

    def test_restart(self):
        lost = Exception(f"Traceback …\n{_frames.__name__}.NodeUnavailable: The program of worker:0 exited")
        self.assertTrue(_spark.is_restart(lost))
        self.assertFalse(_spark.is_restart(Exception(f"{_frames.__name__}.FeedError: NodeUnavailable")))


class PlaceTest(unittest.TestCase):
    """Where nodes run."""

    @staticmethod
    def spark(master, **conf):
        """What is asked of a SparkContext."""
        keys = {name.replace("_", "."): value for name, value in conf.items()}
        return types.SimpleNamespace(master=master, getConf=lambda: keys, pythonExec="/py")

    def test_choice(self):
        cluster = self.spark("spark://h:7077")
        self.assertEqual(_place.choose("auto", None, {}), "tony")
        self.assertEqual(_place.choose("auto", self.spark("local[2]"), {}), "tony")
        self.assertEqual(_place.choose("auto", cluster, {}), "spark")
        self.assertEqual(_place.choose("auto", self.spark("local-cluster[2,1,1024]"), {}), "spark")
        self.assertEqual(_place.choose("auto", cluster, {"tony.backend": "yarn"}), "tony")
        self.assertEqual(_place.choose("tony", cluster, {}), "tony")

    def test_dynamic_allocation(self):
        moving = self.spark("yarn", spark_dynamicAllocation_enabled="true")
        self.assertEqual(_place.choose("auto", moving, {}), "tony")
        with self.assertRaisesRegex(ValueError, "spark.dynamicAllocation.enabled=true"):
            _place.choose("spark", moving, {})

    def test_executors_with_one_core(self):
        for master, conf, cores in (("yarn", {}, 1), ("local-cluster[2,1,1024]", {}, 1),
                                    ("spark://h:7077", {"spark_executor_cores": "3", "spark_task_cpus": "2"}, 3)):
            with self.assertLogs("tony.cluster._spark_place", "WARNING") as logs:
                _spark_place.warn_of_few_cores(self.spark(master, **conf))
            self.assertIn(f"spark.executor.cores={cores}", logs.output[0])
        for master, conf in (("yarn", {"spark_executor_cores": "2"}), ("local-cluster[2,2,1024]", {}),
                             ("spark://h:7077", {})):
            with self.assertLogs("tony.cluster._spark_place", "WARNING") as logs:
                _spark_place.warn_of_few_cores(self.spark(master, **conf))
                _spark_place._log.warning("nothing else")  # pylint: disable=protected-access
            self.assertEqual(len(logs.output), 1)

    def test_places_that_cannot_be(self):
        with self.assertRaisesRegex(ValueError, "needs a SparkContext"):
            _place.choose("spark", None, {})
        with self.assertRaisesRegex(ValueError, "place='mars' is neither"):
            _place.choose("mars", None, {})

    def test_interpreter(self):
        self.assertEqual(_place.python_of_nodes("tony", None, "local"), sys.executable)
        self.assertEqual(_place.python_of_nodes("spark", self.spark("yarn"), "local"), "/py")


if __name__ == "__main__":
    unittest.main()
