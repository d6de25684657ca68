#!/usr/bin/env python3
"""The key of a job's ranks: each job has its own, its tasks know it, and nobody else."""

import os
import pathlib
import signal

import integration_case
import machine
import tony_cli
from integration_case import JobTest
from open_test import Page

NAME = "TONY_COLLECTIVE_KEY"
RETRY = ("--conf", "tony.am.retry-count=1")


class CollectiveKeyTest(JobTest):
    """Looks at running jobs."""

    def key_of(self, pid):
        """As the program finds it."""
        return machine.variable_of(pid, NAME, tony_cli.DEADLINE_SECONDS)

    def keys(self, job, *tasks, epoch=0):
        """Those of the programs of some tasks."""
        return {self.key_of(pid) for pid in job.wait_until_running(*tasks, epoch=epoch)}

    def stop(self, *jobs):
        for job in jobs:
            self.site.verb("kill", job.id)
            self.assert_ends(job, 4, "KILLED_BY_USER")

    def test_each_job_has_its_own(self):
        jobs = [self.submit("exec sleep 600", "--conf", f"tony.application.framework={framework}",
                            "--conf", "tony.ps.instances=1", "--conf", "tony.ps.memory=64m", workers=2)
                for framework in ("pytorch", "tensorflow")]
        keys = set()
        for job in jobs:
            (key,) = self.keys(job, "worker:0", "worker:1", "ps:0")
            self.assertRegex(key, "^[0-9a-f]{64}$")
            keys.add(key)
        self.assertEqual(len(keys), len(jobs))
        self.stop(*jobs)

    def test_a_key_of_another_job_around_it_is_not_taken(self):
        self.site.environment[NAME] = "of a job whose task submits one"
        job = self.submit("exec sleep 600")
        (key,) = self.keys(job, "worker:0")
        self.assertRegex(key, "^[0-9a-f]{64}$")
        self.stop(job)

    def test_the_user_s_own_wins(self):
        job = self.submit("exec sleep 600", "--shell_env", f"{NAME}=mine")
        self.assertEqual(self.keys(job, "worker:0"), {"mine"})
        self.stop(job)

    def test_it_stays_through_restarts(self):
        gate = self.pipe("gate")
        job = self.submit(f"read < {gate.path}; [ $TONY_EPOCH = 1 ]", *RETRY)
        first = self.keys(job, "worker:0")
        (master,) = machine.programs_of(job.id, "tony-am")
        os.kill(master, signal.SIGKILL)
        job.wait_for(lambda events: any("master_restarted" in event for event in events),
                     "another ApplicationMaster")
        gate.write()
        self.assertEqual(self.keys(job, "worker:0", epoch=1), first)
        gate.write()
        self.assert_succeeds(job)

    def test_nobody_else_sees_it(self):
        ready, gate = self.pipe("ready"), self.pipe("gate")
        # Twice: as a shell prints it, and Python.
        show = "env; python3 -c 'import os; print(dict(os.environ))' >&2"
        job = self.submit(f"{show}; echo > {ready.path}; read < {gate.path}", workers=2)
        ready.read()
        ready.read()
        programs = job.wait_until_running("worker:0", "worker:1")
        (key,) = {self.key_of(pid) for pid in programs}
        page = Page(self.site.verb("open", job.id)["url"])
        page.enter()
        shown = [page.get(page.base)[2]]
        secret = key.encode()
        # The programs' own environment is theirs, and this user's alone.
        ours = [pid for pid in machine.processes_with(job.id)
                if machine.name_of(pid).startswith("tony-")]
        self.assertGreaterEqual(len(ours), 4)  # an ApplicationMaster, executors and their keepers
        for pid in [*ours, job.client.pid, *programs]:
            self.assert_without(secret, pathlib.Path(f"/proc/{pid}/cmdline"))
        for pid in [*ours, job.client.pid]:
            self.assert_without(secret, pathlib.Path(f"/proc/{pid}/environ"))
        self.look_at_files(job, secret)
        gate.write(2)
        self.assert_succeeds(job)

        self.look_at_files(job, secret)
        for command in (("status", "--json"), ("status",), ("logs",), ("list", "--json")):
            verb, *options = command
            which = [] if verb == "list" else [job.id]
            result = self.site.run("tony", verb, *which, *options)
            self.assertEqual(result.returncode, 0, result.stderr)
            shown.append(result.stdout + result.stderr)
        self.assertIn(f"{NAME}=[redacted]", shown[3])
        self.assertIn(f"'{NAME}': '[redacted]'", shown[3])
        for text in (*shown, job.describe(), job.errors()):
            self.assertNotIn(key, text)

    def look_at_files(self, job, secret):
        """None of the job's has it."""
        files = [path for path in job.folder.rglob("*") if path.is_file()]
        self.assertGreater(len(files), 4)
        for path in files:
            self.assert_without(secret, path)

    def assert_without(self, secret, path):
        self.assertNotIn(secret, path.read_bytes(), path)


if __name__ == "__main__":
    integration_case.main()
