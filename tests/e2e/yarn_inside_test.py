#!/usr/bin/env python3
"""What reaches into the containers of a real YARN cluster: `tony exec`, and `tony notebook` with its tunnel.

    yarn_inside_test.py PROGRAMS [unittest's arguments]

Exits with 77 where Hadoop cannot run.
"""

import pathlib
import re
import signal
import sys
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/integration")]

# pylint: disable=wrong-import-position
import exec_test
import integration_case
import machine
import notebook_test
import tony_cli
import yarn_cluster
from integration_case import JobTest

DEADLINE_SECONDS = 300
MASTER = integration_case.conf(am__memory="256m")

cluster = None  # pylint: disable=invalid-name


def setUpModule():  # pylint: disable=invalid-name
    """One cluster for all."""
    global cluster  # pylint: disable=global-statement
    cluster = yarn_cluster.YarnCluster("--heartbeat", "200")


def tearDownModule():  # pylint: disable=invalid-name
    """Stops it, with all that runs there."""
    cluster.stop()


class InsideTest(JobTest):
    """Each with a job of its own."""

    @staticmethod
    def yarn_cluster():
        return cluster

    def application(self, job):
        """What the ResourceManager says of the application."""
        return cluster.ask(f"apps/{job}")["app"]

    def test_exec(self):
        line = self.pipe("line")
        job = self.site.submit(
            "--executes", f"read word < {line.path}", "--shell_env", "COLOUR=red",
            *integration_case.conf(worker__instances=2, worker__memory="256m"), *MASTER)
        containers = {task: job.wait_for_task(task, "RUNNING", deadline_seconds=DEADLINE_SECONDS)["container"]
                      for task in ("worker:0", "worker:1")}
        for number, (task, container) in enumerate(containers.items()):
            words = ["exec", "--backend", "yarn", job.id, task]
            result = self.site.run_bare(
                "tony", *words, "--", "sh", "-c", "pwd; echo $COLOUR $TASK_INDEX; echo error >&2; exit 7")
            self.assertEqual(result.returncode, 7, result.stderr)
            folder, said = result.stdout.splitlines()
            self.assertIn(container, folder)
            self.assertEqual((said, result.stderr), (f"red {number}", "error\n"))
            shell = exec_test.Terminal(self, [self.site.programs / "tony", *words, "bash", "--norc"], self.site)
            shell.type("tty; (exit 3)\r")
            shell.wait_for(r"/dev/pts/\d+[^#$]*[#$] ")
            shell.type("\x04")
            self.assertEqual(shell.wait(), 3)
        line.write(2)
        self.assertEqual(job.wait(DEADLINE_SECONDS), 0, job.describe())

    def test_notebook(self):
        python = tony_cli.examples_python(notebook_test.REQUIREMENTS)
        folder = self.site.folder / "work"
        folder.mkdir()
        (folder / "first.ipynb").write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
        process = self.site.start(
            self, "tony", "notebook", "--memory", "1g", "--python", python, *MASTER, str(folder),
            deadline_seconds=DEADLINE_SECONDS)
        url = process.stdout.readline()
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+/)\?token=([0-9a-f]+)\n", url)
        self.assertTrue(found, url + ("" if url else process.stderr.read()))
        with urllib.request.urlopen(f"{found[1]}api/contents?token={found[2]}", timeout=60) as answer:
            self.assertIn("first.ipynb", answer.read().decode())
        (job,) = (job["id"] for job in self.site.verb("list", "--running"))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(DEADLINE_SECONDS), 4)
        over = machine.wait_until(lambda: self.application(job)["state"] == "FINISHED", DEADLINE_SECONDS, 0.25)
        self.assertTrue(over, self.application(job))
        self.assertEqual(self.application(job)["finalStatus"], "KILLED")


if __name__ == "__main__":
    yarn_cluster.skip_without()
    integration_case.main()
