"""The base of tests of Horovod jobs on this machine."""

import os
import signal
import socket

from integration_case import JobTest  # first: it finds what tests share

# pylint: disable=wrong-import-order
import horovod_job
import machine

# By default the driver has more than these jobs' other tasks together.
SMALL = ("--conf", "tony.driver.memory=64m")
RETRY = ("--conf", "tony.am.retry-count=1")
NO_LOSS = ("--conf", "tony.am.infrastructure-retry-count=0")


class HorovodTest(JobTest):
    """Ranks that are light."""

    def submit_ranks(self, command, *arguments, workers=2):
        """Starts a job of workers that run `command`."""
        return self.submit(command, *horovod_job.CONF, *SMALL, *arguments, workers=workers)

    def wait_for_ranks(self, job, workers=2, epoch=0):
        """Waits until all programs run; returns their process ids, and the driver's."""
        workers = job.wait_until_running(*(f"worker:{index}" for index in range(workers)),
                                         epoch=epoch)
        (driver,) = job.wait_until_running("driver:0", epoch=epoch)
        return workers, driver

    def assert_connected(self, job, workers=2, attempt=1):
        """The job ends well, and each of its ranks, all on this host, had reached all others."""
        self.assert_succeeds(job)
        said = [job.log(f"worker:{index}", attempt=attempt).decode() for index in range(workers)]
        self.assertEqual("".join(said).splitlines(), horovod_job.expected_lines(workers))

    def assert_closed(self, port):
        """Nobody listens there."""
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))

    def lose_master(self, job):
        """Kills the ApplicationMaster, and waits until all executors have come to another one."""
        (master,) = machine.programs_of(job.id, "tony-am")
        os.kill(master, signal.SIGKILL)
        job.wait_until_attached_again()
        self.assertEqual(job.events("epoch_opened"), [])
