#!/usr/bin/env python3
"""The library of faults finds what is wrong: another outcome, a process that stays, secrets that stay.

Run as `faults_test.py PROGRAMS [unittest's arguments]`; PROGRAMS is the folder of tony-submit.
"""

import dataclasses
import os
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import fault_round
import programs
import table

_folder = None  # pylint: disable=invalid-name


def row(name):
    """The row of the table that is called `name`."""
    (found,) = (row for row in table.ROWS if row.name == name)
    return found


class RoundTest(unittest.TestCase):
    """Rounds on the machine of all, of whose leftovers processes are seen."""

    def run_round(self, one, seed=1):
        """Returns the outcome of one round."""
        return fault_round.Round(one, 0, fault_round.Setting(_folder, seed)).run()

    def assert_wrong(self, one, words):
        """The round is wrong, and says these words and what the job said."""
        with self.assertRaises(fault_round.Wrong) as raised:
            self.run_round(one)
        self.assertIn(words, str(raised.exception))
        self.assertIn("events.jsonl", str(raised.exception))

    def test_the_outcome_of_the_table(self):
        one = row("program.kill.waits.running.user0-infra1")
        self.assertTrue(self.run_round(one).within(one.expected))

    def test_another_outcome(self):
        one = row("program.kill.waits.running.user0-infra1")
        for place in ("state", "reason", "guilty", "exit", "restarts"):
            with self.subTest(place=place):
                expected = dataclasses.replace(one.expected, **{place: ("other thing",)})
                self.assert_wrong(dataclasses.replace(one, expected=expected), "expected")

    def test_a_process_that_stays(self):
        one = fault_round.Round(
            row("client.interrupt.waits.running.user0-infra0"), 0, fault_round.Setting(_folder, 1)
        )
        # Nothing of the job's, but with the round's mark.
        with subprocess.Popen(["sleep", "600"], env={**os.environ, "MARK": one.marker}) as stray:
            try:
                with mock.patch.object(fault_round, "GONE_SECONDS", 0.5):
                    with self.assertRaises(fault_round.Wrong) as raised:
                        one.run()
            finally:
                stray.kill()
        self.assertIn("sleep 600", str(raised.exception))

    def test_secrets_that_stay(self):
        one = row("everything.kill.waits.running.user0-infra0")
        with mock.patch.object(fault_round.Round, "_remove_remains"):
            self.assert_wrong(one, "/secrets")


class TableTest(unittest.TestCase):
    """The table itself."""

    def test_names_are_unique(self):
        names = [one.name for one in table.ROWS]
        self.assertEqual(len(names), len(set(names)))

    def test_programs_and_steps_exist(self):
        for one in table.ROWS:
            self.assertIn(one.program, programs.PROGRAMS)
            self.assertIn(one.step, table.STEPS)

    def test_ranges_and_alternatives(self):
        rows = table.parse("am kill waits running..stopping 1 2 | A/B C it 0/3 1 -")
        self.assertEqual([one.step for one in rows], ["running", "one-task-ended", "stopping"])
        self.assertEqual((rows[0].user_budget, rows[0].infrastructure_budget), (1, 2))
        self.assertTrue(table.Outcome("B", "C", "it", "3", "1").within(rows[0].expected))
        self.assertFalse(table.Outcome("B", "C", "it", "1", "1").within(rows[0].expected))


if __name__ == "__main__":
    _folder = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
