#!/usr/bin/env python3
"""Horovod jobs: their ranks find each other, or it is said who was not found and why."""

import itertools
import os
import signal

import integration_case
import horovod_case
import horovod_job
import machine
import tony_cli
from horovod_case import RETRY, HorovodTest
from tony_cli import is_attached_again
from horovod_job import ranks


class RanksTest(HorovodTest):
    """Jobs to which nothing happens."""

    def test_two_and_four_workers(self):
        for workers in (2, 4):
            with self.subTest(workers=workers):
                job = self.submit_ranks(ranks(), workers=workers)
                self.assert_connected(job, workers)
                self.assertEqual(job.events("epoch_opened"), [])

    def test_chief_and_workers(self):
        job = self.submit_ranks(ranks(), "--conf", "tony.chief.instances=1",
                                "--conf", "tony.chief.memory=64m")
        self.assert_succeeds(job)
        said = b"".join(map(job.log, ("chief:0", "worker:0", "worker:1"))).decode()
        self.assertEqual(said.splitlines(), horovod_job.expected_lines(3))

    def test_one_worker(self):
        self.assert_connected(self.submit_ranks(ranks(), workers=1), workers=1)

    def test_a_job_file(self):
        """With nothing in it about the rendezvous; it is listed for what it is."""
        gate = self.pipe("gate")
        path = self.write_job(
            ("tony.application.framework", "horovod"),
            ("tony.worker.instances", "2"),
            ("tony.worker.memory", "64m"),
            ("tony.containers.command", ranks(always=f"--hold {gate.path}")),
        )
        job = self.site.submit(path)
        self.wait_for_ranks(job)

        def shown():
            tasks = self.site.verb("status", job.id)["tasks"]
            return {task["task"]: task["state"] for task in tasks}

        expected = dict.fromkeys(("worker:0", "worker:1", "driver:0"), "RUNNING")
        machine.wait_until(lambda: shown() == expected, tony_cli.DEADLINE_SECONDS)
        self.assertEqual(shown(), expected)
        gate.write(2)
        self.assert_connected(job)
        self.assertEqual(shown()["driver:0"], "STOPPED")

    def test_no_workers(self):
        path = self.write_job(
            ("tony.application.framework", "horovod"),
            ("tony.worker.instances", "0"),
            ("tony.containers.command", "true"),
        )
        self.assertEqual(
            self.assert_refused(2, path),
            f"{path}:3: tony.worker.instances: a Horovod job needs the task type worker or chief; "
            "set it to 1 or more\n",
        )


class MissingTest(HorovodTest):
    """Some find each other and some do not."""

    MISSING = (
        "1 of 4 ranks has not put its addresses into 'global': "
        "worker:2 (rank 2 on 127.0.0.1) has put nothing"
    )

    def late(self, time, missing=MISSING):
        """The driver's message when the time is over."""
        return (
            f"The processes did not find each other within {time} "
            f"(tony.horovod.rendezvous-timeout-ms): {missing}"
        )

    def assert_noticed(self, job, after=lambda event: True):
        """After a certain event the history and `tony status` name the missing ranks."""
        def noticed(events):
            later = itertools.dropwhile(lambda event: not after(event), events)
            return any(self.MISSING in event.get("waiting", {}).get("what", "") for event in later)

        job.wait_for(noticed, "notice")
        status = self.site.verb("status", job.id)
        self.assertEqual(status["state"], "RUNNING")
        self.assertEqual(status["waiting"]["what"], self.MISSING)
        self.assertEqual(status["waiting"]["missing"], ["worker:2"])
        self.assertIn("tony.horovod.rendezvous-timeout-ms", status["waiting"]["unblock"])

    def test_a_rank_that_never_comes(self):
        job = self.submit_ranks(
            ranks("2:--never"), "--conf", "tony.horovod.rendezvous-timeout-ms=15000", workers=4
        )
        self.assert_noticed(job)
        sentence = self.assert_ends(job, 1, "TASK_FAILED")
        self.assertEqual(sentence, self.late("15s"))
        self.assertEqual(job.verdict["guilty"], {"type": "worker", "index": 2})
        self.assertIn(self.late("15s"), job.log("driver:0", "stderr").decode())

    def test_a_rank_that_comes_late(self):
        """The notice is taken back, even by another ApplicationMaster."""
        gate = self.pipe("gate")
        job = self.submit_ranks(
            f"[ $HOROVOD_RANK != 2 ] || read < {gate.path}; {ranks()}", workers=4
        )
        self.assert_noticed(job)
        self.lose_master(job)
        self.assert_noticed(job, after=is_attached_again)
        gate.write()
        self.assert_connected(job, 4)
        self.assertEqual(job.events("epoch_opened"), [])

    def test_too_short_a_time_to_say_anything_before(self):
        # With two, so that no rank is missing but the one that never comes.
        job = self.submit_ranks(
            ranks("1:--never"), "--conf", "tony.horovod.rendezvous-timeout-ms=600"
        )
        sentence = self.assert_ends(job, 1, "TASK_FAILED")
        self.assertEqual(sentence, self.late(
            "0.6s", "1 of 2 ranks has not put its addresses into 'global': "
            "worker:1 (rank 1 on 127.0.0.1) has put nothing"))

    def test_a_rank_that_ends_well_without_coming(self):
        """That is said long before the time is over."""
        job = self.submit_ranks(f"[ $HOROVOD_RANK != 1 ] || exit 0; {ranks()}", workers=3)
        why = ("1 of 3 ranks has not put its addresses into 'global': "
               "worker:1 (rank 1 on 127.0.0.1) has put nothing")
        self.assertEqual(
            self.assert_ends(job, 1, "TASK_FAILED"),
            "worker:1 (rank 1 on 127.0.0.1) exited with code 0 without joining the others: " + why)
        self.assertEqual(job.verdict["guilty"], {"type": "worker", "index": 1})
        waits = [event["what"] for event in job.events("waiting")]
        self.assertIn(f"{why}; worker:1 (rank 1 on 127.0.0.1) has ended with code 0 without joining "
                      "the others", waits)

    def test_stopped_by_the_user(self):
        job = self.submit_ranks(ranks("1:--never"))
        workers, _ = self.wait_for_ranks(job)
        port = horovod_job.port_of(workers[0])
        horovod_job.wait_until_put(port, "/global/0")
        job.client.send_signal(signal.SIGINT)
        self.assert_ends(job, 4, "KILLED_BY_USER")
        self.assert_closed(port)


class DeathTest(HorovodTest):
    """Ranks that end while they look for each other."""

    def test_in_the_rendezvous(self):
        for context in (1, 5):
            with self.subTest(context=context):
                job = self.submit_ranks(ranks(f"1:--die-in {context}"), workers=3)
                sentence = self.assert_ends(job, 1, "TASK_FAILED")
                self.assertEqual(
                    sentence, "worker:1 (rank 1 on 127.0.0.1) exited with code 3")
                self.assertEqual(job.verdict["guilty"], {"type": "worker", "index": 1})

    def test_in_the_first_attempt(self):
        """All start over, with another plan; earlier values are forgotten."""
        job = self.submit_ranks(ranks("1.0:--die-in 4"), *RETRY, workers=3)
        self.assert_connected(job, 3, attempt=2)
        (opened,) = job.events("epoch_opened")
        self.assertEqual(opened["cause"], "worker:1 (rank 1 on 127.0.0.1) exited with code 3")
        for attempt in (1, 2):
            said = job.log("driver:0", "stderr", attempt).decode()
            self.assertIn("3 ranks; the rendezvous", said)

    def test_by_a_signal(self):
        told, gate = self.pipe("told"), self.pipe("gate")
        job = self.submit_ranks(ranks(always=f"--tell {told.path} --hold {gate.path}"))
        workers, _ = self.wait_for_ranks(job)
        for _ in workers:
            told.read()
        os.kill(workers[1], signal.SIGKILL)
        sentence = self.assert_ends(job, 1, "TASK_FAILED")
        self.assertEqual(sentence, "worker:1 (rank 1 on 127.0.0.1) was killed by signal 9 (SIGKILL)")


class MasterTest(HorovodTest):
    """The ApplicationMaster is killed, and the ranks find each other all the same."""

    def test_during_the_rendezvous(self):
        gate = self.pipe("gate")
        job = self.submit_ranks(
            f"[ $HOROVOD_RANK != 0 ] || read < {gate.path}; {ranks()}", workers=3)
        workers, _ = self.wait_for_ranks(job, 3)
        horovod_job.wait_until_put(horovod_job.port_of(workers[0]), "/global/2")
        self.lose_master(job)
        gate.write()
        self.assert_connected(job, 3)

    def test_before_anybody_knows_the_ranks(self):
        gate = self.pipe("gate")
        job = self.submit_ranks(
            ranks(),
            *("--conf", "tony.horovod.driver.mode.debug=true"),
            *("--conf", "tony.driver.instances=1", *horovod_case.SMALL),
            *("--conf", f"tony.driver.command={horovod_job.OWN_DRIVER} {gate.path}"),
        )
        job.wait_until_running("driver:0")
        self.lose_master(job)
        gate.write()
        self.assert_connected(job)


if __name__ == "__main__":
    integration_case.main()
