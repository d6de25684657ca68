#!/usr/bin/env python3
"""The examples of the announcement: one for Keras from its start to its check, and the one for PyTorch, fed by Spark.

    examples_test.py PROGRAMS [unittest's arguments]

They need the examples' environment, and Spark's own programs from that of requirements.txt.
"""

import os
import pathlib
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "tests" / folder) for folder in ("integration", "support", "spark")]

# pylint: disable=wrong-import-position
import integration_case
import machine
import place_test
import tony_cli
from integration_case import OwnSiteTest

DEADLINE_SECONDS = 600


class ExampleTest(OwnSiteTest):
    """A program of examples/spark, as a user starts it."""

    def setUp(self):
        super().setUp()
        self.python = tony_cli.examples_python()
        self.models = self.site.folder / "models"

    def start(self, *command):
        """Starts a program with further flags, in the site's folder."""
        environment = {
            **os.environ, "PYTHONPATH": str(integration_case.package_folder()),
            "PATH": f"{integration_case.programs}:{os.environ['PATH']}", "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": self.python}
        self.log = self.site.folder / "program.log"
        with self.log.open("wb") as output:
            process = subprocess.Popen([*command, "--model_dir", self.models, "--memory", "1g"], cwd=self.site.folder,
                                       env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def assert_ends(self, process, code, check):  # pylint: disable=arguments-differ,arguments-renamed
        """The program ends with this exit code, and its check says this."""
        found = process.wait(DEADLINE_SECONDS)
        text = self.log.read_text(encoding="utf-8", errors="replace")
        self.assertEqual(found, code, text[-6000:])
        self.assertRegex(text, rf"(?m)^test accuracy: [0-9.]+$\n^check: {check}")

    @staticmethod
    def jobs(**wanted):
        """The jobs of the site."""
        return integration_case.import_package().jobs(**wanted)

    def printed(self, job_id, task):
        """What a task has printed, in all its attempts."""
        return [line.text for line in integration_case.import_package().attach(job_id).logs(task)]


class KerasTest(ExampleTest):
    """mnist.py stands for all four: they have all but network and format in common."""

    PROGRAM = str(ROOT / "examples/spark/mnist.py")

    def test_killed_it_resumes_and_infers_with_what_it_exported(self):
        process = self.start(self.python, self.PROGRAM, "--checkpoint_every", "10", "--slow_step_seconds", "0.05")
        checkpoint = self.models / "checkpoint.npz"
        self.assertTrue(machine.wait_until(lambda: checkpoint.exists() or process.poll() is not None, DEADLINE_SECONDS,
                                           0.02))
        self.assertIsNone(process.poll(), self.log.read_text(encoding="utf-8", errors="replace"))
        (job,) = self.jobs(running=True)
        tasks = {task.name: task.pid for task in integration_case.import_package().attach(job.id).tasks()}
        os.kill(tasks["worker:0"], signal.SIGKILL)
        self.assert_ends(process, 0, "PASSED")
        printed = self.printed(job.id, "chief:0")
        self.assertIn("starting at step 1", printed)
        resumed = [line for line in printed if line.startswith("resuming after step ")]
        self.assertEqual(len(resumed), 1, printed)
        self.assertGreaterEqual(int(resumed[0].split()[-1]), 10)
        self.assertTrue((self.models / "export" / "saved_model.pb").exists())

    def test_the_check_fails_without_the_exchange(self):
        self.assert_ends(self.start(self.python, self.PROGRAM, "--cut_exchange"), 1,
                         "FAILED: the workers have ended with different weights, and the accuracy is below 0.85$")


class PyTorchTest(ExampleTest):
    """pytorch_fed.py."""

    def test_spark_feeds_it(self):
        self.assert_ends(
            self.start(place_test.spark_program("spark-submit"), "--master", "local[2]", "--conf",
                       "spark.ui.enabled=false", ROOT / "examples/spark/pytorch_fed.py", "--spark"), 0, "PASSED")


if __name__ == "__main__":
    integration_case.main()
