#!/usr/bin/env python3
"""tony.cluster without Spark: nodes that are tasks of this machine.

The package is that of the build, beside PROGRAMS.
"""

import json
import os
import pathlib
import pickle
import signal
import socket
import sys
import threading
import unittest
from unittest import mock

import integration_case
import machine
from integration_case import OwnSiteTest

# pylint: disable=wrong-import-order
import cluster_functions
from step_server import StepServer

MEMORY = {f"tony.{role}.memory": "256m" for role in ("worker", "chief", "ps", "evaluator")}
# The second restart takes longer than Spark's, or a feeder's, four attempts.
RESTARTS = {**MEMORY, "tony.am.retry-count": 2, "tony.am.retry-backoff-ms": 5000}
TFCluster = TFParallel = tony = None  # pylint: disable=invalid-name


class ClusterTest(OwnSiteTest):
    """A test with clusters."""

    def run_cluster(self, function, args, count, *arguments, **options):
        """TFCluster.run() with small nodes, which do not outlive the test."""
        cluster = TFCluster.run(None, function, args, count, *arguments, **{"job": MEMORY, **options})
        self.addCleanup(cluster.nodes.job.ask_to_stop)
        return cluster


class DirectTest(ClusterTest):
    """Nodes whose programs read their data by themselves."""

    def test_roles(self):
        told, gate = self.site.folder / "told", self.pipe("gate")
        told.mkdir()
        cluster = self.run_cluster(cluster_functions.describe, [str(told), 5, str(gate.path)], 5, 1,
                                   master_node="chief", eval_node=True)
        self.assertEqual([(node["executor_id"], node["job_name"], node["task_index"], node["host"] is not None)
                          for node in cluster.cluster_info],
                         [(0, "ps", 0, True), (1, "chief", 0, True), (2, "evaluator", 0, True), (3, "worker", 0, True),
                          (4, "worker", 1, True)])
        cluster.shutdown()
        nodes = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in told.iterdir()}
        self.assertEqual({name: (node["number"], node["worker_index"]) for name, node in nodes.items()}, {
            "ps-0": (0, -1), "chief-0": (1, 0), "evaluator-0": (2, -1), "worker-0": (3, 1), "worker-1": (4, 2)})
        for name, node in nodes.items():
            self.assertEqual(node["workers"], 3)
            self.assertEqual(node["roles"], {"ps": 1, "chief": 1, "evaluator": 1, "worker": 2})
            self.assertEqual(node["tf_config"], {"type": name.split("-")[0], "index": int(name.split("-")[1])})
            self.assertEqual(node["argv"], [str(told), 5, str(gate.path)])
            self.assertEqual(node["path"], f"file://{os.getcwd()}/data")

    def test_without_a_chief_there_is_no_tf_config(self):
        told = self.site.folder / "told"
        told.mkdir()
        self.run_cluster(cluster_functions.describe, [str(told)], 1).shutdown()
        self.assertIsNone(json.loads((told / "worker-0").read_text(encoding="utf-8"))["tf_config"])

    def test_a_failing_map_function(self):
        gate = self.pipe("gate")
        with self.assertRaises(cluster_functions.CityError) as raised:
            self.run_cluster(cluster_functions.fail_in_worker_1, [str(gate.path)], 3, 1).shutdown()
        cause = raised.exception.__cause__
        self.assertIsInstance(cause, tony.RankFailed)
        self.assertEqual((cause.rank, cause.guilty), (2, "worker:1"))
        self.assertIn('raise CityError("Ulm")', cause.traceback)

    def test_nodes_that_do_not_end(self):
        gate = self.pipe("gate")
        cluster = self.run_cluster(cluster_functions.wait, [str(gate.path)], 1)
        with self.assertRaisesRegex(TimeoutError, "has not ended within timeout=0.2 s"):
            cluster.shutdown(timeout=0.2)
        self.assert_nothing_left(self.site.local_dir / "jobs" / cluster.nodes.job.id)

    def test_nodes_for_which_there_is_no_room(self):
        with self.assertRaises(tony.NeverFits):
            TFCluster.run(None, cluster_functions.wait, [], 1, job={"tony.worker.memory": "100000g"})

    def test_what_cannot_be_pickled_starts_nothing(self):
        with self.assertRaisesRegex(tony.CannotPickle, "argument tf_args= of run cannot be pickled"):
            self.run_cluster(cluster_functions.wait, threading.Lock(), 1)
        self.assertEqual(tony.jobs(), [])

    def test_reserve_and_start(self):
        gate = self.pipe("gate")
        cluster = TFCluster.reserve(None, 1, job=MEMORY)
        with self.assertRaisesRegex(tony.TonyError, "no nodes yet"):
            cluster.shutdown()
        cluster.start(cluster_functions.wait, [str(gate.path)])
        cluster.nodes.stop()
        with self.assertRaises(tony.Killed):
            cluster.shutdown()

    def test_independent_instances(self):
        self.assertEqual(TFParallel.run(None, cluster_functions.number_and, "a", 3, job=MEMORY),
                         [(0, "a", False), (1, "a", False), (2, "a", False)])


class FedCase(ClusterTest):
    """A test with nodes that are fed by this process."""

    def setUp(self):
        super().setUp()
        self.told = self.site.folder / "told"
        self.told.mkdir()

    def fed(self, function, count=1, **options):
        """A cluster that is fed."""
        return self.run_cluster(function, [str(self.told)], count, input_mode=TFCluster.InputMode.SPARK, **options)

    def kept(self):
        """What the nodes have left, by their names."""
        return {path.name: pickle.loads(path.read_bytes()) for path in self.told.iterdir()}


class FedTest(FedCase):
    """Nodes that are fed by this process."""

    def fed_rows(self, data, epochs=1, count=1):
        """The rows that nodes get of this data."""
        cluster = self.fed(cluster_functions.take_rows, count)
        cluster.train(data, epochs)
        cluster.shutdown(grace_secs=60)
        return self.kept()

    def test_rows_keep_their_types(self):
        rows = [([float(number)] * 50, number, number % 2 == 0) for number in range(2000)]
        self.assertEqual(repr(self.fed_rows(rows)["rows-0"]), repr(rows))

    def test_as_from_another_host(self):
        producer = integration_case.import_package("tony.cluster._producer")
        rows = [([float(number)] * 500, number) for number in range(3000)]
        with mock.patch.object(producer, "_is_here", return_value=False):
            self.assertEqual(self.fed_rows(rows)["rows-0"], rows)

    def test_rows_of_any_kind(self):
        rows = [(str(number), None, [1] * (number % 5)) for number in range(2000)]
        self.assertEqual(self.fed_rows(iter(rows))["rows-0"], rows)

    def test_two_nodes_get_equally_many_rows_of_each_epoch(self):
        kept = self.fed_rows(list(range(1000)), epochs=3, count=2)
        self.assertEqual({name: len(rows) for name, rows in kept.items()}, {"rows-0": 1500, "rows-1": 1500})
        self.assertEqual(sorted(sum(kept.values(), [])), sorted(list(range(1000)) * 3))

    def test_arrays(self):
        try:
            import numpy  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("without numpy")
        images, labels = numpy.arange(1000 * 784, dtype="f4").reshape(1000, 784) / 784, numpy.arange(1000)
        cluster = self.fed(cluster_functions.take_arrays)
        cluster.train((images, labels), 1)
        cluster.shutdown()
        sizes, total = self.kept()["arrays-0"]
        self.assertEqual(sizes[0], ((64, 784), "float32", (64,)))
        self.assertEqual(sizes[-1], ((1000 % 64, 784), "float32", (1000 % 64,)))
        self.assertAlmostEqual(total, float(images.sum(dtype="f8") + labels.sum()), places=3)

    def test_inference(self):
        cluster = self.fed(cluster_functions.double, 2)
        self.assertEqual(list(cluster.inference(range(20000))), [2 * number for number in range(20000)])
        self.assertEqual(list(cluster.inference([1.5, 2.5])), [3.0, 5.0])
        cluster.shutdown()

    def test_too_few_results(self):
        cluster = self.fed(cluster_functions.answer_one_too_few)
        with self.assertRaisesRegex(tony.TonyError, "1 results too few for partition 0"):
            list(cluster.inference(range(100)))

    def test_too_many_results(self):
        cluster = self.fed(cluster_functions.answer_one_too_many)
        with self.assertRaisesRegex(tony.TonyError, "1 more results than rows"):
            list(cluster.inference(range(100)))

    def test_a_node_that_wants_no_more(self):
        cluster = self.fed(cluster_functions.stop_early)
        cluster.train([[0.5] * 1000] * 20000, 5)
        cluster.shutdown()
        self.assertEqual(self.kept(), {"rows-0": (10, [], True)})

    def test_a_node_that_fails(self):
        cluster = self.fed(cluster_functions.fail_while_fed)
        with self.assertRaises(cluster_functions.CityError) as raised:
            cluster.train([[0.5] * 1000] * 20000, 5)
        self.assertIn("fail_while_fed", raised.exception.__cause__.traceback)

    def test_a_node_that_is_killed(self):
        cluster = self.fed(cluster_functions.die_while_fed)
        with self.assertRaises(tony.JobFailed) as raised:
            cluster.train([[0.5] * 1000] * 20000, 5)
        self.assertEqual(raised.exception.guilty, "worker:0")

    def test_a_node_that_ends_before_the_others(self):
        cluster = self.fed(cluster_functions.leave_early, 2)
        cluster.train(list(range(1000)), 1)
        cluster.shutdown()
        self.assertEqual(sorted(self.kept()["rows-1"]), list(range(1000)))

    def test_a_failed_node_without_which_the_job_goes_on(self):
        cluster = self.fed(cluster_functions.fail_early, 2, job={
            **MEMORY, "tony.application.fail-on-worker-failure-enabled": False})
        with mock.patch.object(integration_case.import_package("tony.cluster._feeding"), "_AWAY_SECONDS", 1):
            cluster.train(list(range(1000)), 1)
        cluster.nodes.job.end_feed("input")
        self.assertTrue(cluster.nodes.await_end(60))
        self.assertEqual(sorted(self.kept()["rows-0"]), list(range(1000)))

    def test_a_node_that_is_started_again(self):
        cluster = self.fed(cluster_functions.die_twice, job=RESTARTS)
        cluster.train(list(range(1000)), 1)
        cluster.shutdown()
        self.assertEqual(self.kept(), {"rows-0": list(range(1000))})

    def test_a_node_in_another_container(self):
        cluster = self.fed(cluster_functions.lose_container_once)
        cluster.train(list(range(1000)), 1)
        cluster.shutdown()
        self.assertEqual(self.kept(), {"rows-0": list(range(1000))})

    def test_an_application_master_that_is_killed(self):
        told, gate = self.pipe("fed"), self.pipe("gate")
        cluster = self.run_cluster(cluster_functions.take_rows_behind_a_gate,
                                   [str(self.told), str(told.path), str(gate.path)], 1,
                                   input_mode=TFCluster.InputMode.SPARK)
        rows = [(b"x" * 8000, number) for number in range(4000)]  # more than the slots hold
        training = self.in_thread(cluster.train, rows, 1)
        self.assertEqual(told.read(), "fed")
        os.kill(machine.master_of(cluster.nodes.job.id), signal.SIGKILL)
        for event in cluster.nodes.job.events():
            if event.data.get("sentence") == "The executors are attached again":
                break
        gate.write()
        training.result(60)
        cluster.shutdown(timeout=60)
        self.assertEqual(self.kept(), {"rows-0": rows})

    def test_two_clusters_do_not_disturb_each_other(self):
        failing, other = self.fed(cluster_functions.fail_while_fed), self.fed(cluster_functions.take_rows)
        training = self.in_thread(failing.train, [[0.5] * 1000] * 20000, 1)
        other.train(list(range(1000)), 1)
        with self.assertRaises(cluster_functions.CityError):
            training.result(60)
        other.train(list(range(1000)), 1)
        other.shutdown()
        self.assertEqual(self.kept(), {"rows-0": list(range(1000)) * 2})

    def test_a_producer_that_knows_an_endpoint_that_is_gone(self):
        producer, frames, sources = (integration_case.import_package(f"tony.cluster.{name}")
                                     for name in ("_producer", "_frames", "_sources"))
        cluster = self.fed(cluster_functions.take_rows)
        endpoints = producer.endpoints_from(cluster.nodes.job.feeds())
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(self.site.folder / "left"))
        gone = endpoints.tasks[0]._replace(task="worker:9", unix=str(self.site.folder / "left"))
        attempt = producer.Attempt("input", 0, 0, 0, False, 60)
        batches = sources.RowsPartition([1, 2, 3]).batches
        with self.assertRaisesRegex(frames.NodeUnavailable, "worker:9 on .* cannot be reached.*no other node"):
            list(producer.feed(endpoints._replace(tasks=(gone,)), attempt, batches))
        list(producer.feed(endpoints._replace(tasks=(gone, *endpoints.tasks)), attempt, batches))
        cluster.shutdown()
        self.assertEqual(self.kept(), {"rows-0": [1, 2, 3]})

    def test_two_feeds(self):
        cluster = self.fed(cluster_functions.take_two_feeds,
                           feeds={"train": list(range(500)), "validation": [str(number) for number in range(300)]})
        cluster.shutdown()
        self.assertEqual(self.kept()["rows-0"], [list(range(500)), [str(number) for number in range(300)]])

    def test_one_feed_after_the_other(self):
        cluster = self.fed(cluster_functions.take_one_feed_after_the_other, feeds={"validation": list(range(500, 800))})
        cluster.train(list(range(500)), 1)
        cluster.shutdown(timeout=60)
        self.assertEqual(self.kept()["rows-0"], list(range(800)))

    def test_what_cannot_be_fed(self):
        gate = self.pipe("gate")
        cluster = self.run_cluster(cluster_functions.wait, [str(gate.path)], 1)
        with self.assertRaisesRegex(tony.TonyError, "input_mode=InputMode.SPARK to feed them"):
            cluster.train([1])
        cluster.nodes.stop()
        cluster = self.fed(cluster_functions.take_rows)
        for data, epochs, error in ((iter([1]), 2, "can be read once only"), ([1], -1, "negative")):
            with self.assertRaisesRegex(ValueError, error):
                cluster.train(data, epochs)
        with self.assertRaisesRegex(TypeError, "is no data for a feed"):
            cluster.train(5)
        with self.assertRaisesRegex(tony.TonyError, "does not fit into a slot of 1048576; set tony.feed.buffer"):
            cluster.train(["x" * (2 << 20)])
        cluster.shutdown()


class EvenTest(FedCase):
    """Nodes that train together, and need equally many rows."""

    def trained(self, data, even, count):
        """The rows of nodes that make each step together, and the lines of the log."""
        path = self.site.folder / "steps"
        server = StepServer(path, count)
        self.addCleanup(server.join)
        cluster = self.run_cluster(cluster_functions.train_in_step, [str(self.told), str(path)], count, even=even,
                                   input_mode=TFCluster.InputMode.SPARK, job={**MEMORY, "tony.feed.buffer": "2m"})
        with self.assertLogs("tony.cluster.TFCluster") as logs:
            cluster.train(data, 2)
        cluster.shutdown(timeout=60)
        server.join()
        self.assertFalse(server.uneven)
        kept = list(self.kept().values())
        self.assertEqual({-(-len(rows) // 7) for rows in kept}, {server.steps})
        return kept, logs.output

    def test_rows_that_are_too_many_are_left_out(self):
        # Rows of very different sizes, more than the slots of all nodes hold.
        rows = [(number, "x" * (1 + number * 7919 % 60000)) for number in range(1001)]
        kept, logs = self.trained(rows, "drop", 3)
        self.assertEqual([len(rows) for rows in kept], [2 * 333] * 3)
        self.assertEqual(len(set(sum(kept, []))), 999)
        self.assertIn("even='drop': 4 rows were left out", logs[-1])

    def test_rows_that_are_too_few_are_repeated(self):
        kept, logs = self.trained([(number, None) for number in range(1001)], "repeat", 2)
        self.assertEqual([len(rows) for rows in kept], [2 * 501] * 2)
        self.assertEqual(set(sum(kept, [])), set(range(1001)))
        self.assertIn("even='repeat': 2 rows were sent a second time", logs[-1])

    def test_a_node_that_is_started_again(self):
        cluster = self.fed(cluster_functions.die_once_in_node_1, 2, even="drop", job=RESTARTS)
        cluster.train(list(range(100000)), 1)
        cluster.shutdown()
        first, second = self.kept().values()
        self.assertEqual(len(first), len(second))
        self.assertEqual(len(set(first) | set(second)), len(first) + len(second))

    def test_a_node_that_ends_before_the_others(self):
        cluster = self.fed(cluster_functions.leave_early, 2, even="drop")
        with self.assertRaisesRegex(tony.TonyError, "worker:0 of job .* ended well before all rows were consumed, and "
                                                    "with even='drop' the nodes share them"):
            cluster.train(list(range(1000)), 1)
        cluster.nodes.stop()

    def test_a_node_that_wants_no_more(self):
        cluster = self.fed(cluster_functions.take_until_200, 2, even="drop")
        cluster.train([[0.5] * 100] * 20000, 5)
        cluster.shutdown()
        # The first one that has them ends the feed for both.
        self.assertEqual(max(map(len, self.kept().values())), 200)

    def test_what_is_no_way_to_share(self):
        for options, error in (({"even": "both"}, "even='both' is none of 'none', 'drop', 'repeat'"),
                               ({"even": "drop"}, "so does even")):
            with self.assertRaisesRegex(ValueError, error):
                TFCluster.reserve(None, 2, **options)


def load_package():
    """Imports the package beside the programs."""
    global tony, TFCluster, TFParallel  # pylint: disable=global-statement
    tony = integration_case.import_package()
    TFCluster = integration_case.import_package("tony.cluster.TFCluster")
    TFParallel = integration_case.import_package("tony.cluster.TFParallel")


if __name__ == "__main__":
    integration_case.programs = pathlib.Path(sys.argv.pop(1)).resolve()
    load_package()
    unittest.main()
