#!/usr/bin/env python3
"""What the programs say when the machine does not give them what they need."""

import os
import pathlib

import integration_case
import machine
import second_user
from integration_case import SMALL, JobTest

INFRASTRUCTURE = 3
# So few that no program starts, to so many that every job succeeds.
DESCRIPTORS = range(4, 68, 4)


class DescriptorsTest(JobTest):
    """There are few file descriptors: every program ends with a sentence, and with the right code."""

    def run_with(self, descriptors, program, *arguments):
        """The program's result with at most that many descriptors."""
        limit = f"--nofile={descriptors}:{descriptors}"
        return self.site.run_as(["prlimit", limit], program, *arguments)

    def assert_says_why(self, result):
        """It failed, and a person can read why."""
        self.assertEqual(result.returncode, INFRASTRUCTURE, result)
        self.assertRegex(
            result.stdout + result.stderr, r"Too many open files|needs \d+ open files"
        )

    def test_submit(self):
        succeeded = []
        for descriptors in DESCRIPTORS:
            with self.subTest(descriptors=descriptors):
                result = self.run_with(descriptors, "tony-submit", "--executes", "true", *SMALL)
                if result.returncode == 0:
                    succeeded.append(descriptors)
                else:
                    self.assert_says_why(result)
        self.assertNotIn(DESCRIPTORS[0], succeeded)
        self.assertIn(DESCRIPTORS[-1], succeeded)

    def test_verbs(self):
        self.assert_succeeds(self.submit("true"))
        for descriptors in DESCRIPTORS:
            with self.subTest(descriptors=descriptors):
                result = self.run_with(descriptors, "tony", "status")
                if result.returncode != 0:
                    self.assert_says_why(result)
        self.assertEqual(result.returncode, 0, result.stderr)


# So few that no program starts, to so many that every job succeeds.
PROCESSES = (*range(4, 28, 4), 200)
END_SECONDS = 120


class ProcessesTest(JobTest):
    """There are few processes and threads: a job ends all the same, and says why."""

    def setUp(self):
        super().setUp()
        second_user.require(self)
        # A user of this test's own, since all of a user's processes count.
        self.user = 60000 + os.getpid() % 5000
        os.chown(self.site.folder, self.user, self.user)
        self.addCleanup(self.end_all)
        if self.run_with(200, "tony-submit", "--version").returncode != 0:
            self.skipTest("the folder of the programs is closed to other users")

    def run_with(self, processes, program, *arguments):
        """The program's result as the test's user, with at most that many processes and threads."""
        limited = ["prlimit", f"--nproc={processes}:{processes}", "setpriv",
                   f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"]
        return self.site.run_as(limited, program, *arguments, deadline_seconds=END_SECONDS)

    def processes(self):
        """The processes of the test's user."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and entry.stat().st_uid == self.user:
                    found.append(int(entry.name))
            except OSError:
                pass  # it has just ended
        return found

    def end_all(self):
        """Ends what a job that failed so badly may have left."""
        for pid in self.processes():
            os.kill(pid, 9)

    def test_submit(self):
        for processes in PROCESSES:
            with self.subTest(processes=processes):
                result = self.run_with(processes, "tony-submit", "--executes", "true", *SMALL,
                                       "--conf", "tony.worker.instances=1")
                if result.returncode != 0:
                    self.assertEqual(result.returncode, INFRASTRUCTURE, result)
                    self.assertRegex(result.stdout + result.stderr,
                                     "ulimit -u|Resource temporarily unavailable")
                self.assertTrue(machine.wait_until(lambda: not self.processes(), END_SECONDS))
        self.assertEqual(result.returncode, 0, result)


if __name__ == "__main__":
    integration_case.main()
