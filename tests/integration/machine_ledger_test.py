#!/usr/bin/env python3
"""Two users of one machine never get the same GPU, where an administrator made a ledger for all."""

import json
import os
import shutil
import signal

import integration_case
import machine
import second_user
import tony_cli
from integration_case import SMALL, JobTest

AS_BOB = ["setpriv", f"--reuid={second_user.UID}", f"--regid={second_user.UID}", "--clear-groups",
          "--no-new-privs"]


class MachineLedgerTest(JobTest):
    """Jobs of root and of a second user, each on a site of its own, with one GPU for both."""

    def setUp(self):
        super().setUp()
        second_user.require(self)
        os.chmod(self.site.folder, 0o755)
        self.ledger = self.site.folder / "ledger"
        self.ledger.mkdir()
        self.ledger.chmod(0o1777)
        self.bobs = tony_cli.Site(self, self.site.programs)
        self.bobs.environment["HOME"] = str(self.bobs.folder)
        for path in [self.bobs.folder, *self.bobs.folder.rglob("*")]:
            os.chown(path, second_user.UID, second_user.UID)

    def conf(self, *more):
        """The options of all jobs and verbs here."""
        keys = (f"tony.local.ledger={self.ledger}", "tony.local.gpus=1", *more)
        return [part for key in keys for part in ("--conf", key)]

    def start(self, site, name, *more):
        """Starts a job with the GPU that runs until its gate opens."""
        gate = tony_cli.Line(self, site.folder / f"gate-{name}")
        os.chown(gate.path, second_user.UID, second_user.UID)
        job = site.submit(
            *("--executes", f"read < {gate.path}", "--conf", "tony.worker.instances=1"),
            *SMALL, *self.conf("tony.worker.gpus=1", *more),
            prefix=AS_BOB if site is self.bobs else (),
        )
        return job, gate

    def waiting(self, job):
        """What the job waits for, when it has said so."""
        job.wait_for(lambda events: any("waiting" in event for event in events), "waiting")
        return job.events("waiting")[-1]

    def test_the_second_waits_for_the_first_and_names_its_user(self):
        first, first_gate = self.start(self.site, "first")
        first.wait_until_running("worker:0")
        second, second_gate = self.start(self.bobs, "second")
        waiting = self.waiting(second)
        self.assertIn("needs 1 GPU, 0 of 1 are free", waiting["what"])
        self.assertIn(f"job {first.id} of root (pid ", waiting["what"])
        self.assertNotIn("tony kill", waiting["unblock"])
        top = self.site.run("tony", "top", *self.conf())
        self.assertEqual(top.returncode, 0, top.stderr)
        lines = top.stdout.splitlines()
        self.assertIn("1 of 1 GPU and", lines[0])
        self.assertEqual(lines[1].split(), ["USER", "JOB", "PID", "GPUS", "MEMORY", "VCORES",
                                            "WAITS", "FOR"])
        self.assertRegex(lines[2], rf"^root +{first.id} +\d+ +0 +64 MiB +1 +-$")
        self.assertRegex(lines[3], rf"^{second_user.UID} +{second.id} +\d+ +- +- +- +1 GPU, 64 MiB$")
        said = json.loads(self.site.run("tony", "top", "--json", *self.conf()).stdout)
        self.assertEqual([job["gpu_indices"] for job in said["jobs"]], [[0], []])
        first_gate.write()
        self.assert_succeeds(first)
        second.wait_until_running("worker:0")
        second_gate.write()
        self.assertEqual(second.wait(), 0, second.describe())
        self.assertEqual(sorted(path.name for path in self.ledger.rglob("*.json")), [])

    def test_a_killed_job_makes_room_for_the_other_user(self):
        first, _ = self.start(self.bobs, "first", "tony.am.max-restarts=0")
        first.wait_until_running("worker:0")
        second, second_gate = self.start(self.site, "second")
        self.assertIn(f"job {first.id} of {second_user.UID}", self.waiting(second)["what"])
        for pid in machine.processes_with(first.id):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # one that dies takes others with it
        second_gate.write()
        self.assert_succeeds(second)

    def test_a_master_that_is_lost_finds_its_share_again(self):
        first, first_gate = self.start(self.bobs, "first")
        first.wait_until_running("worker:0")
        (master,) = (pid for pid in machine.processes_with(first.id)
                     if machine.name_of(pid) == "tony-am")
        os.kill(master, signal.SIGKILL)
        first.wait_for(
            lambda events: any("master_restarted" in event for event in events), "restart")
        second, second_gate = self.start(self.site, "second")
        self.assertIn(f"job {first.id} of {second_user.UID}", self.waiting(second)["what"])
        first_gate.write()
        self.assertEqual(first.wait(), 0, first.describe())
        second_gate.write()
        self.assert_succeeds(second)

    def test_users_have_limits(self):
        job = self.site.submit(
            *("--executes", "true", "--conf", "tony.worker.instances=1"), *SMALL,
            *self.conf("tony.worker.gpus=1", f"tony.local.user-gpus=1, root=0"),
        )
        self.assertEqual(job.wait(), 5, job.describe())
        self.assertIn("all jobs of this user together may have at most 0 (tony.local.user-gpus)",
                      job.verdict["sentence"])
        first, first_gate = self.start(self.bobs, "first", "tony.local.user-gpus=1, root=0")
        first.wait_until_running("worker:0")
        first_gate.write()
        self.assertEqual(first.wait(), 0, first.describe())

    def test_a_place_that_is_not_fit_is_refused_with_the_remedy(self):
        shutil.rmtree(self.ledger)
        job, _ = self.start(self.site, "none")
        self.assertEqual(job.wait(), 3, job.describe())
        self.assertIn(f"{self.ledger}", job.verdict["sentence"])
        self.ledger.mkdir()
        self.ledger.chmod(0o755)
        job, _ = self.start(self.bobs, "closed")
        self.assertEqual(job.wait(), 3, job.describe())
        self.assertIn("Permission denied", job.verdict["sentence"])


if __name__ == "__main__":
    integration_case.main()
