#!/usr/bin/env python3
"""Tells a worker's side of real, unmodified Horovod that the hosts have changed.

    notification_test.py PROGRAM [TEST]

PROGRAM is notify_worker. Exits with 77 where Horovod is not built.
"""

import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

SKIPPED = 77
REMOVED, ADDED, MIXED = 1, 2, 3

program = None  # pylint: disable=invalid-name


class Recorder:
    """Has what the worker has heard."""

    def __init__(self):
        self.heard = []

    def on_hosts_updated(self, timestamp, result):
        """As horovod.common.elastic.State."""
        self.heard.append((timestamp, result))


class NotificationTests(unittest.TestCase):
    """One worker, rank 0 of a job of one, in this process."""

    def start(self, interface):
        """The driver's side, and the worker's, which looks for addresses of that interface."""
        # pylint: disable=import-outside-toplevel,import-error
        from horovod.runner.elastic.worker import WorkerNotificationManager
        self.driver = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True)
        self.addCleanup(self.driver.communicate)
        port = int(self.driver.stdout.readline())
        self.manager = WorkerNotificationManager()
        self.manager.init("127.0.0.1", port, interface, "a", 0)
        service = self.manager._service  # pylint: disable=protected-access
        self.addCleanup(service.shutdown)
        expected = [f"{name}={address}:{port}" for name, pairs in service.addresses().items()
                    for address, port in pairs]
        self.assertEqual(self.driver.stdout.readline().split(), ["worker", "a:0", *expected])
        return expected

    def tell(self, *words):
        """The outcome of a notification."""
        self.driver.stdin.write(" ".join(map(str, words)) + "\n")
        self.driver.stdin.flush()
        return self.driver.stdout.readline().strip()

    def state(self):
        """The state that a training function commits, in a job of one rank."""
        from horovod.common.elastic import ObjectState  # pylint: disable=import-outside-toplevel,import-error
        state = ObjectState(bcast_object=lambda value: value, get_rank=lambda: 0, batch=0)
        self.manager.register_listener(state)
        return state

    def interrupted(self, state):
        """None, or whether the interrupted worker continues without rank 0's state."""
        from horovod.common.exceptions import HostsUpdatedInterrupt  # pylint: disable=import-outside-toplevel,import-error
        try:
            state.commit()
        except HostsUpdatedInterrupt as interrupt:
            return interrupt.skip_sync
        return None

    def test_what_is_sent_is_what_arrives(self):
        from horovod.runner.elastic.worker import HostUpdateResult  # pylint: disable=import-outside-toplevel,import-error
        self.start("lo")
        recorder = Recorder()
        self.manager.register_listener(recorder)
        sent = [(1, REMOVED), (1700000000, ADDED), (1700000001, MIXED), (2**31, MIXED),
                (2**63 - 1, MIXED), (-(2**63), MIXED)]
        for timestamp, change in sent:
            self.assertEqual(self.tell(timestamp, change), "heard")
        self.assertEqual(recorder.heard, sent)
        self.assertEqual({type(result) for _, result in recorder.heard}, {HostUpdateResult})

    def test_each_greater_timestamp_interrupts(self):
        self.start("lo")
        state = self.state()
        self.assertIsNone(self.interrupted(state))
        for timestamp in (1700000000, 1700000001, 1700000005):
            self.assertEqual(self.tell(timestamp, MIXED), "heard")
            self.assertIs(self.interrupted(state), False)
            self.assertIsNone(self.interrupted(state))
        # What is not greater is heard, and counts for nothing.
        for timestamp in (1700000005, 1700000004, 0, -1):
            self.assertEqual(self.tell(timestamp, MIXED), "heard")
            self.assertIsNone(self.interrupted(state))

    def test_two_before_a_commit_interrupt_once(self):
        self.start("lo")
        state = self.state()
        self.assertEqual(self.tell(1700000000, REMOVED), "heard")
        self.assertEqual(self.tell(1700000001, ADDED), "heard")
        self.assertIs(self.interrupted(state), False)
        self.assertIsNone(self.interrupted(state))

    def test_repeating_brings_what_a_reset_has_dropped(self):
        """What comes between a worker's new place and the end of its reset is heard, and dropped.

        The same timestamp again reaches who has dropped it, and nobody else.
        """
        self.start("lo")
        state = self.state()
        self.assertEqual(self.tell(1700000000, MIXED), "heard")
        state.on_reset()
        self.assertIsNone(self.interrupted(state))
        self.assertEqual(self.tell(1700000000, MIXED), "heard")
        self.assertIs(self.interrupted(state), False)
        state.on_reset()
        self.assertEqual(self.tell(1700000000, MIXED), "heard")
        self.assertIsNone(self.interrupted(state))

    def test_removed_alone_leaves_out_the_state(self):
        """Why the driver says "mixed"."""
        self.start("lo")
        state = self.state()
        self.assertEqual(self.tell(1700000000, REMOVED), "heard")
        self.assertIs(self.interrupted(state), True)

    def test_all_interfaces(self):
        self.assertTrue(self.start(None))
        self.assertEqual(self.tell(1, MIXED), "heard")

    def test_a_stranger_is_not_heard(self):
        self.start("lo")
        recorder = Recorder()
        self.manager.register_listener(recorder)
        self.assertIn("the connection was ended without an answer",
                      self.tell(1700000000, MIXED, "stranger"))
        self.assertEqual(self.tell(1700000001, MIXED), "heard")
        self.assertEqual(recorder.heard, [(1700000001, MIXED)])


def main():
    """Goes on in Horovod's Python."""
    import tony_cli  # pylint: disable=import-outside-toplevel
    python = tony_cli.horovod_python()
    if python is None:
        print("skipped: Horovod is not built; scripts/build-horovod does it")
        sys.exit(SKIPPED)
    # Horovod puts the address through the proxy that the environment names.
    os.environ["no_proxy"] = "127.0.0.1"
    # A virtual environment's interpreter is a link to the system's.
    if not pathlib.Path(python).parent.samefile(pathlib.Path(sys.executable).parent):
        os.execv(python, [python, "-B", *sys.argv])
    global program  # pylint: disable=global-statement
    program = sys.argv.pop(1)
    unittest.main()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
