#!/usr/bin/env python3
"""A job on YARN as a step of a workflow: attempts from anywhere have one application.

    yarn_steps_test.py PROGRAMS [unittest's arguments]

Exits with 77 where Hadoop cannot run.
"""

import getpass
import hashlib
import json
import pathlib
import signal
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/integration")]

# pylint: disable=wrong-import-position
import tony_cli
import yarn_cluster

KEY = "flow|1|train"
SMALL = ("--conf", "tony.am.memory=256m", "--conf", "tony.worker.memory=256m", "--conf", "tony.worker.instances=1")
END_SECONDS = 120
# From SIGTERM to the end of the application in the ResourceManager.
STOP_SECONDS = 2.0
OVER = ("FINISHED", "FAILED", "KILLED")

programs = None  # pylint: disable=invalid-name
cluster = None  # pylint: disable=invalid-name


def setUpModule():  # pylint: disable=invalid-name
    """One cluster for all."""
    global cluster  # pylint: disable=global-statement
    cluster = yarn_cluster.YarnCluster("--heartbeat", "200")


def tearDownModule():  # pylint: disable=invalid-name
    """Stops it, with all that runs there."""
    cluster.stop()


class YarnStepTest(unittest.TestCase):
    """Attempts of one step, each as from a host of its own: they share the cluster only."""

    def setUp(self):
        self.key = f"{KEY}|{self.id()}"

    def attempt(self, command, *more):
        """Starts an attempt on a site of its own; returns its process and its summary's file."""
        site = tony_cli.Site(self, programs, cluster)
        summary = site.folder / "summary.json"
        process = site.start(
            self, "tony-submit", "--executes", command, *SMALL, "--step-key", self.key,
            "--summary", str(summary), *more)
        return process, summary

    def finish(self, process, code=0):
        """The text of an attempt, which ends with `code`."""
        out, err = process.communicate(timeout=END_SECONDS)
        self.assertEqual(process.returncode, code, err + out)
        return out, err

    def submitted(self, process):
        """The id of the attempt's application, once that is submitted."""
        for line in process.stdout:
            if line.startswith("Job application_"):
                return line.split()[1]
        self.fail(f"no job: {process.stderr.read()}")

    def await_line(self, process, text):
        """Reads the attempt's output up to a line with `text`."""
        for line in process.stdout:
            if text in line:
                return
        self.fail(f"no {text}: {process.stderr.read()}")

    def application(self, job):
        """What the ResourceManager says of the application."""
        return cluster.ask(f"apps/{job}")["app"]

    def await_over(self, job, seconds=END_SECONDS):
        """Waits until the ResourceManager says that the application is over; returns how long that took."""
        begin = time.monotonic()
        while self.application(job)["state"] not in OVER:
            if time.monotonic() - begin > seconds:
                self.fail(f"{job} goes on: {self.application(job)}")
        return time.monotonic() - begin

    def test_sigterm_ends_the_application(self):
        process, summary = self.attempt("exec sleep 600")
        job = self.submitted(process)
        self.await_line(process, "RUNNING: worker [0]")
        process.send_signal(signal.SIGTERM)
        # The measured time is in the message; a loaded machine gets as long as it needs.
        took = self.await_over(job)
        self.finish(process, code=4)
        print(f"SIGTERM to the end of the application: {took:.2f} s (aim {STOP_SECONDS})", file=sys.stderr)
        self.assertEqual(json.loads(summary.read_text(encoding="utf-8"))["verdict"], "KILLED")

    def test_a_killed_client_leaves_its_application_to_the_next_attempt(self):
        first, _ = self.attempt("sleep 3; echo trained")
        job = self.submitted(first)
        first.kill()
        second, summary = self.attempt("exit 1")
        out, _ = self.finish(second)
        self.assertIn("worker:0 | trained", out)
        told = json.loads(summary.read_text(encoding="utf-8"))
        self.assertEqual((told["application_id"], told["adopted"], told["attempt"]), (job, True, 2), out)
        # It was told, so the next attempt begins anew.
        third, summary = self.attempt("true")
        self.finish(third)
        self.assertNotEqual(json.loads(summary.read_text(encoding="utf-8"))["application_id"], job)

    def test_a_client_killed_before_its_application_is_submitted(self):
        for pause in (0.05, 0.2, 0.5, 1.0):
            first, _ = self.attempt("sleep 1")
            time.sleep(pause)
            first.kill()
            second, summary = self.attempt("sleep 1")
            self.finish(second)
            job = json.loads(summary.read_text(encoding="utf-8"))["application_id"]
            active = [app["id"] for app in (cluster.ask("apps")["apps"] or {"app": []})["app"]
                      if app["state"] not in OVER and app["id"] != job]
            self.assertEqual(active, [])

    def test_attempts_at_the_same_time_have_one_application(self):
        before = cluster.ask("apps")["apps"] or {"app": []}
        attempts = [self.attempt("sleep 2") for _ in range(2)]
        jobs = set()
        for process, summary in attempts:
            self.finish(process)
            jobs.add(json.loads(summary.read_text(encoding="utf-8"))["application_id"])
        after = cluster.ask("apps")["apps"]
        self.assertEqual(len(jobs), 1)
        self.assertEqual(len(after["app"]) - len(before["app"]), 1)

    def test_steps_that_nobody_uses_any_more_are_removed(self):
        self.finish(self.attempt("true")[0])
        steps = f"/user/{getpass.getuser()}/.tony/steps"
        old = hashlib.sha256(self.key.encode()).hexdigest()[:32]
        self.assertIn(old, cluster.list_hdfs(steps, getpass.getuser()))
        cluster.web_hdfs("PUT", f"{steps}/{old}", "SETTIMES", modificationtime=1_700_000_000_000)
        self.key += "|next"
        self.finish(self.attempt("sleep 2")[0])
        left = cluster.list_hdfs(steps, getpass.getuser())
        self.assertNotIn(old, left)
        self.assertIn(hashlib.sha256(self.key.encode()).hexdigest()[:32], left)

    def test_a_failure_leaves_its_checkpoints(self):
        first, summary = self.attempt("exit 1")
        self.finish(first, code=1)
        folder = json.loads(summary.read_text(encoding="utf-8"))["checkpoint_dir"]
        second, summary = self.attempt('echo "$TONY_CHECKPOINT_DIR"')
        out, _ = self.finish(second)
        self.assertIn(folder, out)
        self.assertEqual(json.loads(summary.read_text(encoding="utf-8"))["checkpoint_dir"], folder)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    yarn_cluster.skip_without()
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
