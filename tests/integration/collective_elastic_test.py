#!/usr/bin/env python3
"""Elastic jobs of programs that use tony.collective: they go on without a rank that is lost, and
take others in."""

import os
import signal
import subprocess
import sys

import integration_case
import horovod_job
from horovod_case import HorovodTest

SYSTEM_PYTHON = "/usr/bin/python3"  # which PyTorch is for
NEVER_MS = 3_600_000  # longer than a test
NOBODY_COMES_BACK = ("--conf", f"tony.horovod.host-cooldown-ms={NEVER_MS}",
                     "--conf", f"tony.horovod.host-cooldown-max-ms={NEVER_MS}")


def has_torch():
    """Whether tests with PyTorch can be run."""
    found = subprocess.run([SYSTEM_PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL,
                           check=False)
    return found.returncode == 0


class CollectiveElasticTest(HorovodTest):
    """Workers of which two are enough."""

    def start(self, *arguments, workers=3, python=f"{sys.executable} -I -S -B", options=""):
        """The job, whose first round has begun."""
        package = integration_case.programs.parent / "python"
        program = f"{horovod_job.SUPPORT}/elastic_rank.py --package {package}"
        worker = f"exec {python} {program} {options}"
        self.rounds = horovod_job.ElasticRounds(self, self.site.folder, worker)
        job = self.submit_ranks(self.rounds.command, *horovod_job.TWO_ARE_ENOUGH, *arguments,
                                workers=workers)
        self.assertEqual(self.rounds.wait_for(workers),
                         ([f"worker:{index}" for index in range(workers)], 0))
        return job

    def kill(self, job, *names):
        """All at once."""
        for pid in job.wait_until_running(*names):
            os.kill(pid, signal.SIGKILL)

    def lose_and_regain(self, job, lost, size=3):
        """One is killed; two continue from the last commit, then the lost one is there again."""
        self.kill(job, f"worker:{lost}")
        left, begin = self.rounds.wait_for(size - 1)
        self.assertNotIn(f"worker:{lost}", left)
        all_again, later = self.rounds.wait_for(size)
        self.assertEqual(all_again, [*left, f"worker:{lost}"])
        self.assertGreater(later, begin)
        # Nothing is lost where somebody comes, which is when steps are committed.
        self.assertEqual(later % 5, 0)
        return begin, later

    def end(self, job):
        """All end well, and the job has not started over."""
        self.rounds.end()
        self.assert_succeeds(job)
        self.assertEqual(job.events("epoch_opened"), [])

    def test_grows_and_goes_on_without_those_that_are_lost(self):
        job = self.start("--conf", "tony.worker.max-instances=3", workers=2)
        workers, begin = self.rounds.wait_for(3)
        self.assertEqual(workers, ["worker:0", "worker:1", "worker:2"])
        self.assertGreater(begin, 0)
        first, later = self.lose_and_regain(job, 2)
        self.assertGreaterEqual(first, begin + 1)
        # The one that has rank 0, of which the next one's state counts.
        second, _ = self.lose_and_regain(job, 0)
        self.assertGreaterEqual(second, later + 1)
        self.end(job)

    def test_two_are_lost_at_once(self):
        job = self.start(*NOBODY_COMES_BACK, workers=4)
        self.kill(job, "worker:0", "worker:2")
        left, begin = self.rounds.wait_for(2)
        self.assertEqual(left, ["worker:1", "worker:3"])
        self.assertGreater(begin, 0)
        self.end(job)

    def test_too_few_are_left(self):
        job = self.start(*NOBODY_COMES_BACK, "--conf", "tony.horovod.elastic-timeout-sec=5")
        self.kill(job, "worker:0", "worker:2")
        sentence = self.assert_ends(job, 1, "TASK_FAILED")
        self.assertIn("The job did not go on within 5 s (tony.horovod.elastic-timeout-sec)",
                      sentence)

    def test_with_torch(self):
        if not has_torch():
            self.skipTest(f"{SYSTEM_PYTHON} has no PyTorch")
        job = self.start("--conf", "tony.worker.memory=1g", workers=2,
                         python=f"{SYSTEM_PYTHON} -B", options="--torch")
        self.kill(job, "worker:0")
        # Two are needed, so that the next round begins when it is there again.
        workers, begin = self.rounds.wait_for(2)
        self.assertEqual(workers, ["worker:1", "worker:0"])
        self.assertGreater(begin, 0)
        self.end(job)


if __name__ == "__main__":
    integration_case.main()
