#!/usr/bin/env python3
"""What Horovod's programs rely on, in one to three ranks. Ends with 77, "skipped", where there is no PyTorch."""

import importlib.util
import sys
import unittest

import rank_processes


class CompatibilityTest(unittest.TestCase):
    """Each number of ranks runs all of compatibility_checks.py."""

    def test_checks(self):
        for size in (1, 2, 3):
            with self.subTest(size=size):
                failed = rank_processes.failed_checks("compatibility_checks", size)
                self.assertFalse(failed, "\n".join(failed))


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed: scripts/setup does it")
        sys.exit(77)
    unittest.main()
