#!/usr/bin/env python3
"""tony.collective with numpy, in one to four ranks."""

import unittest

import rank_processes


class ArraysTest(unittest.TestCase):
    """Each number of ranks runs all of a module's checks."""

    def run_checks(self, module):
        for size in (1, 2, 3, 4):
            with self.subTest(size=size):
                failed = rank_processes.failed_checks(module, size)
                self.assertFalse(failed, "\n".join(failed))

    def test_arrays(self):
        self.run_checks("array_checks")

    def test_each_type_with_each_operation(self):
        self.run_checks("type_checks")

    def test_objects(self):
        self.run_checks("object_checks")


if __name__ == "__main__":
    unittest.main()
