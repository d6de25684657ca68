#!/usr/bin/env python3
"""Jobs on a machine that fits one of them: they wait, say for whom, and keep their order."""

import contextlib
import os
import signal

import integration_case
import machine
from integration_case import JobTest

ROOM_FOR_ONE = ("--conf", "tony.local.memory=100m")


class QueueTest(JobTest):
    """Each job is one task that runs until its gate opens."""

    def start(self, name, *arguments):
        gate = self.pipe(f"gate-{name}")
        job = self.submit(
            f"read < {gate.path}",
            *ROOM_FOR_ONE,
            *("--conf", f"tony.application.name={name}"),
            *arguments,
        )
        return job, gate

    def waiting(self, job):
        """The reason why the job waits, once it has reported one."""
        job.wait_for(lambda events: any("waiting" in event for event in events), "waiting")
        return job.events("waiting")[-1]

    def test_second_job_says_whom_it_waits_for_and_then_runs(self):
        first, first_gate = self.start("first")
        first.wait_until_running("worker:0")
        second, second_gate = self.start("second")
        waiting = self.waiting(second)
        self.assertIn("needs 64 MiB of memory, 36 of 100 are free", waiting["what"])
        self.assertIn(f"job {first.id} (pid ", waiting["what"])
        self.assertEqual(waiting["missing"], ["worker:0"])
        self.assertIn(f"the end of job {first.id}", waiting["unblock"])
        status = self.site.verb("status", second.id)
        self.assertEqual(status["state"], "ALLOCATING")
        self.assertEqual(status["waiting"]["what"], waiting["what"])

        first_gate.write()
        self.assert_succeeds(first)
        second.wait_until_running("worker:0")
        second_gate.write()
        self.assert_succeeds(second)

    def test_order_is_kept(self):
        first, first_gate = self.start("first")
        first.wait_until_running("worker:0")
        second, second_gate = self.start("second")
        self.waiting(second)
        third, third_gate = self.start("third")
        self.assertIn(f"job {second.id}", self.waiting(third)["what"])
        third_gate.write()
        first_gate.write()
        self.assert_succeeds(first)
        second.wait_until_running("worker:0")
        self.assertEqual(self.site.verb("status", third.id)["state"], "ALLOCATING")
        second_gate.write()
        self.assert_succeeds(second)
        self.assert_succeeds(third)

    def test_job_that_is_told_to_stop_leaves_the_queue(self):
        first, first_gate = self.start("first")
        first.wait_until_running("worker:0")
        second, _ = self.start("second")
        self.waiting(second)
        third, third_gate = self.start("third")
        self.waiting(third)
        second.client.send_signal(signal.SIGINT)
        self.assert_ends(second, 4, "KILLED_BY_USER")
        first_gate.write()
        third_gate.write()
        self.assert_succeeds(first)
        self.assert_succeeds(third)

    def test_job_whose_processes_are_all_killed_makes_room(self):
        first, _ = self.start("first", "--conf", "tony.am.max-restarts=0")
        first.wait_until_running("worker:0")
        second, second_gate = self.start("second")
        self.waiting(second)
        for pid in machine.processes_with(first.id):
            # One that dies takes others with it.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        second_gate.write()
        self.assert_succeeds(second)
        self.assertEqual(first.wait(), 3)

    def test_jobs_that_fit_together_run_together(self):
        ready = self.pipe("ready")
        gate = self.pipe("gate")
        jobs = [
            self.submit(
                f"echo ready > {ready.path}; read < {gate.path}", "--conf", "tony.local.memory=200m"
            )
            for _ in range(3)
        ]
        for _ in jobs:
            ready.read()
        gate.write(len(jobs))
        for job in jobs:
            self.assert_succeeds(job)


if __name__ == "__main__":
    integration_case.main()
