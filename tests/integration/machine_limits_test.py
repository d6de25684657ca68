#!/usr/bin/env python3
"""What the programs say when the machine does not give them what they need."""

import integration_case
from integration_case import SMALL, JobTest

INFRASTRUCTURE = 3
# So few that no program starts, to so many that every job succeeds.
DESCRIPTORS = range(4, 68, 4)


class DescriptorsTest(JobTest):
    """There are few file descriptors: every program ends with a sentence, and with the right code."""

    def run_with(self, descriptors, program, *arguments):
        """The program's result with at most that many descriptors."""
        limit = f"--nofile={descriptors}:{descriptors}"
        return self.site.run_as(["prlimit", limit], program, *arguments)

    def assert_says_why(self, result):
        """It failed, and a person can read why."""
        self.assertEqual(result.returncode, INFRASTRUCTURE, result)
        self.assertRegex(
            result.stdout + result.stderr, r"Too many open files|needs \d+ open files"
        )

    def test_submit(self):
        succeeded = []
        for descriptors in DESCRIPTORS:
            with self.subTest(descriptors=descriptors):
                result = self.run_with(descriptors, "tony-submit", "--executes", "true", *SMALL)
                if result.returncode == 0:
                    succeeded.append(descriptors)
                else:
                    self.assert_says_why(result)
        self.assertNotIn(DESCRIPTORS[0], succeeded)
        self.assertIn(DESCRIPTORS[-1], succeeded)

    def test_verbs(self):
        self.assert_succeeds(self.submit("true"))
        for descriptors in DESCRIPTORS:
            with self.subTest(descriptors=descriptors):
                result = self.run_with(descriptors, "tony", "status")
                if result.returncode != 0:
                    self.assert_says_why(result)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    integration_case.main()
