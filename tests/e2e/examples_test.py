#!/usr/bin/env python3
"""Runs the examples through the real programs: they train, as one, and outlive what is killed.

    examples_test.py PROGRAMS [unittest's arguments]

PROGRAMS is the folder of tony-submit and its companions. The first run makes the examples' Python
environment, which takes minutes.
"""

import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import machine
import tony_cli
import withheld_kill

STEPS = 300
CHECKPOINT_EVERY = 20
ACCURACY = 0.95
DEADLINE_SECONDS = 120
# Who is stopped counts as lost after 2 s, and his container as gone although nobody says so.
SOON_LOST = (
    "tony.task.heartbeat-interval-ms=100",
    "tony.task.max-missed-heartbeats=20",
    "tony.container.kill.timeout=500",
)

programs = None  # pylint: disable=invalid-name


class ExampleTests:
    """What holds for every example; the classes below name theirs. Not thread safe."""

    example = check = logger = ""  # folder, check script, the task that prints the accuracy
    loggers = ()  # all tasks that log steps

    @classmethod
    def setUpClass(cls):
        cls.python = tony_cli.examples_python()

    def start(self, *task_params, retries=0, conf=(), site=None):
        """Starts the example with options for its program; returns the job."""
        self.site = site or tony_cli.Site(self, programs)
        self.checkpoints = self.site.folder / "checkpoints"
        self.checkpoints.mkdir()
        steps = ("--steps", str(STEPS), "--checkpoint-every", str(CHECKPOINT_EVERY))
        return self.site.submit(
            *("--python_binary_path", self.python, "--executes", "train.py"),
            *("--task_params", " ".join((*steps, *task_params))),
            *("--conf", f"tony.application.checkpoint-dir={self.checkpoints}"),
            *("--conf", f"tony.am.retry-count={retries}"),
            *(word for line in conf for word in ("--conf", line)),
            ROOT / "examples" / self.example / "job.xml",
        )

    def assert_succeeds(self, job):
        code = job.wait(DEADLINE_SECONDS)
        self.assertEqual(code, 0, self.describe(job))
        self.assertEqual(job.verdict["outcome"], "SUCCEEDED")
        self.assertEqual(machine.processes_with(job.folder.name), {})

    def assert_trained(self, job):
        """The task that prints the accuracy did so once, in all its attempts."""
        logs = sorted((job.folder / "logs" / self.logger).glob("attempt-*/stdout.log"))
        printed = "".join(path.read_text() for path in logs)
        accuracies = re.findall(r"^test accuracy: ([0-9.]+)$", printed, re.MULTILINE)
        self.assertEqual(len(accuracies), 1, printed)
        self.assertGreaterEqual(float(accuracies[0]), ACCURACY)

    def assert_trained_in_one_epoch(self, job):
        """The job succeeds without a restart, and trains as one."""
        self.assert_succeeds(job)
        self.assert_trained(job)
        for task in self.loggers:
            self.assertEqual(set(self.assert_each_step_once(task)), {0})
        code, said = self.run_check()
        self.assertEqual(code, 0, said)

    def describe(self, job):
        """What happened, and the programs' last words, for messages."""
        parts = [job.describe()]
        for log in sorted(job.folder.glob("logs/*/attempt-*/*.log")):
            text = log.read_text(errors="replace")
            parts.append(f"--- {'/'.join(log.parts[-3:])}\n{text[-2000:]}")
        return "\n".join(parts)

    def run_check(self):
        """Returns the exit code of the example's check on what the job left, and what it says."""
        result = subprocess.run(
            [self.python, "-B", ROOT / "examples/checks" / self.check, self.checkpoints],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
        return result.returncode, result.stdout

    def logged_steps(self, task):
        """The lines of a task's step log so far."""
        return tony_cli.json_lines(self.checkpoints / f"steps-{task}.jsonl")

    def wait_for_steps(self, job, steps):
        """Waits until the program has logged at least `steps` steps."""
        log = self.checkpoints / f"steps-{self.logger}.jsonl"
        client = os.pidfd_open(job.client.pid)
        self.addCleanup(os.close, client)
        end = time.monotonic() + DEADLINE_SECONDS
        command = ["tail", "--lines=+1", "--follow=name", "--retry", log]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        ) as tail:
            left = steps
            while left > 0:
                ready, _, _ = select.select(
                    [tail.stdout, client], [], [], max(0, end - time.monotonic())
                )
                if tail.stdout not in ready:
                    break
                left -= tail.stdout.read(4096).count(b"\n")
            tail.terminate()
        if left > 0:
            self.fail(f"no {steps} steps\n{self.describe(job)}")

    def assert_each_step_once(self, task):
        """Returns the epochs in which the steps ran, in the order of the steps."""
        lines = self.logged_steps(task)
        self.assertEqual([line["step"] for line in lines], list(range(1, STEPS + 1)), task)
        return [line["epoch"] for line in lines]

    def test_trains_as_one(self):
        job = self.start()
        self.assert_trained_in_one_epoch(job)

    def test_check_fails_without_exchange(self):
        job = self.start("--cut-exchange")
        self.assert_succeeds(job)
        code, said = self.run_check()
        self.assertEqual(code, 1, said)
        self.assertIn("FAILED: ", said)

    def test_resumes_after_a_killed_worker(self):
        # Slow, so that a worker that starts seconds before the chief is not done by then.
        job = self.start("--slow-step-seconds 0.03", retries=1)
        (worker,) = job.wait_until_running("worker:1")
        self.wait_for_steps(job, 5 * CHECKPOINT_EVERY // 2)
        os.kill(worker, signal.SIGKILL)
        self.assert_succeeds(job)
        self.assert_trained(job)
        self.assert_one_restart(job, "signal 9")
        code, said = self.run_check()
        self.assertEqual(code, 0, said)

    def test_goes_on_without_its_master(self):
        job = self.start("--slow-step-seconds 0.01")
        pids = job.wait_until_running("worker:0", "worker:1")
        for lost in (1, 2):
            self.wait_for_steps(job, lost * CHECKPOINT_EVERY)
            (master,) = machine.programs_of(job.id, "tony-am")
            os.kill(master, signal.SIGKILL)
            job.wait_for(
                lambda events, lost=lost: sum("master_restarted" in event for event in events)
                == lost,
                f"ApplicationMaster {lost + 1}",
            )
        self.assertEqual(job.wait_until_running("worker:0", "worker:1"), pids)
        self.assert_trained_in_one_epoch(job)

    def assert_one_restart(self, job, cause):
        """One new epoch, because of the second worker, that begins behind a checkpoint."""
        (opened,) = job.events("epoch_opened")
        self.assertEqual(tony_cli.task_name(opened["guilty"]), "worker:1")
        self.assertIn(cause, opened["cause"])
        for task in self.loggers:
            epochs = self.assert_each_step_once(task)
            self.assertEqual(epochs, sorted(epochs))
            self.assertEqual(set(epochs), {0, 1})
            self.assertEqual(epochs.index(1) % CHECKPOINT_EVERY, 0)


class SynchronousTests(ExampleTests):
    """What holds for examples whose result does not depend on who is faster."""

    def parameters(self):
        """The parameters that the ranks left, as bytes."""
        return {path.name: path.read_bytes() for path in self.checkpoints.glob("parameters-*.npz")}

    def test_a_woken_executor_fences_itself(self):
        self.assert_trained_in_one_epoch(self.start())
        undisturbed = self.parameters()
        self.assertEqual(len(undisturbed), len(self.loggers))

        site = tony_cli.Site(self, programs)
        withheld = withheld_kill.WithheldKill(site)
        job = self.start("--slow-step-seconds 0.03", conf=SOON_LOST, site=site)
        container = job.wait_for_task("worker:1", "RUNNING")["container"]
        self.wait_for_steps(job, 5 * CHECKPOINT_EVERY // 2)
        tree = machine.processes_with(container)
        gone = machine.Processes(self, tree)
        withheld.begin()
        # The program first, which does not see then how its executor is stopped; awake, last.
        for pid in sorted(tree, reverse=True):
            os.kill(pid, signal.SIGSTOP)
        job.wait_for_task("worker:1", "RUNNING", epoch=1)
        for pid in sorted(tree):
            os.kill(pid, signal.SIGCONT)
        gone.wait_until_gone(DEADLINE_SECONDS)
        withheld.end()

        self.assert_succeeds(job)
        self.assert_trained(job)
        self.assert_one_restart(job, "no heartbeat")
        self.assertEqual(self.parameters(), undisturbed)


class TensorFlowParameterServer(ExampleTests, unittest.TestCase):
    """A chief, two workers and a parameter server, asynchronously."""

    example = "tensorflow-ps"
    check = "check_parameter_server.py"
    logger = "chief-0"
    loggers = ("chief-0",)


class TensorFlowMultiWorker(SynchronousTests, unittest.TestCase):
    """Two workers in step with each other."""

    example = "tensorflow-mwms"
    check = "check_synchronous.py"
    logger = "worker-0"
    loggers = ("worker-0", "worker-1")


class PyTorchDistributedDataParallel(SynchronousTests, unittest.TestCase):
    """Two workers in step with each other."""

    example = "pytorch-ddp"
    check = "check_synchronous.py"
    logger = "worker-0"
    loggers = ("worker-0", "worker-1")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
