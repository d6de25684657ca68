#!/usr/bin/env python3
"""Jobs that outlive their rights, or servers of the cluster, on real YARN clusters.

    yarn_survival_test.py PROGRAMS [unittest's arguments]

PROGRAMS is the folder of tony-submit and its companions, with the runtime bundle built beside it.
Exits with 77 where Hadoop or a KDC cannot run.
"""

import os
import pathlib
import signal
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import machine
import tony_cli
import yarn_cluster

DEADLINE_SECONDS = 180
INFRASTRUCTURE = 3
SMALL = ("--conf", "tony.worker.instances=2", "--conf", "tony.worker.memory=256m",
         "--conf", "tony.am.memory=256m")

programs = None  # pylint: disable=invalid-name


class Waiting:
    """For a test case: a job that runs until told to end, and a lost container of it."""

    def start(self, *arguments):
        """Returns the job, whose programs run."""
        self.over = self.site.folder / "over"
        job = self.site.submit(
            *(*SMALL, "--executes", f"until test -e {self.over}; do sleep 0.1; done", *arguments))
        job.wait_until_running("worker:0", "worker:1")
        return job

    def assert_goes_on(self, job):
        """It gets another container for one that is lost, and comes to its end."""
        (executor, *_) = machine.programs_of(job.id, "tony-executor")
        os.kill(executor, signal.SIGKILL)
        for name in ("worker:0", "worker:1"):  # when the ResourceManager that was started gives containers
            job.wait_for_task(name, "RUNNING", 1, DEADLINE_SECONDS)
        self.over.touch()
        self.assertEqual(job.wait(DEADLINE_SECONDS), 0, job.describe())
        self.assertEqual(len(job.events("epoch_opened")), 1)

    def assert_recorded(self, job):
        """A later reader sees the outcome."""
        result = self.site.run("tony", "status", job.id)
        self.assertIn("SUCCEEDED", result.stdout)


class Tokens(Waiting, unittest.TestCase):
    """A job lives longer than its tokens, which expire in less than a minute."""

    @classmethod
    def setUpClass(cls):
        delegation = "hdfs:dfs.namenode.delegation.token"
        rolling = "master-key-rolling-interval-secs=31"  # the least that YARN takes
        cls.cluster = yarn_cluster.YarnCluster(
            *("--kerberos", "--recovery"),
            *("--property", f"{delegation}.renew-interval=20000"),
            *("--property", f"{delegation}.max-lifetime=30000"),
            *("--property", f"yarn:yarn.resourcemanager.am-rm-tokens.{rolling}"),
            *("--property", f"yarn:yarn.resourcemanager.nm-tokens.{rolling}"),
        )
        cls.addClassCleanup(cls.cluster.stop)

    def setUp(self):
        self.site = tony_cli.Site(self, programs, self.cluster)
        self.site.environment["KRB5CCNAME"] = f"FILE:{self.site.folder}/tickets"

    def log_in(self):
        """Gets a ticket for as long as a job takes to be submitted, or little longer."""
        yarn_cluster.log_in("alice", self.site.environment, "-l", "30s")

    def master_keys(self):
        """How many keys the ResourceManager has signed ApplicationMasters' tokens with."""
        log = (self.cluster.folder / "log/resourcemanager.log").read_text()
        return log.count("AMRMTokenSecretManager: Activating next master key")

    def test_without_a_ticket(self):
        for program in (("tony-submit", "--executes", "true", *SMALL), ("tony", "list")):
            result = self.site.run(*program)
            self.assertEqual(result.returncode, INFRASTRUCTURE, result.stderr)
            self.assertIn("get a ticket with kinit", result.stderr)

    def test_a_job_outlives_its_tokens(self):
        """The journal goes with the right to HDFS; the rest goes on, with another ResourceManager
        and with containers that are new."""
        self.log_in()
        before = self.master_keys()
        job = self.start()
        # The second key comes more than 31 s later: later than the token of HDFS lives.
        self.assertTrue(machine.wait_until(lambda: self.master_keys() > before + 1, DEADLINE_SECONDS))
        self.cluster.kill("resourcemanager")
        self.cluster.launch("resourcemanager")
        self.assert_goes_on(job)
        notes = [note["sentence"] for note in job.events("note")]
        self.assertEqual(sum("The journal cannot be written" in note for note in notes), 1, notes)
        self.log_in()
        self.assert_recorded(job)


class Restarts(Waiting, unittest.TestCase):
    """Servers are lost that others, or they themselves, stand in for."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = yarn_cluster.YarnCluster(
            *("--ha", "--recovery", "--distinct-hosts"),
            # However long a NodeManager takes to start.
            *("--property", "yarn:yarn.nm.liveness-monitor.expiry-interval-ms=120000"),
        )
        cls.addClassCleanup(cls.cluster.stop)

    def setUp(self):
        self.site = tony_cli.Site(self, programs, self.cluster)

    def test_a_node_manager_that_starts_again(self):
        """It finds its containers, and nobody of the job notices."""
        job = self.start()
        pids = job.wait_until_running("worker:0", "worker:1")
        for node in {self.cluster.node_of(pid) for pid in pids}:
            self.cluster.start_again(node)
        self.over.touch()
        self.assertEqual(job.wait(DEADLINE_SECONDS), 0, job.describe())
        self.assertEqual(job.events("epoch_opened"), [])
        self.assertEqual(job.wait_until_running("worker:0", "worker:1"), pids)

    def test_another_resource_manager_takes_over(self):
        """For a running job, one that is submitted meanwhile, and clients that query."""
        job = self.start()
        self.cluster.kill("resourcemanager")
        self.addCleanup(self.cluster.launch, "resourcemanager")
        other = self.site.submit(*SMALL, "--executes", "true")
        self.cluster.run_script("activate", "rm2", self.cluster.folder)
        self.assert_goes_on(job)
        self.assertEqual(other.wait(DEADLINE_SECONDS), 0, other.describe())
        self.assert_recorded(job)


def main():
    yarn_cluster.skip_without("krb5kdc", "kadmin.local", "kinit")
    unittest.main()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    main()
