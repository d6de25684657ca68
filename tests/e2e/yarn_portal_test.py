#!/usr/bin/env python3
"""History locations of the portal in a real HDFS: as they are, and when the NameNode is silent or gone.

`yarn_portal_test.py PROGRAMS [unittest's arguments]`. Exit status 77: Hadoop cannot run here.
"""

import getpass
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "integration"), str(ROOT / "tests" / "support")]

# pylint: disable=wrong-import-position
import integration_case
import machine
import tony_cli
import yarn_cluster
from job_page import Page

HISTORY = f"/user/{getpass.getuser()}/.tony"
# An answer of a NameNode is waited for ten seconds.
SILENCE_SECONDS = 60
# A call to it that is under way is broken off within a second; the rest is a busy machine's.
END_SECONDS = 8

# Until the stacks of a job that hangs are kept: its limit, a look each five seconds, and a busy machine's time.
HANG_SECONDS = 120
# Names its steps, and then waits without any.
HANG = """
import time
import tony

def load_batch():
    with open("{gate}") as gate:
        gate.read(1)

for step in range(20):
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        pass
    tony.report(step=step)
load_batch()
"""

# The exit code of tony-submit when a task ran longer than allowed.
TIMED_OUT = 3
# Until YARN has collected the logs of a job that has ended, on a busy machine.
COLLECTION_SECONDS = 120
# Says hello, and waits for longer than it may.
SLOW = """
import os
import time

def load_batch():
    time.sleep(600)

print("hello from", os.environ["TASK_INDEX"], flush=True)
load_batch()
"""

cluster = None  # pylint: disable=invalid-name


def setUpModule():  # pylint: disable=invalid-name
    """One cluster, whose NameNode a test may stop."""
    global cluster  # pylint: disable=global-statement
    cluster = yarn_cluster.YarnCluster("--property", "yarn:yarn.log-aggregation-enable=true")


def tearDownModule():  # pylint: disable=invalid-name
    """Stops it, with all that runs there."""
    cluster.stop()


class YarnPortalTest(integration_case.JobTest):
    """Jobs of one user, and portals that know no cluster but its HDFS."""

    @staticmethod
    def yarn_cluster():
        return cluster

    def start(self, *locations, configured=True):
        """A portal of these locations only; returns its process and its visitor."""
        environment = dict(self.site.environment)
        if not configured:
            del environment["HADOOP_CONF_DIR"]
        command = [self.site.programs / "tony", "portal", "--json", "--conf", f"tony.local.dir={self.site.local_dir}"]
        for location in locations:
            command += ["--location", location]
        portal = subprocess.Popen(command, cwd=self.site.folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, text=True)
        for clean_up in (portal.stdout.close, portal.wait, portal.kill):
            self.addCleanup(clean_up)
        page = Page(json.loads(portal.stdout.readline())["url"])
        self.assertEqual(page.enter()[0], 303)
        return portal, page

    def end(self, portal):
        """Ends it as Ctrl-C does, with a status of 0; returns how long that took."""
        begin = time.monotonic()
        portal.send_signal(signal.SIGINT)
        self.assertEqual(portal.wait(tony_cli.DEADLINE_SECONDS), 0)
        return time.monotonic() - begin

    def wait_for(self, page, **wanted):
        """The one job of the list, once it has the wanted fields."""
        def find():
            listed = page.api("jobs")["jobs"]
            alone = len(listed) == 1 and all(listed[0][name] == value for name, value in wanted.items())
            return listed if alone else None
        found = machine.wait_until(find, SILENCE_SECONDS, 0.1)
        self.assertTrue(found, (wanted, page.api("jobs")))
        return found[0]

    def wait_for_trouble(self, page, *parts):
        """The sentence of why the list is old."""
        def find():
            trouble = page.api("jobs")["index"]["trouble"] or ""
            return trouble if all(part in trouble for part in parts) else None
        found = machine.wait_until(find, SILENCE_SECONDS, 0.1)
        self.assertTrue(found, (parts, page.api("jobs")["index"]))
        return found

    def test_jobs_in_hdfs_are_shown_also_without_the_name_node(self):
        gate = self.pipe("gate")
        job = self.submit(f"read word < {gate.path}", *integration_case.conf(application__name="in HDFS"))
        job.wait_until_running("worker:0")
        web, name_node = f"webhdfs://{cluster.environment['NAMENODE_WEB']}{HISTORY}", f"hdfs://{HISTORY}"

        # A location without Hadoop's configuration, while the job runs.
        portal, page = self.start(web, configured=False)
        self.wait_for(page, id=job.id, state="RUNNING", name="in HDFS", backend="yarn")
        self.end(portal)

        # The same in the default file system, from the job's last minute on.
        portal, page = self.start(name_node)
        self.wait_for(page, id=job.id, state="RUNNING")
        gate.write()
        self.assertEqual(job.wait(tony_cli.DEADLINE_SECONDS), 0, job.describe())
        listed = self.wait_for(page, state="SUCCEEDED", alive=False)
        self.assertEqual(page.api(f"jobs/{job.id}")["verdict"]["outcome"], "SUCCEEDED")
        numbers = [event["sequence"] for event in page.api(f"jobs/{job.id}/events")["events"]]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
        self.assertIsNone(page.api("jobs")["index"]["trouble"])
        self.assertIn("/portal/clusters/", listed["location"])

        # A NameNode that is silent: the list says so, and Ctrl-C does not wait for it.
        process = int((cluster.folder / "pid/namenode").read_text())
        os.kill(process, signal.SIGSTOP)
        try:
            said = self.wait_for_trouble(page, f"The jobs of {name_node} are shown as they were", " UTC: ")
            self.wait_for(page, state="SUCCEEDED")
            self.assertLess(self.end(portal), END_SECONDS)
            # The next portal shows the same, and knows since when it is old.
            portal, page = self.start(name_node)
            again = self.wait_for_trouble(page, f"The jobs of {name_node} are shown as they were")
            self.assertEqual(again.split(" UTC: ")[0][:-2], said.split(" UTC: ")[0][:-2], "the same minute")
            self.wait_for(page, state="SUCCEEDED")
        finally:
            os.kill(process, signal.SIGCONT)
        answered = machine.wait_until(lambda: not page.api("jobs")["index"]["trouble"], SILENCE_SECONDS, 0.1)
        self.assertTrue(answered, page.api("jobs")["index"])
        self.assertLess(self.end(portal), END_SECONDS)

    def test_the_stacks_of_a_job_that_seemed_to_hang_outlive_its_containers(self):
        gate, program = self.pipe("hang"), self.site.folder / "hang.py"
        program.write_text(HANG.format(gate=gate.path))
        job = self.submit(f"python3 {program}", *integration_case.conf(task__hang_limit_ms=3000,
                                                                       task__metrics_interval_ms=100))
        job.wait_until_running("worker:0")
        portal, page = self.start(f"hdfs://{HISTORY}")

        def kept():
            status, text = page.ask(f"jobs/{job.id}/stacks")
            return json.loads(text)["kept"] if status == 200 else None

        self.assertTrue(machine.wait_until(kept, HANG_SECONDS, 0.5), job.describe())
        status, answer = page.post(f"jobs/{job.id}/stop", "{}")
        self.assertEqual(status, 409)
        self.assertIn(f"tony kill {job.id}", answer["detail"])
        gate.write()
        self.assertEqual(job.wait(tony_cli.DEADLINE_SECONDS), 0, job.describe())
        over = machine.wait_until(lambda: page.api(f"jobs/{job.id}")["verdict"], SILENCE_SECONDS, 0.1)
        self.assertTrue(over)
        (shown,) = kept()
        self.assertEqual((shown["task"], shown["cut"]), (None, False))
        self.assertIn("    load_batch ", shown["text"])
        (said,) = self.site.verb("stacks", job.id)["kept"]
        self.assertEqual(said["text"], shown["text"])
        self.assertTrue(said["path"].endswith(f"/jobs/{job.id}/stacks.txt"), said["path"])
        # Nobody has asked for its logs, and the page has the command.
        may = page.api(f"jobs/{job.id}")["may"]
        self.assertEqual((may["stop"], may["logs"], may["logs_command"]), (False, False, f"tony logs {job.id}"))
        self.assertIn("has not copied them", may["logs_note"])
        self.end(portal)

    def test_logs_are_copied_when_they_are_asked_for_and_stay(self):
        program = self.site.folder / "slow.py"
        program.write_text(SLOW)
        job = self.submit(f"python3 {program}", *integration_case.conf(task__executor__execution_timeout_ms=10_000),
                          workers=2)
        self.assertEqual(job.wait(tony_cli.DEADLINE_SECONDS), TIMED_OUT, job.describe())
        portal, page = self.start(f"hdfs://{HISTORY}")
        self.wait_until_listed(page, job)

        def come():
            # YARN collects them some seconds after the job's end.
            status, text = page.ask(f"jobs/{job.id}/errors")
            if status != 200:
                self.assertEqual(status, 503, text)
                self.assertIn(f"tony logs {job.id}", text)
            may = page.api(f"jobs/{job.id}")["may"]
            return may["logs"] and not may["logs_note"]

        self.assertTrue(machine.wait_until(come, COLLECTION_SECONDS, 0.2), page.api(f"jobs/{job.id}")["may"])
        shown = self.assert_logs(page, job)
        # The command shows the same stacks, from where YARN has collected them.
        said = self.site.verb("stacks", job.id)["kept"]
        self.assertEqual([(one["task"], one["attempt"], one["text"]) for one in said],
                         [(one["task"], one["attempt"], one["text"]) for one in shown])
        self.assertEqual(self.site.verb("stacks", job.id, "--task", said[0]["task"])["kept"], said[:1])
        self.end(portal)

        # They lie beside the copies of the records, and nobody is asked for them again.
        process = int((cluster.folder / "pid/namenode").read_text())
        os.kill(process, signal.SIGSTOP)
        try:
            portal, page = self.start(f"hdfs://{HISTORY}")
            self.wait_until_listed(page, job)
            self.assert_logs(page, job)
            self.end(portal)
        finally:
            os.kill(process, signal.SIGCONT)

    def wait_until_listed(self, page, job):
        """Until the portal knows the job and its end."""
        def ended():
            status, text = page.ask(f"jobs/{job.id}")
            return status == 200 and json.loads(text)["verdict"]
        self.assertTrue(machine.wait_until(ended, SILENCE_SECONDS, 0.1), page.api("jobs"))

    def assert_logs(self, page, job):
        """What both workers of SLOW have printed is there; returns the stacks that were kept of them."""
        def lines(task):
            rows = page.api(f"jobs/{job.id}/logs", task=task, streams="stdout,stderr,executor")["rows"]
            return [row[-1] for row in rows]

        self.assertIn("execution-timeout-ms", page.api(f"jobs/{job.id}/errors")["failure"]["sentence"])
        self.assertIn("hello from 0", lines("worker-0"))
        self.assertIn("hello from 1", lines("worker-1"))
        self.assertTrue(any(job.id in line for line in lines("am")), lines("am")[:3])
        self.assertEqual(page.get(f"{page.base}jobs/{job.id}/logs/worker-0/attempt-1/stderr")[0], 200)
        # The other worker's time may not have been over, too.
        kept = page.api(f"jobs/{job.id}/stacks")["kept"]
        self.assertGreaterEqual(len(kept), 1)
        for one in kept:
            self.assertIn("load_batch ", one["text"])
        return kept

    def test_what_is_no_location_is_named(self):
        cluster.web_hdfs("PUT", "/shared/jobs", "MKDIRS")
        cluster.web_hdfs("PUT", "/shared", "SETOWNER", owner="bob")
        _, page = self.start("hdfs:///shared", "hdfs:///nothing/here")
        said = self.wait_for_trouble(page, "hdfs:///shared", "hdfs:///nothing/here")
        self.assertIn("/shared belongs to bob", said)
        self.assertIn("there is no folder /nothing/here", said)


if __name__ == "__main__":
    yarn_cluster.skip_without()
    integration_case.main()
