#!/usr/bin/env python3
"""tony.collective with TensorFlow, in one to three ranks. Ends with 77, "skipped", where there is no TensorFlow."""

import examples_python


class TensorFlowTest(examples_python.EachNumberOfRanks):
    """All of tensorflow_checks.py."""

    checks = "tensorflow_checks"


if __name__ == "__main__":
    examples_python.run_tests()
