#!/usr/bin/env python3
"""tony.cluster without Spark: nodes that are tasks of this machine.

The package is that of the build, beside PROGRAMS.
"""

import json
import os
import pathlib
import sys
import threading
import unittest

import integration_case
from integration_case import OwnSiteTest

# pylint: disable=wrong-import-order
import cluster_functions

MEMORY = {f"tony.{role}.memory": "256m" for role in ("worker", "chief", "ps", "evaluator")}
TFCluster = TFParallel = tony = None  # pylint: disable=invalid-name


class DirectTest(OwnSiteTest):
    """Nodes whose programs read their data by themselves."""

    def run_cluster(self, function, args, count, *arguments, **options):
        """TFCluster.run() with small nodes, which do not outlive the test."""
        cluster = TFCluster.run(None, function, args, count, *arguments, job=MEMORY, **options)
        self.addCleanup(cluster.nodes.job.ask_to_stop)
        return cluster

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
