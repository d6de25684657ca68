#!/usr/bin/env python3
"""Elastic jobs of real, unmodified Horovod: processes come and are killed, and training goes on.

    horovod_elastic_test.py PROGRAMS OnThisMachine|OnYarn[.CASE]

PROGRAMS is the folder of tony-submit and its companions. Exits with 77 where Horovod is not built,
and on YARN where Hadoop cannot run.
"""

import os
import pathlib
import signal
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import examples
import machine
import real_horovod
import tony_cli
from examples import CHECKPOINT_EVERY, DEADLINE_SECONDS

NEVER_MS = 3_600_000  # longer than a test
NOBODY_COMES_BACK = (f"tony.horovod.host-cooldown-ms={NEVER_MS}",
                     f"tony.horovod.host-cooldown-max-ms={NEVER_MS}")
TWO_AND_NO_LESS = ("tony.worker.min-instances=2", "tony.worker.max-instances=2",
                   "tony.horovod.elastic-timeout-sec=5", *NOBODY_COMES_BACK)

programs = None  # pylint: disable=invalid-name


class ElasticTests:
    """The common part of the tests, for every framework and place. Not thread safe."""

    # A survivor that waits for another one notices only then, but a new process is to be there by
    # then.
    GLOO_TIMEOUT_SECONDS = 45
    # The others have begun a round by then, also where one of them has noticed by the timeout only.
    COOLDOWN_SECONDS = GLOO_TIMEOUT_SECONDS + 10

    def start_elastic(self, *conf, retries=0):
        return super().start_elastic(
            f"tony.horovod.gloo-timeout-sec={self.GLOO_TIMEOUT_SECONDS}", *conf, retries=retries)

    def assert_back_at_commit(self, begun_behind, done):
        """A round continues from the last commit before a finished step."""
        self.assertEqual(begun_behind % self.COMMIT_EVERY, 0)
        self.assertGreaterEqual(begun_behind, done - self.COMMIT_EVERY)
        self.assertGreater(begun_behind, 0)


class OneHostTests(ElasticTests):
    """All processes on one host."""

    SMALL = ("tony.worker.memory=600m",)

    def make_site(self):
        """A folder of this machine."""
        return tony_cli.Site(self, programs)

    def start_elastic(self, *conf, retries=0):
        return super().start_elastic(*self.SMALL, *conf, retries=retries)

    def kill(self, index):
        """Kills the worker's program; returns a step that it had done."""
        done = self.last_step(index)
        (pid,) = self.job.wait_until_running(f"worker:{index}")
        gone = machine.Processes(self, [pid])
        os.kill(pid, signal.SIGKILL)
        gone.wait_until_gone(DEADLINE_SECONDS)
        return done

    def test_shrinks(self):
        """2, 3, and 2 processes again, without the one that has had rank 0."""
        job = self.start_elastic("tony.worker.min-instances=2", *NOBODY_COMES_BACK)
        self.wait_for_round(0, size=2, count=1)
        self.wait_for_round(0, size=3)
        self.wait_for_round(2, size=3)
        twice = [key for key, sizes in self.seen.items() if len(sizes) > 1]
        self.assertEqual(twice, [], "nothing is done twice because a process has come")
        (_, grown) = self.rounds_of(0)
        self.assertEqual(self.rounds_of(2), [(2, 3, grown[2])])
        self.assertEqual(self.logged_steps("worker-2")[0]["step"], grown[2] + 1,
                         "who comes begins where the others are")

        done = self.kill(0)
        self.wait_for_round(2, size=2)
        self.end_training()
        self.assert_trained_through(job)
        last = [self.rounds_of(index)[-1] for index in (1, 2)]
        self.assertEqual({(rank, size) for rank, size, _ in last}, {(0, 2), (1, 2)})
        # What the first of those that live had committed is the state of all.
        (begun_behind,) = {step for _, _, step in last}
        self.assert_back_at_commit(begun_behind, done)
        self.assertEqual(self.logged_steps("worker-1")[-1], self.logged_steps("worker-2")[-1] | {
            "rank": last[0][0]})

    def test_takes_back_who_was_killed(self):
        """2, 3, 2, and 3 again: a new process has the killed one's place, and the others' state."""
        job = self.start_elastic("tony.worker.min-instances=2",
                                 f"tony.horovod.host-cooldown-ms={self.COOLDOWN_SECONDS * 1000}")
        self.wait_for_round(1, size=3)
        done = self.kill(1)
        self.wait_for_round(0, size=2, count=1)
        self.wait_for_round(1, size=3, behind=done)
        # As long as a job without a failure needs for the accuracy that is asked for.
        self.wait_for_round(0, size=3, count=examples.STEPS)
        self.end_training()
        self.assert_trained_through(job)
        sizes = [size for _, size, _ in self.rounds_of(0)]
        self.assertEqual(sizes[-3:], [3, 2, 3])
        behind = [step for _, _, step in self.rounds_of(0)]
        self.assert_back_at_commit(behind[-2], done)
        self.assertGreater(behind[-1], behind[-2])
        self.assertEqual(self.rounds_of(1)[-1][2], behind[-1])
        self.assertEqual(sorted(self.rounds_of(index)[-1][0] for index in range(3)), [0, 1, 2])
        self.assert_trained(job)

    def test_begins_anew_from_its_checkpoint(self):
        """Too few are left, so all begin again with what is on disk."""
        job = self.start_elastic(*TWO_AND_NO_LESS, retries=1)
        self.wait_for_round(0, size=2, count=CHECKPOINT_EVERY + 2)
        done = self.kill(1)
        job.wait_until_running("worker:0", "worker:1", epoch=1)
        self.wait_for_round(1, size=2, behind=done + self.COMMIT_EVERY)
        self.end_training()
        self.assert_succeeds(job)
        (opened,) = job.events("epoch_opened")
        self.assertIn("tony.horovod.elastic-timeout-sec", opened["cause"])
        first, second = self.rounds_of(1)
        self.assertEqual(first[2], 0)
        self.assertEqual(second[2] % CHECKPOINT_EVERY, 0)
        self.assertGreaterEqual(second[2], CHECKPOINT_EVERY)
        code, said = self.run_check()
        self.assertEqual(code, 0, said)

    def test_check_fails_without_exchange(self):
        """So the check of the other tests is one."""
        job = self.start("--cut-exchange", conf=(*self.SMALL, "tony.worker.max-instances=2"))
        self.assert_succeeds(job)
        code, said = self.run_check()
        self.assertEqual(code, 1, said)
        self.assertIn("FAILED: ", said)

    def test_fails_below_the_minimum(self):
        """Nobody comes in place of the killed one."""
        job = self.start_elastic(*TWO_AND_NO_LESS)
        self.wait_for_round(0, size=2)
        self.kill(1)
        self.assertNotEqual(job.wait(DEADLINE_SECONDS), 0, self.describe(job))
        self.assertIn(
            "The job did not go on within 5 s (tony.horovod.elastic-timeout-sec): 1 process is "
            "there, and the job needs at least 2 (tony.worker.min-instances); no other container "
            "has come",
            job.verdict["sentence"])
        self.assertIn("worker:1", job.verdict["sentence"])
        self.assertEqual(machine.processes_with(job.id), {})


class OnThisMachine(OneHostTests, examples.HorovodElastic, unittest.TestCase):
    """With Horovod itself."""


class OnYarn(real_horovod.OnTwoNodes, ElasticTests, examples.HorovodElastic, unittest.TestCase):
    """Processes on both nodes of a cluster: no node has memory for all."""

    SMALL = ("tony.am.memory=256m", "tony.worker.memory=1500m")

    def make_site(self):
        return tony_cli.Site(self, programs, self.cluster)

    def test_loses_a_container(self):
        """The container of rank 0. The others continue, and accept the new process in another one."""
        job = self.start_elastic("tony.worker.instances=3", "tony.worker.min-instances=2",
                                 *self.SMALL)
        for index in range(3):
            self.wait_for_round(index, size=3)
        pids = job.wait_until_running("worker:0", "worker:1", "worker:2")
        self.assertEqual(len({self.cluster.node_of(pid) for pid in pids}), 2)
        (lost,) = (index for index in range(3) if self.rounds_of(index)[-1][0] == 0)
        other = (lost + 1) % 3

        done = self.last_step(lost)
        container = job.wait_for_task(f"worker:{lost}", "RUNNING")["container"]
        machine.kill_programs_of(container, "tony-executor")
        self.wait_for_round(lost, size=3, behind=done)
        self.end_training()
        self.assert_trained_through(job)
        # Where one of the others notices by the timeout only, the new container may be there first.
        sizes = [size for _, size, _ in self.rounds_of(other)]
        self.assertIn(sizes, ([3, 2, 3], [3, 3]))
        self.assert_back_at_commit(self.rounds_of(other)[1][2], done)
        self.assertNotEqual(self.rounds_of(lost)[-1][0], 0, "rank 0 has the state")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    real_horovod.run_tests()
