#!/usr/bin/env python3
"""tony.collective with TensorFlow, in one to three ranks. Ends with 77, "skipped", where there is no TensorFlow."""

import unittest

import examples_python
import rank_processes


class TensorFlowTest(unittest.TestCase):
    """Each number of ranks runs all of tensorflow_checks.py."""

    def run_checks(self, size):
        failed = rank_processes.failed_checks("tensorflow_checks", size, examples_python.variables,
                                               examples_python.DEADLINE_SECONDS)
        self.assertFalse(failed, "\n".join(failed))

    def test_one_rank(self):
        self.run_checks(1)

    def test_two_ranks(self):
        self.run_checks(2)

    def test_three_ranks(self):
        self.run_checks(3)


if __name__ == "__main__":
    examples_python.run_tests()
