#!/usr/bin/env python3
"""What becomes of a Horovod job whose driver dies, is disturbed, or is the user's own."""

import contextlib
import json
import os
import signal
import socket

import integration_case
import horovod_case
import horovod_job
import machine
from horovod_case import NO_LOSS, HorovodTest
from horovod_job import ranks

PLAN_FILE = "____HOROVOD_RENDEZVOUS_SERVER____"
KILLED = ("driver:0 was lost: tony-driver was killed by signal 9 (SIGKILL), in which the job's program "
          "has no part")


class KilledDriverTest(HorovodTest):
    """tony-driver is killed with -9 when the ranks of the first epoch have come somewhere."""

    def before_anybody_looks(self, *arguments):
        """Ranks that do not join."""
        job = self.submit_ranks(ranks("*.0:--never"), *arguments)
        workers, driver = self.wait_for_ranks(job)
        return job, horovod_job.port_of(workers[0]), driver

    def while_one_waits(self, *arguments):
        """Rank 0 has put its addresses, and waits for those of the other."""
        job = self.submit_ranks(ranks("1.0:--never"), *arguments)
        workers, driver = self.wait_for_ranks(job)
        port = horovod_job.port_of(workers[0])
        horovod_job.wait_until_put(port, "/global/0")
        return job, port, driver

    def when_all_are_connected(self, *arguments):
        """It is not needed any more; but that is not known of what the ranks have yet to do."""
        told, gate = (self.pipe(f"{name}-{len(arguments)}") for name in ("told", "gate"))
        job = self.submit_ranks(
            ranks(f"*.0:--tell {told.path} --hold {gate.path}"), *arguments)
        workers, driver = self.wait_for_ranks(job)
        for _ in workers:
            told.read()
        return job, horovod_job.port_of(workers[0]), driver

    def kill(self, start, *arguments):
        """Returns the job, whose driver is dead, and the port at which it was."""
        job, port, driver = start(*arguments)
        os.kill(driver, signal.SIGKILL)
        return job, port

    def check(self, start):
        """That is a loss, and not a failure of the ranks: the job ends, or with a restart after
        losses left begins anew, with a driver of the new epoch."""
        job, port = self.kill(start, *NO_LOSS)
        self.assertEqual(self.assert_ends(job, 3, "TASK_LOST"), KILLED)
        self.assertEqual(job.verdict["guilty"], {"type": "driver"})
        self.assert_closed(port)
        job, _ = self.kill(start)
        self.assert_connected(job, attempt=2)
        (opened,) = job.events("epoch_opened")
        self.assertEqual(opened["cause"], KILLED)

    def test_before_anybody_looks(self):
        self.check(self.before_anybody_looks)

    def test_while_one_waits(self):
        self.check(self.while_one_waits)

    def test_when_all_are_connected(self):
        self.check(self.when_all_are_connected)

    def test_with_its_executor(self):
        """Its ranks' own errors, which come first, are not taken for the cause."""
        for start in (self.before_anybody_looks, self.while_one_waits):
            with self.subTest(start.__name__):
                job, port, driver = start(*NO_LOSS)
                container = job.wait_for_task("driver:0", "RUNNING")["container"]
                (executor,) = (pid for pid in machine.processes_with(container)
                               if machine.name_of(pid) == "tony-executor")
                os.kill(executor, signal.SIGKILL)
                self.assertIn("driver:0 was lost", self.assert_ends(job, 3, "TASK_LOST"))
                self.assertFalse(machine.lives(driver))
                self.assert_closed(port)


class StrangersTest(HorovodTest):
    """Others who come to the driver's ports do not disturb the ranks, and are answered."""

    # The strangers' requests, and how the answers begin.
    REQUESTS = (
        (b"\0\xff garbage \r\n\r\n", b"HTTP/1.1 400 "),
        (b"PUT /global/1 HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\nx", b"HTTP/1.1 413 "),
        (b"PUT /global/1 HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"HTTP/1.1 400 "),
        (b"PUT /global HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", b"HTTP/1.1 400 "),
        (b"PUT /global/1/x HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", b"HTTP/1.1 400 "),
        (b"POST /global/1 HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", b"HTTP/1.1 405 "),
        (b"PUT /global/1 HTTP/1.1\r\nOrigin: http://evil\r\nContent-Length: 1\r\n\r\nx",
         b"HTTP/1.1 403 "),
    )

    def connect(self, port):
        connection = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.addCleanup(connection.close)
        return connection

    def test_strangers(self):
        gate = self.pipe("gate")
        job = self.submit_ranks(
            f"[ $HOROVOD_RANK != 1 ] || read < {gate.path}; {ranks()}", workers=3)
        workers, _ = self.wait_for_ranks(job, 3)
        port = horovod_job.port_of(workers[0])
        horovod_job.wait_until_put(port, "/global/0")
        for request, answer in self.REQUESTS:
            with self.subTest(request), self.connect(port) as connection:
                connection.sendall(request)
                self.assertEqual(connection.recv(len(answer)), answer)
        # They stay, and say nothing, or not all; one at the door for replicas says nonsense.
        self.connect(port)
        self.connect(port).sendall(b"PUT /global/1 HTTP/1.1\r\nContent-Length: 272\r\n\r\nhalf")
        door = self.connect(int(job.wait_for_task("driver:0", "RUNNING")["port"]))
        door.sendall(b"\xff" * 1000)
        # The driver may not have read all of the request; then the connection ends with a reset.
        with contextlib.suppress(ConnectionResetError):
            while door.recv(65536):
                pass
        gate.write()
        self.assert_connected(job, 3)
        self.assertEqual(job.events("epoch_opened"), [])


class OwnDriverTest(HorovodTest):
    """The user brings the driver."""

    def submit_with(self, driver, *arguments, command=ranks(), workers=2):
        return self.submit_ranks(
            command,
            *("--conf", "tony.horovod.driver.mode.debug=true"),
            *("--conf", "tony.driver.instances=1", "--conf", f"tony.driver.command={driver}"),
            *arguments,
            workers=workers,
        )

    def test_that_works(self):
        job = self.submit_with(horovod_job.OWN_DRIVER, workers=3)
        self.assert_connected(job, 3)

    def test_that_is_killed(self):
        """It is the user's, whatever ends it."""
        job = self.submit_with(horovod_job.OWN_DRIVER, command=ranks("*:--never"))
        _, driver = self.wait_for_ranks(job)
        os.kill(driver, signal.SIGKILL)
        self.assertEqual(self.assert_ends(job, 1, "TASK_FAILED"),
                         "driver:0 was killed by signal 9 (SIGKILL)")

    def assert_refused_driver(self, driver, why, *arguments):
        """No rank starts, and it is said why."""
        job = self.submit_with(driver, *arguments)
        self.assertEqual(
            self.assert_ends(job, 1, "TASK_NOT_STARTED"), f"driver:0 could not be started: {why}")
        for worker in ("worker:0", "worker:1"):
            self.assertEqual(job.logs(worker), [])

    def writes(self, text, port=4242):
        """The command of a driver whose plan is `text`."""
        (self.site.folder / "plan").write_text(text)
        return f"cp {self.site.folder}/plan $DRIVER_OUTPUT_PATH/{port}{PLAN_FILE}; sleep 600"

    @staticmethod
    def place(rank, local_rank, **other):
        return {"hostname": "127.0.0.1", "rank": rank, "localRank": local_rank, "crossRank": 0,
                "size": 2, "localSize": 2, "crossSize": 1, **other}

    def test_that_writes_nonsense(self):
        self.assert_refused_driver(
            self.writes("[{"),
            "the driver's plan of ranks cannot be read: it is no JSON list; it is to be a JSON "
            "list of objects with hostname, rank, size, localRank, localSize, crossRank and "
            "crossSize",
        )

    def test_whose_plan_does_not_fit(self):
        for plan, why in (
            ([self.place(0, 0)], "the job has 2 processes, and it has places for 1"),
            ([self.place(0, 0), self.place(0, 1)], "rank 0"),
            ([self.place(0, 0), self.place(1, 1, hostname="elsewhere")], "elsewhere"),
        ):
            with self.subTest(why):
                job = self.submit_with(self.writes(json.dumps(plan)))
                sentence = self.assert_ends(job, 1, "TASK_NOT_STARTED")
                self.assertIn("driver:0 could not be started: the driver's plan of ranks does not "
                              "fit: ", sentence)
                self.assertIn(why, sentence)

    def test_that_writes_nothing(self):
        self.assert_refused_driver(
            "sleep 600",
            "it did not say within 0.5s who has which rank (tony.horovod.driver.start-timeout-ms)",
            *("--conf", "tony.horovod.driver.start-timeout-ms=500"),
        )

    def test_that_ends_before_it_wrote(self):
        self.assert_refused_driver("true", "it ended before it said who has which rank")
        job = self.submit_with("exit 7")
        self.assertEqual(self.assert_ends(job, 1, "TASK_FAILED"), "driver:0 exited with code 7")

    def test_whose_server_does_not_listen(self):
        """The ranks find nobody, as with Horovod's own."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            plan = json.dumps([self.place(0, 0), self.place(1, 1)])
            job = self.submit_with(self.writes(plan, taken.getsockname()[1]))
            sentence = self.assert_ends(job, 1, "TASK_FAILED")
        rank = job.verdict["guilty"].get("index", 0)
        guilty = f"worker:{rank}"
        self.assertEqual(sentence, f"{guilty} (rank {rank} on 127.0.0.1) exited with code 1")
        self.assertIn("Connection refused", job.log(guilty, "stderr").decode())


if __name__ == "__main__":
    integration_case.main()
