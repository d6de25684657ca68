#!/usr/bin/env python3
"""The package `tony` on a real YARN cluster: the same calls as on one machine.

    yarn_python_test.py PROGRAMS [unittest's arguments]

Exits with 77 where Hadoop cannot run.
"""

import os
import pathlib
import pickle
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/integration")]

# pylint: disable=wrong-import-position
import call_functions
import cluster_functions
import yarn_cluster

DEADLINE_SECONDS = 300
SMALL = {"tony.am.memory": "256m"}

tony = TFCluster = None  # pylint: disable=invalid-name
cluster = None  # pylint: disable=invalid-name


def setUpModule():  # pylint: disable=invalid-name
    """One cluster for all, which this process uses."""
    global cluster  # pylint: disable=global-statement
    cluster = yarn_cluster.YarnCluster("--heartbeat", "200")
    os.environ.update(cluster.environment)


def tearDownModule():  # pylint: disable=invalid-name
    """Stops it, with all that runs there."""
    cluster.stop()


class YarnTest(unittest.TestCase):
    """Jobs of the cluster."""

    def submit(self, command, workers=1):
        """A job of this process."""
        return tony.submit(tony.JobSpec(command=command, conf=SMALL, worker=tony.Type(workers, memory="256m")),
                           backend="yarn")

    def test_a_job(self):
        job = self.submit("echo hello", 2)
        events = list(job.events())
        self.assertEqual((events[0].kind, events[-1].kind), ("submitted", "ended"))
        self.assertEqual(job.result(DEADLINE_SECONDS).reason, "TASKS_SUCCEEDED")
        self.assertEqual(sorted((line.task, line.text) for line in job.logs("worker")),
                         [("worker:0", "hello"), ("worker:1", "hello")])
        self.assertIn((job.id, "SUCCEEDED"), [(other.id, other.state) for other in tony.jobs(backend="yarn")])
        recorded = list(tony.attach(job.id).events(follow=False))
        self.assertEqual([event for event in events if event.sequence], recorded)

    def test_a_stop_before_anything_runs(self):
        job = self.submit("exec sleep 600")
        self.assertEqual(job.stop().outcome, "KILLED")
        with self.assertRaises(tony.Killed):
            job.result(DEADLINE_SECONDS)

    def test_a_function(self):
        shared = tempfile.mkdtemp(prefix="tony-test-")
        self.addCleanup(shutil.rmtree, shared)
        values = tony.run(call_functions.rank_and, 2, (40,), {"plus": 2}, backend="yarn", results_dir=shared,
                          memory="256m", python=sys.executable, conf=SMALL, timeout=DEADLINE_SECONDS)
        self.assertEqual(values, [(0, 42), (1, 42)])
        self.assertEqual(os.listdir(shared), [])

    def test_a_fed_cluster(self):
        told = tempfile.mkdtemp(prefix="tony-test-")
        self.addCleanup(shutil.rmtree, told)
        rows = [([float(number)] * 100, number) for number in range(5001)]
        nodes = TFCluster.run(None, cluster_functions.take_rows, [told], 2, input_mode=TFCluster.InputMode.SPARK,
                              even="drop", job={**SMALL, "tony.backend": "yarn", "tony.worker.memory": "256m"})
        self.addCleanup(nodes.nodes.job.ask_to_stop)
        nodes.train(rows, 2)
        nodes.shutdown(timeout=DEADLINE_SECONDS)
        kept = [pickle.loads((pathlib.Path(told) / f"rows-{node}").read_bytes()) for node in range(2)]
        self.assertEqual([len(taken) for taken in kept], [5000, 5000])
        self.assertEqual(sorted(sum(kept, []))[::2], rows[:5000])


if __name__ == "__main__":
    yarn_cluster.skip_without()
    sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1)).resolve().parent / "python"))
    import tony  # noqa: F811  pylint: disable=wrong-import-order
    from tony.cluster import TFCluster  # noqa: F811  pylint: disable=wrong-import-order
    unittest.main()
