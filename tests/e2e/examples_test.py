#!/usr/bin/env python3
"""Runs the examples through the real programs: they train, as one, and outlive what is killed.

    examples_test.py PROGRAMS [unittest's arguments]

PROGRAMS is the folder of tony-submit and its companions. The first run makes the examples' Python
environment, which takes minutes.
"""

import contextlib
import os
import pathlib
import signal
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import examples
import machine
import tony_cli
import withheld_kill
from examples import CHECKPOINT_EVERY, DEADLINE_SECONDS

# Who is stopped counts as lost after 2 s, before TensorFlow's own check finds out, and his container as gone although
# nobody says so.
SOON_LOST = (
    "tony.task.heartbeat-interval-ms=100",
    "tony.task.max-missed-heartbeats=20",
    "tony.container.kill.timeout=500",
)

programs = None  # pylint: disable=invalid-name


class ExampleTests:
    """Tests for every example. Not thread safe."""

    def make_site(self):
        """A folder of this machine."""
        return tony_cli.Site(self, programs)

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
        job = self.start("--slow-step-seconds 0.05")
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


class SynchronousTests(ExampleTests):
    """Tests for examples whose result does not depend on the speed of ranks."""

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
            with contextlib.suppress(ProcessLookupError):  # who is awake may have ended it
                os.kill(pid, signal.SIGCONT)
        gone.wait_until_gone(DEADLINE_SECONDS)
        withheld.end()

        self.assert_succeeds(job)
        self.assert_trained(job)
        self.assert_one_restart(job, "no heartbeat")
        self.assertEqual(self.parameters(), undisturbed)


class TensorFlowParameterServer(
    ExampleTests, examples.TensorFlowParameterServer, unittest.TestCase
):
    """On this machine."""


class TensorFlowMultiWorker(SynchronousTests, examples.TensorFlowMultiWorker, unittest.TestCase):
    """On this machine."""


class PyTorchDistributedDataParallel(
    SynchronousTests, examples.PyTorchDistributedDataParallel, unittest.TestCase
):
    """On this machine."""


class Jax(SynchronousTests, examples.Jax, unittest.TestCase):
    """On this machine."""


class CollectiveKeras(SynchronousTests, examples.CollectiveKeras, unittest.TestCase):
    """On this machine."""

    def test_four_ranks(self):
        self.loggers = tuple(f"worker-{index}" for index in range(4))
        self.assert_trained_in_one_epoch(
            self.start(conf=("tony.worker.instances=4", "tony.worker.memory=800m")))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
