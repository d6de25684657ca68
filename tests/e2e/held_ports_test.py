#!/usr/bin/env python3
"""Servers that people use bind the ports that tony reserved for them, while it holds them.

    held_ports_test.py PROGRAMS [unittest's arguments]
"""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import tony_cli

DEADLINE_SECONDS = 120

programs = None  # pylint: disable=invalid-name


class HeldPortsTest(unittest.TestCase):
    """A job with one task, which serves."""

    def serve(self, server, framework):
        python = tony_cli.examples_python()
        site = tony_cli.Site(self, programs)
        program = pathlib.Path(__file__).with_name("serve_held_port.py")
        job = site.submit(
            *("--executes", f"{python} -B {program} {server}"),
            *("--conf", "tony.worker.instances=1", "--conf", "tony.worker.memory=1g"),
            *("--conf", f"tony.application.framework={framework}"),
        )
        self.assertEqual(job.wait(DEADLINE_SECONDS), 0, job.describe())
        printed = (job.folder / "logs/worker-0/attempt-1/stdout.log").read_text()
        self.assertRegex(printed, rf"^{server} served \d+\n$")

    def test_tensorflow(self):
        self.serve("tensorflow", "tensorflow")

    def test_tcp_store(self):
        self.serve("tcp_store", "pytorch")

    def test_tensorboard(self):
        self.serve("tensorboard", "tensorflow")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
