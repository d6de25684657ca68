#!/usr/bin/env python3
"""Elastic Horovod jobs: their light ranks go on without one that is lost, and take it back."""

import os
import signal

import integration_case
import horovod_job
from horovod_case import HorovodTest


NEVER_MS = 3_600_000  # longer than a test
NOBODY_COMES_BACK = ("--conf", f"tony.horovod.host-cooldown-ms={NEVER_MS}",
                     "--conf", f"tony.horovod.host-cooldown-max-ms={NEVER_MS}")


class ElasticTest(HorovodTest):
    """Workers of which two are enough."""

    def start(self, *arguments, workers=3):
        """The job, whose first round has begun."""
        self.rounds = horovod_job.ElasticRounds(self, self.site.folder)
        job = self.submit_ranks(self.rounds.command, *horovod_job.TWO_ARE_ENOUGH, *arguments,
                                workers=workers)
        self.assertEqual(self.rounds.wait_for(workers),
                         ([f"worker:{index}" for index in range(workers)], 0))
        return job

    def kill_two(self, job):
        """Kills two at once, so that the second one goes while the first one's end is reported."""
        for pid in job.wait_until_running("worker:0", "worker:2"):
            os.kill(pid, signal.SIGKILL)

    def assert_goes_on(self, job, lost):
        """Two continue with the step that they had committed, and then there are three again."""
        left, begin = self.rounds.wait_for(2)
        self.assertEqual(left, [f"worker:{index}" for index in range(3) if index != lost])
        self.assertGreater(begin, 0)
        all_again, later = self.rounds.wait_for(3)
        # The new one is behind those that have the state.
        self.assertEqual(all_again, [*left, f"worker:{lost}"])
        self.assertGreater(later, begin)
        self.rounds.end()
        self.assert_succeeds(job)
        self.assertEqual(job.events("epoch_opened"), [])

    def kill_program(self, lost):
        """From the first round to the end."""
        job = self.start()
        (pid,) = job.wait_until_running(f"worker:{lost}")
        os.kill(pid, signal.SIGKILL)
        self.assert_goes_on(job, lost)

    def test_without_the_first_rank(self):
        """Another rank's state counts, and another rank is told of new ones."""
        self.kill_program(0)

    def test_without_the_last_rank(self):
        self.kill_program(2)

    def test_two_changes_at_once(self):
        job = self.start(*NOBODY_COMES_BACK, workers=4)
        self.kill_two(job)
        left, begin = self.rounds.wait_for(2)
        self.assertEqual(left, ["worker:1", "worker:3"])
        self.assertGreater(begin, 0)
        self.rounds.end()
        self.assert_succeeds(job)

    def test_below_the_minimum(self):
        job = self.start(*NOBODY_COMES_BACK, "--conf", "tony.horovod.elastic-timeout-sec=5")
        self.kill_two(job)
        sentence = self.assert_ends(job, 1, "TASK_FAILED")
        self.assertIn(
            "The job did not go on within 5 s (tony.horovod.elastic-timeout-sec): 1 process is "
            "there, and the job needs at least 2 (tony.worker.min-instances)", sentence)


if __name__ == "__main__":
    integration_case.main()
