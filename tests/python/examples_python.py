"""Tests that need the examples' packages: run by the interpreter that has them."""

import os
import pathlib
import subprocess
import sys
import unittest

import rank_processes

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
# For all checks of some ranks: TensorFlow takes long to begin where others want the processors too.
DEADLINE_SECONDS = 800


def variables(rank):  # pylint: disable=unused-argument
    """Variables of ranks with TensorFlow: as patient as their test, and as quiet as possible."""
    return {"HOROVOD_GLOO_TIMEOUT_SECONDS": str(DEADLINE_SECONDS // 2), "TF_CPP_MIN_LOG_LEVEL": "2"}


class EachNumberOfRanks(unittest.TestCase):
    """One to three ranks run all checks of the module that a class derived from it names."""

    checks = None

    def run_checks(self, size, module=None):  # pylint: disable=missing-function-docstring
        failed = rank_processes.failed_checks(module or self.checks, size, variables, DEADLINE_SECONDS)
        self.assertFalse(failed, "\n".join(failed))

    def test_one_rank(self):
        self.run_checks(1)

    def test_two_ranks(self):
        self.run_checks(2)

    def test_three_ranks(self):
        self.run_checks(3)


def run_tests():
    """Runs the program's tests with TensorFlow, by another interpreter if need be. Exits with 77, "skipped", where it
    is not to be had."""
    try:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        import tensorflow as _
    except ImportError as error:
        if os.environ.get("EXAMPLES_PYTHON") == sys.executable:
            print(f"skipped: no TensorFlow for {sys.executable}: {error}")
            sys.exit(SKIPPED)
        made = subprocess.run([ROOT / "scripts/python-environment"], stdout=subprocess.PIPE, text=True, check=False)
        if made.returncode != 0:
            print("skipped: no TensorFlow, as scripts/python-environment fails")
            sys.exit(SKIPPED)
        python = made.stdout.strip()
        os.execve(python, [python, "-B", *sys.argv], {**os.environ, "EXAMPLES_PYTHON": python})
    unittest.main()
