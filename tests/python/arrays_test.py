#!/usr/bin/env python3
"""tony.collective with numpy, in one to four ranks."""

import unittest

import rank_processes


class ArraysTest(unittest.TestCase):
    """Each number of ranks runs all of array_checks.py."""

    def test_checks(self):
        for size in (1, 2, 3, 4):
            with self.subTest(size=size):
                failed = rank_processes.failed_checks("array_checks", size)
                self.assertFalse(failed, "\n".join(failed))


if __name__ == "__main__":
    unittest.main()
