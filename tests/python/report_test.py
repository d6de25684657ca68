#!/usr/bin/env python3
"""tony.report() and the callbacks that call it, with a real pipe in the place of the executor's.

Lightning and Transformers are not among the packages of the tests, since their PyTorch takes 5 GB: doubles of theirs show
only that the callbacks call tony.report() as the frameworks' documents say; report_keras_test.py has the real Keras. With
the real Lightning 2.6.6 and Transformers 5.24.0 the callbacks were tried by hand: steps, losses, checkpoints came.
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

import tony


class Reports:
    """The pipe as the executor holds it: open for reading and writing."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "progress")
        os.mkfifo(self.path, 0o600)
        self._pipe = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)

    def lines(self):
        """All lines that were written since the last call."""
        data = b""
        with contextlib.suppress(BlockingIOError):
            while True:
                data += os.read(self._pipe, 1 << 20)
        return data.decode().splitlines()

    def close(self):
        """Leaves the writers without a reader."""
        os.close(self._pipe)


class ReportCase(unittest.TestCase):
    """With TONY_PROGRESS."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tony-test-")
        self.addCleanup(folder.cleanup)
        self.reports = Reports(folder.name)
        patch = mock.patch.dict(os.environ, TONY_PROGRESS=self.reports.path)
        patch.start()
        self.addCleanup(patch.stop)


class ReportTest(ReportCase):
    """The function."""

    def test_a_line_for_each_call(self):
        self.assertTrue(tony.report(step=120, loss=0.31, tokens=4096))
        self.assertTrue(tony.report(phase="checkpoint"))
        self.assertTrue(tony.report(phase="", checkpoint=pathlib.Path("/data/step 120"), checkpoint_seconds=2.5))
        self.assertEqual(self.reports.lines(), [
            "step=120 loss=0.31 tokens=4096", "phase=checkpoint",
            'phase= checkpoint="/data/step 120" checkpoint_seconds=2.5'])

    def test_values_of_any_kind(self):
        tony.report(loss=float("nan"), best=float("-inf"), ok=True, note='so "far"\nso\tgood', nothing=None)
        self.assertEqual(self.reports.lines(), ["loss=nan best=-inf ok=True note=\"so 'far' so good\""])

    def test_nothing_is_written_for_nothing(self):
        self.assertFalse(tony.report())
        self.assertFalse(tony.report(step=None))
        self.assertEqual(self.reports.lines(), [])

    def test_scalars_of_numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("no NumPy")
        tony.report(step=numpy.int64(7), loss=numpy.float32(0.5), one=numpy.array([2.5]), two=numpy.array([1, 2]))
        self.assertEqual(self.reports.lines(), ['step=7 loss=0.5 one=2.5 two="[1 2]"'])

    def test_scalars_of_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("no PyTorch")
        tony.report(step=torch.tensor(7), loss=torch.tensor(0.5, requires_grad=True))
        self.assertEqual(self.reports.lines(), ["step=7 loss=0.5"])

    def test_what_does_not_fit_is_dropped_at_once(self):
        taken = 0
        while tony.report(step=taken, text="x" * 1000):
            taken += 1
        self.assertGreater(taken, 10)
        self.assertEqual(len(self.reports.lines()), taken)
        self.assertTrue(tony.report(step=1))

    def test_a_line_is_whole_or_is_refused(self):
        with self.assertRaisesRegex(ValueError, "at most 4096"):
            tony.report(text="x" * 5000)
        with self.assertRaisesRegex(ValueError, "'eval loss' is no name of a value"):
            tony.report(**{"eval loss": 1})
        self.assertEqual(self.reports.lines(), [])

    def test_outside_of_a_task_it_does_nothing(self):
        with mock.patch.dict(os.environ):
            del os.environ["TONY_PROGRESS"]
            self.assertFalse(tony.report(step=1))
        self.assertEqual(self.reports.lines(), [])

    def test_an_executor_that_is_gone_does_no_harm(self):
        self.assertTrue(tony.report(step=1))
        self.reports.close()
        self.assertFalse(tony.report(step=2))  # no SIGPIPE either: Python ignores it
        with mock.patch.dict(os.environ, TONY_PROGRESS="/nowhere/progress"):
            self.assertFalse(tony.report(step=3))

    def test_threads_may_report_at_the_same_time(self):
        def report(name):
            for step in range(50):
                while not tony.report(**{name: step, "filling": "x" * 200}):
                    lines.extend(self.reports.lines())

        lines = []
        threads = [threading.Thread(target=report, args=(f"n{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lines.extend(self.reports.lines())
        wanted = sorted(f"n{number}={step} filling={'x' * 200}" for number in range(4) for step in range(50))
        self.assertEqual(sorted(lines), wanted)

    def test_forked_processes_share_the_pipe(self):
        tony.report(step=1)
        program = "import os, tony; tony.report(step=2); os.fork() or os._exit(not tony.report(step=3)); os.wait()"
        subprocess.run([sys.executable, "-B", "-c", program], check=True, timeout=60)
        self.assertEqual(sorted(self.reports.lines()), ["step=1", "step=2", "step=3"])


class CallbackCase(ReportCase):
    """A callback whose framework is a double, called as the framework calls it."""

    def callback(self, module, parents):
        """`ReportCallback` of tony.MODULE; `parents`: the double's modules, with the class that is derived from."""
        doubles = {}
        for name, cls in parents.items():
            doubles[name] = types.ModuleType(name)
            if cls:
                setattr(doubles[name], cls, type(cls, (), {}))
        with mock.patch.dict(sys.modules, doubles):
            sys.modules.pop(f"tony.{module}", None)
            return __import__(f"tony.{module}", fromlist=["ReportCallback"]).ReportCallback()

    def test_lightning(self):
        callback = self.callback("lightning", {"lightning": None, "lightning.pytorch": None,
                                               "lightning.pytorch.callbacks": "Callback"})
        trainer = types.SimpleNamespace(global_step=1, log_every_n_steps=2, callback_metrics={"train loss": 0.5})
        callback.on_train_batch_end(trainer, None, None, None, 0)
        trainer.global_step = 2
        callback.on_train_batch_end(trainer, None, None, None, 1)
        callback.on_validation_start(trainer, None)
        trainer.callback_metrics = {"val_loss": 0.25}
        callback.on_validation_end(trainer, None)
        self.assertEqual(self.reports.lines(), ["step=1", "step=2 train_loss=0.5", "phase=evaluate",
                                                "phase= val_loss=0.25"])

    def test_transformers(self):
        callback = self.callback("transformers", {"transformers": "TrainerCallback"})
        arguments = types.SimpleNamespace(output_dir="/out")
        state = types.SimpleNamespace(global_step=5, is_world_process_zero=True)
        callback.on_step_end(arguments, state, None, model=None)
        callback.on_log(arguments, state, None, logs={"loss": 0.5, "learning_rate": 0.001})
        callback.on_save(arguments, state, None)
        callback.on_prediction_step(arguments, state, None)
        callback.on_prediction_step(arguments, state, None)
        callback.on_evaluate(arguments, state, None, metrics={"eval_loss": 1})
        self.assertEqual(self.reports.lines(), [
            "step=5", "loss=0.5 learning_rate=0.001", "checkpoint=/out/checkpoint-5", "phase=evaluate", "phase="])


if __name__ == "__main__":
    unittest.main()
