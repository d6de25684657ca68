#!/usr/bin/env python3
"""Whatever a job waits for, `tony status` says it: what, since when, who is missing, what would help."""

import itertools
import os
import signal
import time

import integration_case
import machine
import withheld_kill
from integration_case import JobTest

# Programs end when the test lets them.
PATIENT = ("--conf", "tony.task.kill-grace-ms=60000")


def state_of(event):
    """The state that a job has come to; empty for other events."""
    return event.get("state_changed", {}).get("state", "")


class WaitsTest(JobTest):
    """Jobs that are held in one state, and looked at."""

    def assert_waits(self, job, state, what, missing):
        """The job is in that state, and its wait has all its parts."""
        status = self.site.verb("status", job.id)
        self.assertEqual(status["state"], state, status)
        waiting = status["waiting"]
        self.assertIn(what, waiting["what"])
        self.assertEqual(waiting["missing"], missing)
        self.assertTrue(waiting["unblock"])
        age = time.time() - waiting["since_millis"] / 1000
        self.assertTrue(-1 < age < 60, waiting)
        printed = self.site.run("tony", "status", job.id).stdout
        self.assertIn("Waiting for ", printed)
        # The sentence may be wrapped.
        flat = "".join(printed.split())
        for part in (waiting["what"], *missing, waiting["unblock"]):
            self.assertIn("".join(part.split()), flat)

    def wait_for_state(self, job, state):
        job.wait_for(lambda events: state in map(state_of, events), state)

    def stubborn(self, deaf, fail, end):
        """A command that ignores SIGTERM, says so, and ends when it may; worker:1 fails at first."""
        return (
            f'trap "" TERM; echo > {deaf.path}; '
            f"[ $TASK_INDEX$TONY_ATTEMPT != 11 ] || {{ read < {fail.path}; exit 1; }}; "
            f"read < {end.path}"
        )

    def read_twice(self, line):
        """Both tasks have said it."""
        line.read()
        line.read()

    def test_running_restarting_and_stopping(self):
        deaf, fail, end = self.pipe("deaf"), self.pipe("fail"), self.pipe("end")
        job = self.submit(
            self.stubborn(deaf, fail, end),
            *PATIENT,
            *("--conf", "tony.am.retry-count=1"),
            workers=2,
        )
        job.wait_until_running("worker:0", "worker:1")
        self.read_twice(deaf)
        # What only runs waits for nothing.
        self.assertIsNone(self.site.verb("status", job.id)["waiting"])
        self.assertNotIn("Waiting", self.site.run("tony", "status", job.id).stdout)
        fail.write()
        self.wait_for_state(job, "RESTARTING")
        job.wait_for_task("worker:1", "READY", epoch=1)
        self.assert_waits(job, "RESTARTING", "1 of 2 tasks are not ready", ["worker:0"])
        end.write()
        self.read_twice(deaf)
        job.client.send_signal(signal.SIGINT)
        self.wait_for_state(job, "STOPPING")
        self.assert_waits(job, "STOPPING", "2 of 2 tasks have not ended", ["worker:0", "worker:1"])
        end.write(2)
        self.assert_ends(job, 4, "KILLED_BY_USER")

    def test_the_notice_in_the_history(self):
        deaf, fail, end = self.pipe("deaf"), self.pipe("fail"), self.pipe("end")
        job = self.submit(
            self.stubborn(deaf, fail, end),
            *PATIENT,
            *("--conf", "tony.am.retry-count=1", "--conf", "tony.am.waiting-notice-ms=100"),
            *("--conf", "tony.task.heartbeat-interval-ms=50"),
            *("--conf", "tony.task.max-missed-heartbeats=100"),
            workers=2,
        )
        self.read_twice(deaf)
        fail.write()
        self.wait_for_state(job, "RESTARTING")
        # At the first start, too, that may have been said of somebody.
        waiting = self.said(job, "are not ready", after="RESTARTING")
        self.assertIn("worker:0", waiting["missing"])
        end.write()
        self.read_twice(deaf)
        job.client.send_signal(signal.SIGINT)
        self.assertIn("worker:1", self.said(job, "have not ended")["missing"])
        end.write(2)
        self.assert_ends(job, 4, "KILLED_BY_USER")

    def said(self, job, words, after=""):
        """The first wait on record that has these words, once the job was in the state `after`."""
        def find(events):
            later = itertools.dropwhile(lambda event: after not in state_of(event), events)
            return next(
                (
                    event["waiting"]
                    for event in later
                    if words in event.get("waiting", {}).get("what", "")
                ),
                None,
            )

        return job.wait_for(find, f"'{words}'")

    def test_held_back(self):
        job = self.submit(
            "exit 1", *("--conf", "tony.am.retry-count=5", "--conf", "tony.am.retry-backoff-ms=60000")
        )
        self.said(job, "all is ready for the next start")
        self.assert_waits(job, "RESTARTING", "all is ready for the next start", [])
        job.client.send_signal(signal.SIGINT)
        self.assert_ends(job, 4, "KILLED_BY_USER")

    def test_without_a_master(self):
        end = self.pipe("end")
        job = self.submit(f"read < {end.path}")
        job.wait_until_running("worker:0")
        # The client, which would start the next one, is stopped for a while.
        job.client.send_signal(signal.SIGSTOP)
        self.kill_master(job)
        self.assert_waits(job, "RUNNING", "ApplicationMaster was lost", ["the ApplicationMaster"])
        job.client.send_signal(signal.SIGCONT)
        end.write()
        self.assert_succeeds(job)

    def test_until_executors_attach_again(self):
        end = self.pipe("end")
        job = self.submit(f"read < {end.path}")
        executor = self.executor_of(job, "worker:0")
        os.kill(executor, signal.SIGSTOP)
        self.kill_master(job)
        self.said(job, "the executors attach to the new ApplicationMaster")
        self.assert_waits(job, "RUNNING", "the executors attach", ["worker:0"])
        os.kill(executor, signal.SIGCONT)
        end.write()
        self.assert_succeeds(job)

    def test_until_a_killed_container_is_gone(self):
        withheld = withheld_kill.WithheldKill(self.site)
        end = self.pipe("end")
        job = self.submit(
            f"read < {end.path}",
            # For no more than the two of them.
            *("--conf", "tony.local.memory=128m", "--conf", "tony.container.kill.timeout=200"),
            *("--conf", "tony.task.heartbeat-interval-ms=50"),
            *("--conf", "tony.task.max-missed-heartbeats=100"),
            workers=2,
        )
        job.wait_until_running("worker:0", "worker:1")
        executor = self.executor_of(job, "worker:1")
        withheld.begin()
        os.kill(executor, signal.SIGSTOP)
        self.said(job, "was killed, but its tony-executor")
        self.assert_waits(job, "RESTARTING", "has not ended", ["worker:1"])
        withheld.end()
        os.kill(executor, signal.SIGCONT)
        job.wait_until_running("worker:0", "worker:1", epoch=1)
        end.write(2)
        self.assert_succeeds(job)

    def kill_master(self, job):
        (master,) = machine.programs_of(job.id, "tony-am")
        gone = machine.Processes(self, [master])
        os.kill(master, signal.SIGKILL)
        gone.wait_until_gone(20)

    def test_verdicts_name_who_was_missing(self):
        end = self.pipe("end")
        job = self.submit(
            f"[ $TASK_INDEX = 0 ] || read < {end.path}",
            *("--conf", "tony.application.timeout=10000"),  # long enough to run until then
            workers=2,
        )
        sentence = self.assert_ends(job, 3, "APPLICATION_TIMEOUT")
        self.assertIn("it was RUNNING: 1 of 2 tasks run; awaited: worker:1", sentence)


if __name__ == "__main__":
    integration_case.main()
