#!/usr/bin/env python3
"""Process sets of tony.collective, in four ranks: with numpy, and with PyTorch where there is one."""

import importlib.util
import unittest

import rank_processes


class SetsTest(unittest.TestCase):
    """Each rank runs all of the checks."""

    def run_checks(self, module, size):
        failed = rank_processes.failed_checks(module, size)
        self.assertFalse(failed, "\n".join(failed))

    def test_arrays(self):
        self.run_checks("set_checks", 4)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "there is no PyTorch")
    def test_torch(self):
        self.run_checks("torch_set_checks", 4)


if __name__ == "__main__":
    unittest.main()
