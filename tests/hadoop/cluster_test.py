#!/usr/bin/env python3
"""Speaks with a real Hadoop cluster, in plain and with Kerberos, under each protection.

    cluster_test.py PROGRAMS [UNITTEST-ARGUMENT…]

PROGRAMS is the folder of yarn_submit and yarn_master. Exits with 77 where Hadoop cannot run.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import machine  # noqa: E402
import yarn_cluster  # noqa: E402

# Two of these do not fit on one node of 4096 MB.
CONTAINER_MB = 2500


class ClusterCase(unittest.TestCase):
    """A cluster for the time of one test."""

    programs = None

    def start(self, *options):
        self.cluster = yarn_cluster.YarnCluster(*options)
        self.addCleanup(self.cluster.stop)
        self.folder = self.cluster.folder
        self.environment = self.cluster.environment

    def submit(self, user, command, *more, configuration="conf"):
        return subprocess.run(
            [self.programs / "yarn_submit", self.folder / configuration, user, command, *more],
            env=self.environment, capture_output=True, text=True, timeout=120)

    def master(self, command):
        """The ApplicationMaster's command line; each of two containers runs `command`.

        YARN runs both in double quotes: a `\\$` is for the containers' shell.
        """
        scheduler = self.environment["SCHEDULER_ADDRESS"]
        return (f"{self.programs}/yarn_master {scheduler} 2 {CONTAINER_MB} '{command}'"
                " 1><LOG_DIR>/master 2>&1")

    def report(self, application):
        url = f"http://{self.environment['RM_WEB']}/ws/v1/cluster/apps/{application}"
        curl = ["curl", "--silent", "--show-error", "--fail", "--negotiate", "--user", ":", url]
        text = subprocess.run(curl, env=self.environment, check=True, capture_output=True).stdout
        return json.loads(text)["app"]

    def written(self, name):
        """The content of the containers' files of this name."""
        return [path.read_text() for path in sorted(self.folder.glob(f"data/node*/log/*/*/{name}"))]

    def await_files(self, name, count):
        come = machine.wait_until(
            lambda: len(self.written(name)) >= count, 60, pause_seconds=0.05)
        self.assertTrue(come, f"{count} files {name} do not come")

    def check_run(self, user, prelude="true", *more):
        result = self.submit(user, f"{prelude} && " + self.master("date >\\$LOG_DIRS/date"), *more)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        application = re.search(r"application (application_\d+_\d+)", result.stdout).group(1)
        report = self.report(application)
        self.assertEqual((report["state"], report["finalStatus"], report["applicationType"],
                          report["user"]), ("FINISHED", "SUCCEEDED", "TONY", user))
        (master,) = self.written("master")
        self.assertEqual(len(set(re.findall(r"started on (\S+)", master))), 2, master)
        dates = self.written("date")
        self.assertEqual(len(dates), 2)
        for date in dates:
            self.assertRegex(date, r"\b20\d\d\b")


class PlainCluster(ClusterCase):
    def test_authentication_and_hdfs(self):
        self.start("--protection", "authentication")
        self.check_run("bob", "grep 'from HDFS' input", "/user/bob/files/input")

    def test_integrity(self):
        self.start("--protection", "integrity", "--no-hdfs")
        self.check_run("bob")

    def test_privacy(self):
        self.start("--protection", "privacy", "--no-hdfs")
        self.check_run("bob")


    def test_resource_manager_killed_and_started_again(self):
        """The client and the ApplicationMaster wait for it and continue; no container is lost."""
        self.start("--protection", "integrity", "--no-hdfs", "--recovery")
        master = self.master("touch \\$LOG_DIRS/begun; "
                             f"until [ -e {self.folder}/go ]; do sleep 0.1; done; echo x >>\\$LOG_DIRS/end")
        client = subprocess.Popen(
            [self.programs / "yarn_submit", self.folder / "conf", "bob", master],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.await_files("begun", 2)
        self.cluster.kill("resourcemanager")
        self.cluster.launch("resourcemanager")
        (self.folder / "go").touch()
        output, _ = client.communicate(timeout=120)
        self.assertEqual(client.returncode, 0, output)
        self.assertEqual(self.written("end"), ["x\n", "x\n"])
        (said,) = self.written("master")
        self.assertEqual(said.count("registered in queue"), 2, said)


class KerberosCluster(ClusterCase):
    def test_privacy(self):
        self.start("--kerberos", "--protection", "privacy")
        self.check_refusals()
        yarn_cluster.log_in("alice", self.environment)
        self.check_run("alice", "grep 'from HDFS' input", "/user/alice/files/input")

    def test_authentication_and_integrity(self):
        self.start("--kerberos", "--protection", "authentication,integrity", "--no-hdfs")
        yarn_cluster.log_in("alice", self.environment)
        self.check_run("alice")
        self.check_that_less_is_refused()

    def check_that_less_is_refused(self):
        """The servers offer less than this client's hadoop.rpc.protection: it tells them nothing."""
        demanding = self.folder / "conf-that-demands-privacy"
        shutil.copytree(self.folder / "conf", demanding)
        core = demanding / "core-site.xml"
        core.write_text(core.read_text().replace(
            "rpc.protection</name><value>authentication,integrity", "rpc.protection</name><value>privacy"))
        result = self.submit("alice", "true", configuration=demanding.name)
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertIn("PERMISSION_DENIED", result.stderr)
        self.assertIn("the server offers only integrity, authentication, less than "
                      "hadoop.rpc.protection = privacy", result.stderr)

    def check_refusals(self):
        """Without a ticket it ends at once with a sentence; a name alone is not believed."""
        started = time.monotonic()
        result = self.submit("alice", "true")
        # With retries it would take a minute.
        self.assertLess(time.monotonic() - started, 20)
        self.assertEqual(result.returncode, 3)
        self.assertIn("get a ticket with kinit", result.stderr)
        without = self.folder / "conf-without-kerberos"
        shutil.copytree(self.folder / "conf", without)
        core = without / "core-site.xml"
        core.write_text(core.read_text().replace(
            "authentication</name><value>kerberos", "authentication</name><value>simple"))
        result = self.submit("alice", "true", configuration=without.name)
        self.assertEqual(result.returncode, 3)
        self.assertIn("UNAUTHENTICATED", result.stderr)
        self.assertIn("SIMPLE authentication is not enabled", result.stderr)


def main():
    yarn_cluster.skip_without("krb5kdc", "kadmin.local", "kinit")
    ClusterCase.programs = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)


if __name__ == "__main__":
    main()
