#!/usr/bin/env python3
"""A job of many tasks under the limit on open files that a login has.

`many_tasks_test.py PROGRAMS [--tasks N]`: by hand with more tasks; each takes a few megabytes.
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import machine
import tony_cli

TASKS = 700  # more than 1,024 descriptors are enough for


class ManyTasksTest(unittest.TestCase):
    """Runs one job."""

    def test_a_login_has_1024_descriptors(self):
        site = tony_cli.Site(self, PROGRAMS)
        job = site.submit(
            *("--executes", "true", "--conf", f"tony.worker.instances={TASKS}"),
            *("--conf", "tony.worker.memory=8m"),
            prefix=["bash", "-c", 'ulimit -Sn 1024 && exec "$@"', "bash"],
        )
        self.assertEqual(job.wait(900), 0, job.describe())
        self.assertEqual(job.verdict["reason"], "TASKS_SUCCEEDED")
        restarted = [event for event in job.events("epoch_opened") if event.get("epoch", 0) > 0]
        self.assertEqual(restarted, [])
        self.assertEqual(machine.processes_with(job.id), {})


if __name__ == "__main__":
    PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
    if "--tasks" in sys.argv:
        option = sys.argv.index("--tasks")
        TASKS = int(sys.argv[option + 1])
        del sys.argv[option:option + 2]
    unittest.main()
