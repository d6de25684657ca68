#!/usr/bin/env python3
"""tony.collective with TensorFlow, in one to three ranks. Ends with 77, "skipped", where there is no TensorFlow."""

import examples_python


class TensorFlowTest(examples_python.EachNumberOfRanks):
    """All of tensorflow_checks.py, and more than one rank tensorflow_graph_checks.py and tensorflow_error_checks.py."""

    checks = "tensorflow_checks"

    def test_graphs_of_two_ranks(self):
        self.run_checks(2, "tensorflow_graph_checks")

    def test_graphs_of_three_ranks(self):
        self.run_checks(3, "tensorflow_graph_checks")

    def test_errors_of_two_ranks(self):
        self.run_checks(2, "tensorflow_error_checks")

    def test_errors_of_three_ranks(self):
        self.run_checks(3, "tensorflow_error_checks")

    def test_bfloat16_of_numpy(self):
        """Which TensorFlow brings along: the package ml_dtypes."""
        self.run_checks(3, "type_checks")


if __name__ == "__main__":
    examples_python.run_tests()
