#!/usr/bin/env python3
"""Jobs whose executors an external launcher starts (docs/design/launcher.md)."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys

import integration_case
import machine
from integration_case import JobTest

LAUNCHER = pathlib.Path(__file__).resolve().parents[1] / "support/local_launcher.py"
SLEEP = "echo up; exec sleep 600"
END_SECONDS = 30


class LauncherTest(JobTest):
    """Jobs of a launcher, which is a process of its own."""

    def setUp(self):
        super().setUp()
        self.containers = self.site.folder / "containers"
        self.containers.mkdir()

    def launch(self, command, *arguments, workers=1, options=()):
        """Starts a job of workers that run `command`, by a launcher."""
        return self.site.submit(
            *("--executes", command, "--conf", f"tony.worker.instances={workers}"),
            *integration_case.SMALL,
            *arguments,
            prefix=[sys.executable, LAUNCHER, *options, self.containers],
        )

    def output(self, container, attempt=1):
        """What the program in a container has printed."""
        return (self.containers / container / f"attempt-{attempt}.stdout.log").read_text()

    def assert_nothing_runs(self, job):
        """No process of the job is left, wherever the launcher has started it."""
        machine.wait_until(lambda: not machine.processes_with(job.id), END_SECONDS, 0.01)
        self.assertEqual(machine.processes_with(job.id), {})

    def test_two_workers_run_and_find_each_other(self):
        program = self.site.folder / "program"
        program.mkdir()
        (program / "data.txt").write_text("shipped")
        job = self.launch("cat data.txt; echo $CLUSTER_SPEC", "--src_dir", str(program), workers=2)
        self.assertEqual(job.wait(), 0, job.describe())
        for container in (f"{job.id}-c0001", f"{job.id}-c0002"):
            text = self.output(container)
            self.assertTrue(text.startswith("shipped"), text)
            spec = json.loads(text[len("shipped"):])
            self.assertEqual([host.split(":")[0] for host in spec["worker"]], ["127.0.0.1"] * 2)
        (submitted,) = job.events("submitted")
        self.assertEqual(submitted["backend"], "launcher")
        self.assert_nothing_left(job.folder)

    def logs(self, job, *arguments):
        """What `tony logs` shows."""
        return self.site.run("tony", "logs", job.id, *arguments).stdout

    def test_the_logs_are_in_the_jobs_folder(self):
        lines = 20000
        job = self.launch(f"seq {lines}; echo the end >&2; exit 3")
        self.assertEqual(job.wait(), 1, job.describe())
        for container in self.containers.iterdir():
            shutil.rmtree(container)  # as Spark does it
        printed = self.logs(job, "worker:0", "--stdout").split()
        self.assertEqual(printed, [str(line) for line in range(1, lines + 1)])
        self.assertEqual(self.logs(job, "worker:0", "--stderr"), "the end\n")
        self.assertIn("the end", self.logs(job, "--first-error"))
        self.assertIn("shutting down", self.logs(job, "worker:0", "--executor"))
        self.assertFalse(job.events("note"))

    def await_up(self, job, times):
        """Waits until the task's programs have said so often that they are up."""
        machine.wait_until(lambda: self.logs(job, "worker:0", "--stdout").count("up") == times, END_SECONDS, 0.05)

    def test_the_logs_of_replaced_containers(self):
        job = self.launch(f"echo in $TONY_CONTAINER_ID; {SLEEP}")
        self.await_up(job, 1)
        os.kill(self.executor_of(job, "worker:0"), signal.SIGKILL)
        self.await_up(job, 2)
        os.kill(machine.master_of(job.id), signal.SIGKILL)
        job.wait_until_attached_again()
        # The next ApplicationMaster copies the log again, to the same place.
        self.await_up(job, 2)
        os.kill(self.executor_of(job, "worker:0", epoch=1), signal.SIGKILL)
        self.await_up(job, 3)
        self.end_by_client(job)
        containers = ("c0001", "c0002", "a2-c0001")
        executors = self.logs(job, "worker:0", "--executor")
        places = [executors.find(f"container={job.id}-{container} ") for container in containers]
        self.assertEqual(places, sorted(places), executors)
        self.assertNotIn(-1, places)
        self.assertEqual(self.logs(job, "worker:0", "--stdout").split(), [
            word for container in containers for word in ("in", f"{job.id}-{container}", "up")])

    def test_a_failing_program_fails_the_job_with_its_words(self):
        job = self.launch("echo it is broken >&2; exit 3")
        self.assertEqual(job.wait(), 1, job.describe())
        self.assertIn("it is broken", json.dumps(job.all_events()))
        self.assert_nothing_runs(job)

    def test_a_killed_executor_is_replaced(self):
        job = self.launch(SLEEP, workers=2)
        job.wait_until_running("worker:0", "worker:1")
        os.kill(self.executor_of(job, "worker:1"), signal.SIGKILL)
        job.wait_for_task("worker:0", "RUNNING", epoch=1)
        again = job.wait_for_task("worker:1", "RUNNING", epoch=1)
        self.assertEqual(again["container"], f"{job.id}-c0003")
        self.end_by_client(job)

    def end_by_client(self, job):
        """Ends the job as Ctrl-C does."""
        job.client.send_signal(signal.SIGINT)
        job.wait(END_SECONDS)
        self.assert_nothing_runs(job)

    def test_a_tied_executor_ends_with_its_process_and_is_replaced(self):
        job = self.launch(SLEEP, workers=2, options=["--tie"])
        job.wait_until_running("worker:0", "worker:1")
        (tie,) = machine.processes_with(f"TIE_OF={job.id}-c0001")
        os.kill(tie, signal.SIGKILL)
        job.wait_until_running("worker:0", "worker:1", epoch=1)
        lost = [event["sentence"] for event in job.events("task_changed")
                if "to which its executor is tied, has ended" in event.get("sentence", "")]
        self.assertTrue(lost, job.describe())
        self.assertFalse(machine.processes_with(f"--container-id={job.id}-c0001"))
        self.end_by_client(job)

    def test_the_launchers_end_ends_the_job(self):
        job = self.launch(SLEEP, workers=2)
        job.wait_until_running("worker:0", "worker:1")
        job.client.kill()
        ended = job.wait_for(lambda events: [e for e in events if "ended" in e], "end", END_SECONDS)
        self.assertIn("The launcher", ended[0]["ended"]["verdict"]["sentence"])
        self.assert_nothing_runs(job)

    def test_another_application_master_goes_on_with_the_executors(self):
        job = self.launch(SLEEP, workers=2)
        pids = job.wait_until_running("worker:0", "worker:1")
        os.kill(machine.master_of(job.id), signal.SIGKILL)
        job.wait_until_attached_again()
        self.assertTrue(all(machine.lives(pid) for pid in pids))
        # An executor that is lost now is replaced by the new ApplicationMaster's own orders.
        os.kill(self.executor_of(job, "worker:0"), signal.SIGKILL)
        again = job.wait_for_task("worker:0", "RUNNING", epoch=1)
        self.assertEqual(again["container"], f"{job.id}-a2-c0001")
        self.end_by_client(job)

    def test_a_launcher_without_room_is_waited_for(self):
        job = self.launch(SLEEP, workers=2, options=["--most", "1"])
        job.wait_for(lambda events: any("1 executors run" in json.dumps(event) for event in events), "wait")
        self.end_by_client(job)

    def test_a_voucher_works_once(self):
        record = self.site.folder / "orders"
        job = self.launch(SLEEP, options=["--record", record])
        job.wait_until_running("worker:0")
        order = json.loads(record.read_text().splitlines()[0])
        thief = self.redeem(order["voucher"])
        self.assertEqual(thief.returncode, 1)
        self.assertIn("was used before", thief.stderr)
        job.wait_for(lambda events: any("used a second time" in json.dumps(event) for event in events), "note")
        wrong = json.loads(order["voucher"])
        wrong["secret"] = "0" * 64
        self.assertIn("is not that of", self.redeem(json.dumps(wrong)).stderr)
        self.assertIn("damaged", self.redeem("{}").stderr)
        self.end_by_client(job)

    def test_a_voucher_of_a_job_that_has_ended_is_given_up(self):
        record = self.site.folder / "orders"
        job = self.launch("true", options=["--record", record])
        self.assertEqual(job.wait(), 0, job.describe())
        late = self.redeem(json.loads(record.read_text().splitlines()[0])["voucher"])
        self.assertEqual(late.returncode, 1)
        self.assertIn("the next one has other vouchers", late.stderr)

    def redeem(self, voucher):
        """Starts an executor with this voucher."""
        with (self.site.folder / "voucher").open("w+", encoding="utf-8") as file:
            file.write(voucher + "\n")
            file.flush()
            file.seek(0)
            return subprocess.run(
                [self.site.programs / "tony-executor", f"--voucher-fd={file.fileno()}", "--host=127.0.0.1"],
                pass_fds=[file.fileno()], cwd=self.site.folder, capture_output=True, text=True, timeout=50,
                check=False)

    def test_the_vouchers_secret_is_nowhere_else(self):
        record = self.site.folder / "orders"
        job = self.launch(SLEEP, options=["--record", record])
        job.wait_until_running("worker:0")
        secret = json.loads(json.loads(record.read_text().splitlines()[0])["voucher"])["secret"]
        self.assertEqual(machine.processes_with(secret), {})
        for path in [*job.folder.rglob("*"), *self.containers.rglob("*")]:
            if path.is_file() and not path.is_symlink():
                self.assertNotIn(secret.encode(), path.read_bytes(), path)
        self.end_by_client(job)

    def test_submissions_that_cannot_be(self):
        common = ("--executes", "true", "--conf", "tony.worker.instances=1")
        said = self.assert_refused(2, *common, "--backend", "launcher")
        self.assertIn("has to start tony-submit with --launcher-fd", said)
        said = self.assert_refused(2, *common, "--backend", "launcher", "--launcher-fd", "77")
        self.assertIn("SOCK_SEQPACKET", said)
        said = self.assert_refused(2, *common, "--backend", "launcher", "--launcher-fd", "0")
        self.assertIn("--launcher-fd", said)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            given = ("--launcher-fd", str(theirs.fileno()))
            for options, words in (((), "add --backend launcher"), (("--detach",), "excludes --detach")):
                refused = subprocess.run(self.site.command("tony-submit", *common, *given, *options),
                                         pass_fds=[theirs.fileno()], env=self.site.environment,
                                         capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(refused.returncode, 2, refused.stderr)
                self.assertIn(words, refused.stderr)


if __name__ == "__main__":
    integration_case.main()
