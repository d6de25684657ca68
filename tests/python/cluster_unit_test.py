#!/usr/bin/env python3
"""The parts of tony.cluster that need no job: roles, paths, places, and TensorFlowOnSpark's names."""

import inspect
import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

from tony.cluster import (TFCluster, TFNode, TFParallel, TFSparkNode, _feeding, _node, _paths, _place, _roles,
                          util)


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


class EndpointsTest(unittest.TestCase):
    """Where the program itself feeds nodes."""

    def test_they_are_asked_for_once_and_after_a_failure(self):
        nodes, answers = mock.Mock(), ["first", "second"]
        with mock.patch.object(_feeding, "endpoints_of", side_effect=answers) as asked:
            known = _feeding.KnownEndpoints(nodes)
            self.assertEqual([known.get(again) for again in (False, False, True, False)],
                             ["first", "first", "second", "second"])
        self.assertEqual(asked.mock_calls, [mock.call(nodes)] * 2)
        self.assertEqual(nodes.check.call_count, 4)


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
