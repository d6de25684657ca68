#!/usr/bin/env python3
"""Trains with real, unmodified Horovod, whose ranks meet at tony's driver.

    horovod_test.py PROGRAMS OnThisMachine|OnYarn[.CASE]

PROGRAMS is the folder of tony-submit and its companions. Exits with 77 where Horovod is not built,
and on YARN where Hadoop cannot run.
"""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import examples
import examples_test
import machine
import real_horovod
import tony_cli
from examples import DEADLINE_SECONDS

programs = None  # pylint: disable=invalid-name


def places_of(pids):
    """The places of the ranks with these process ids: numbers, by rank."""
    places = []
    for pid in pids:
        names = ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")
        places.append({name: int(machine.variable_of(pid, f"HOROVOD_{name}", DEADLINE_SECONDS))
                       for name in names})
    return sorted(places, key=lambda place: place["RANK"])


class HorovodTests(examples.HorovodPyTorch):
    """Tests for every place where ranks run. Not thread safe."""

    def start_ranks(self, ranks, *conf):
        """A job that is slow enough to be looked at. Returns it, and the ranks' process ids."""
        self.loggers = tuple(f"worker-{index}" for index in range(ranks))
        tasks = [f"worker:{index}" for index in range(ranks)]
        job = self.start("--slow-step-seconds 0.02",
                         conf=(f"tony.worker.instances={ranks}", *conf))
        _, *pids = job.wait_until_running("driver:0", *tasks)
        self.wait_until_shown(job, {"driver:0", *tasks})
        return job, pids

    def wait_until_shown(self, job, tasks):
        """Until `tony status` says that all of them run, and nothing else; it may lag behind."""
        def shown():
            status = self.site.verb("status", job.id)
            return {task["task"]: task["state"] for task in status["tasks"]}

        expected = dict.fromkeys(tasks, "RUNNING")
        machine.wait_until(lambda: shown() == expected, DEADLINE_SECONDS, pause_seconds=0.1)
        self.assertEqual(shown(), expected)


class OnThisMachine(examples_test.SynchronousTests, HorovodTests, unittest.TestCase):
    """All ranks on one host."""

    def test_trains_as_one(self):
        self.train(2)

    def test_four_ranks(self):
        self.train(4)

    def train(self, ranks):
        job, pids = self.start_ranks(ranks, "tony.worker.memory=600m")
        self.assertEqual(places_of(pids), [
            {"RANK": rank, "SIZE": ranks, "LOCAL_RANK": rank, "LOCAL_SIZE": ranks,
             "CROSS_RANK": 0, "CROSS_SIZE": 1}
            for rank in range(ranks)])
        self.assert_trained_in_one_epoch(job)


class OnYarn(real_horovod.OnTwoNodes, HorovodTests, unittest.TestCase):
    """Ranks on both nodes of a cluster: no node has memory for all."""

    SMALL = ("tony.am.memory=256m", "tony.driver.memory=256m")

    def make_site(self):
        return tony_cli.Site(self, programs, self.cluster)

    def start(self, *task_params, retries=0, conf=()):
        return super().start(*task_params, retries=retries, conf=(*self.SMALL, *conf))

    def train(self, ranks, memory):
        """Runs a whole job. Its ranks learn how many of them are on each node."""
        job, pids = self.start_ranks(ranks, f"tony.worker.memory={memory}")
        nodes = [self.cluster.node_of(pid) for pid in pids]
        shares = sorted(nodes.count(node) for node in set(nodes))
        self.assertEqual(len(shares), 2, nodes)
        places = places_of(pids)
        self.assertEqual([place["RANK"] for place in places], list(range(ranks)))
        # Each of a node's ranks says how many they are.
        self.assertEqual(sorted(place["LOCAL_SIZE"] for place in places),
                         sorted(share for share in shares for _ in range(share)))
        for place in places:
            self.assertEqual(place["CROSS_SIZE"],
                             sum(share > place["LOCAL_RANK"] for share in shares))
        self.assert_trained_in_one_epoch(job)

    def test_two_ranks(self):
        self.train(2, "2500m")

    def test_four_ranks(self):
        self.train(4, "1200m")

    test_resumes_after_a_killed_worker = (
        examples_test.ExampleTests.test_resumes_after_a_killed_worker)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    programs = examples_test.programs = pathlib.Path(sys.argv.pop(1)).resolve()
    real_horovod.run_tests()
