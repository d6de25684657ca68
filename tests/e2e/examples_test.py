#!/usr/bin/env python3
"""Runs the examples through the real programs: they train, as one, and survive a killed worker.

    examples_test.py PROGRAMS [unittest's arguments]

PROGRAMS is the folder of tony-submit and its companions. The first run makes the examples' Python
environment, which takes minutes.
"""

import pathlib
import re
import subprocess
import sys
import unittest

import tony_job

STEPS = 300
CHECKPOINT_EVERY = 20
ACCURACY = 0.95
PROGRAMS = pathlib.Path()  # set by main()


class ExampleTests:
    """What holds for every example; the classes below name theirs. Not thread safe."""

    example = check = logger = ""  # folder, check script, the task that logs steps and accuracy
    loggers = ()  # all tasks that log steps

    @classmethod
    def setUpClass(cls):
        made = subprocess.run(
            [tony_job.ROOT / "scripts/python-environment"], stdout=subprocess.PIPE, check=True
        )
        cls.python = made.stdout.decode().strip()

    def start(self, *task_params, retries=0):
        """Starts the example with options for its program; returns the job."""
        steps = ["--steps", str(STEPS), "--checkpoint-every", str(CHECKPOINT_EVERY)]
        return tony_job.Job(
            self,
            PROGRAMS,
            [
                *("--python_binary_path", self.python, "--executes", "train.py"),
                *("--task_params", " ".join([*steps, *task_params])),
                *("--conf", f"tony.am.retry-count={retries}"),
                tony_job.ROOT / "examples" / self.example / "job.xml",
            ],
        )

    def assert_succeeds(self, job):
        code = job.wait()
        self.assertEqual(code, 0, job.output())
        self.assertEqual(job.status()["state"], "SUCCEEDED")
        self.assertEqual(job.processes(), [])

    def assert_trained(self, job):
        log_folder = job.folder / "logs" / self.logger
        printed = "".join(path.read_text() for path in sorted(log_folder.glob("attempt-*/stdout.log")))
        accuracies = re.findall(r"^test accuracy: ([0-9.]+)$", printed, re.MULTILINE)
        self.assertEqual(len(accuracies), 1, printed)
        self.assertGreaterEqual(float(accuracies[0]), ACCURACY)

    def run_check(self, job):
        """Returns the exit code of the example's check on what the job left, and what it says."""
        script = tony_job.ROOT / "examples/checks" / self.check
        result = subprocess.run(
            [self.python, "-B", script, job.checkpoints],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return result.returncode, result.stdout

    def assert_each_step_once(self, job, task):
        """Returns the epochs in which the steps ran, in the order of the steps."""
        lines = tony_job.json_lines(job.checkpoints / f"steps-{task}.jsonl")
        self.assertEqual([line["step"] for line in lines], list(range(1, STEPS + 1)), task)
        return [line["epoch"] for line in lines]

    def test_trains_as_one(self):
        job = self.start()
        self.assert_succeeds(job)
        self.assert_trained(job)
        for task in self.loggers:
            self.assertEqual(set(self.assert_each_step_once(job, task)), {0})
        code, said = self.run_check(job)
        self.assertEqual(code, 0, said)

    def test_check_fails_without_exchange(self):
        job = self.start("--cut-exchange")
        self.assert_succeeds(job)
        code, said = self.run_check(job)
        self.assertEqual(code, 1, said)
        self.assertIn("FAILED: ", said)

    def test_resumes_after_a_killed_worker(self):
        job = self.start("--slow-step-seconds 0.01", retries=1)
        job.wait_for_steps(self.logger, 5 * CHECKPOINT_EVERY // 2)
        tony_job.kill(job.pid("worker:1"))
        self.assert_succeeds(job)
        self.assert_trained(job)
        self.assert_one_restart(job)
        code, said = self.run_check(job)
        self.assertEqual(code, 0, said)

    def assert_one_restart(self, job):
        (opened,) = (event["epoch_opened"] for event in job.events() if "epoch_opened" in event)
        self.assertEqual(opened["guilty"], {"type": "worker", "index": 1})
        self.assertIn("signal 9", opened["cause"])
        for task in self.loggers:
            epochs = self.assert_each_step_once(job, task)
            self.assertEqual(epochs, sorted(epochs))
            self.assertEqual(set(epochs), {0, 1})
            # The first step of the new epoch is the one after a checkpoint.
            self.assertEqual(epochs.index(1) % CHECKPOINT_EVERY, 0)


class TensorFlowParameterServer(ExampleTests, unittest.TestCase):
    example = "tensorflow-ps"
    check = "check_parameter_server.py"
    logger = "chief-0"
    loggers = ("chief-0",)


class TensorFlowMultiWorker(ExampleTests, unittest.TestCase):
    example = "tensorflow-mwms"
    check = "check_synchronous.py"
    logger = "worker-0"
    loggers = ("worker-0", "worker-1")


class PyTorchDistributedDataParallel(ExampleTests, unittest.TestCase):
    example = "pytorch-ddp"
    check = "check_synchronous.py"
    logger = "worker-0"
    loggers = ("worker-0", "worker-1")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
