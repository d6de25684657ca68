#!/usr/bin/env python3
"""Ways of containment and limits of memory, seen by a user."""

import os
import pathlib
import signal
import subprocess

import integration_case
import machine
from integration_case import JobTest

WAYS = ("cgroup", "namespace", "process-tree")
# A time that nobody else sleeps.
OWN_SECONDS = 10**6 + os.getpid()
# Keeps 300 MB in its memory, and waits with them.
GREEDY = "tail -c 300000000 < <(head -c 300000000 /dev/zero | tr '\\0' x; sleep 600)"


def groups_of(job_id):
    """Control groups with the job's name."""
    found = subprocess.run(
        ["find", "/sys/fs/cgroup", "-type", "d", "-name", f"tony-*{job_id}*"],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.split()


class ContainmentTest(JobTest):
    """Each way that works here does the same."""

    def setUp(self):
        super().setUp()
        self.refused = {}
        for way in WAYS:
            job = self.submit("exit 0", "--conf", f"tony.task.containment={way}")
            if job.wait() != 0:
                sentence = self.assert_ends(job, 1, "TASK_NOT_STARTED")
                self.assertIn(f"the containment '{way}' does not work here: ", sentence)
                self.assertIn("tony.task.containment", sentence)
                self.refused[way] = sentence
        self.assertNotIn("process-tree", self.refused)

    def ways(self):
        """Those that work here."""
        return [way for way in WAYS if way not in self.refused]

    def test_status_names_the_first_that_works(self):
        job = self.submit("exit 0")
        self.assert_succeeds(job)
        status = self.site.run("tony", "status", job.folder.name)
        self.assertIn(f"\nContainment: {self.ways()[0]}\n", status.stdout)

    def test_too_much_memory_is_named(self):
        for way in self.ways():
            with self.subTest(way):
                job = self.submit(f"exec {GREEDY}", "--conf", f"tony.task.containment={way}")
                sentence = self.assert_ends(job, 1, "OUT_OF_MEMORY")
                self.assertRegex(
                    sentence,
                    r"^worker:0 used more memory than its container has: "
                    r"peak [0-9.]+ MiB, limit 64 MiB \(tony\.worker\.memory\)$",
                )
                self.assertEqual(groups_of(job.folder.name), [])

    @staticmethod
    def kill(pid):
        """The ApplicationMaster, which sees the executor's end, may do the same to the keeper."""
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def test_nothing_outlives_executor_and_keeper(self):
        for way in self.ways():
            with self.subTest(way):
                line = self.pipe(f"line-{way}")
                job = self.submit(
                    f"(trap '' TERM; exec sleep 600) & setsid sleep 600 & "
                    f"env -i setsid bash -c 'setsid sleep {OWN_SECONDS} &'; echo ready > {line.path}; wait",
                    *("--conf", f"tony.task.containment={way}"),
                    *("--conf", "tony.am.infrastructure-retry-count=0"),
                )
                self.assertEqual(line.read(), "ready")
                processes = machine.processes_with(job.folder.name)
                names = {
                    pid: pathlib.Path(f"/proc/{pid}/comm").read_text().strip() for pid in processes
                }
                for pid, name in names.items():
                    if name == "tony-keeper":
                        os.kill(pid, signal.SIGSTOP)
                for pid, name in names.items():
                    if name in ("tony-executor", "tony-keeper"):
                        self.kill(pid)
                self.assert_ends(job, 3)
                # One that has lost the environment by which the others are known.
                self.assertEqual(machine.processes_with(f"sleep\0{OWN_SECONDS}"), {})
                self.assertEqual(groups_of(job.folder.name), [])


if __name__ == "__main__":
    integration_case.main()
