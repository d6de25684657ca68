#!/usr/bin/env python3
"""An ApplicationMaster that is killed with -9 is replaced, and its tasks never notice."""

import contextlib
import json
import os
import signal
import subprocess
import time

import integration_case
import machine
import second_user
from integration_case import JobTest

END_SECONDS = 20
# Waits for a line with a container's id, and is then a process with an executor's argument, which
# lives until its input ends.
DECOY = """
    import os, sys
    sh = ["sh", "-c", "echo; read line", "decoy", "--container-id=" + sys.stdin.readline().strip()]
    os.execv("/bin/sh", sh)
"""


class MasterRestartTest(JobTest):
    """Jobs that lose their ApplicationMaster."""

    def kill_master(self, job, number=signal.SIGKILL):
        os.kill(machine.master_of(job.id), number)

    def wait_for_master(self, job, incarnation):
        job.wait_for(
            lambda events: any(
                event.get("master_restarted", {}).get("incarnation") == incarnation
                for event in events
            ),
            f"ApplicationMaster {incarnation}",
        )

    def wait_until_attached(self, job, incarnation):
        """Waits until all executors have attached to that ApplicationMaster."""
        self.wait_for_master(job, incarnation)
        job.wait_until_attached_again(incarnation - 1)

    def start(self, command, *arguments, workers=2):
        job = self.submit(command, *arguments, workers=workers)
        pids = job.wait_until_running(*(f"worker:{index}" for index in range(workers)))
        return job, pids

    def test_tasks_go_on(self):
        gate = self.pipe("gate")
        job, pids = self.start(f"read < {gate.path}; echo $TONY_ATTEMPT $TONY_EPOCH")
        self.kill_master(job)
        self.wait_until_attached(job, 2)
        for pid in pids:
            os.kill(pid, 0)
        gate.write(2)
        self.assert_succeeds(job)
        for index in range(2):
            self.assertEqual(job.log(f"worker:{index}"), b"1 0\n")
        self.assertEqual(job.events("epoch_opened"), [])
        sequences = [int(event["sequence"]) for event in job.raw_events("sequence")]
        self.assertEqual(sequences, list(range(1, len(sequences) + 1)))

    def test_a_long_history_holds_nobody_up(self):
        gate = self.pipe("gate")
        job, pids = self.start(f"read < {gate.path}; echo $TONY_ATTEMPT $TONY_EPOCH")
        last = int(job.raw_events("sequence")[-1]["sequence"])
        self.add_measurements(job.folder / "events.jsonl", last, 1_000_000)
        self.kill_master(job)
        # With the default time-outs; and the past comes first, in order, to who lacks it.
        self.wait_until_attached(job, 2)
        for pid in pids:
            os.kill(pid, 0)
        gate.write(2)
        self.assert_succeeds(job)
        for index in range(2):
            self.assertEqual(job.log(f"worker:{index}"), b"1 0\n")
        self.assertEqual(job.events("epoch_opened"), [])
        (note,) = job.events("note")
        self.assertRegex(note["sentence"], "^the last ApplicationMaster was killed by signal 9")
        sequences = [int(event["sequence"]) for event in job.raw_events("sequence")]
        self.assertEqual(sequences, sorted(set(sequences)))
        (restarted,) = job.raw_events("master_restarted")
        self.assertEqual(int(restarted["sequence"]), last + 1_000_001)
        self.assertEqual(self.site.verb("status", job.id)["state"], "SUCCEEDED")

    def add_measurements(self, history, last, count):
        """Lines as earlier versions wrote them with each heartbeat, behind event number `last`."""
        usage = (
            '"usage":{"cpu_seconds":12.5,"memory_bytes":"104857600","max_memory_bytes":"104857600",'
            '"read_bytes":"4096","write_bytes":"4096","processes":1,"gpu_utilization":-1,'
            '"gpu_memory_bytes":"-1"}'
        )
        with history.open("a") as file:
            for number in range(last + 1, last + count + 1):
                index = f',"index":{number % 2}' if number % 2 else ""
                file.write(
                    f'{{"sequence":"{number}","unix_millis":"1700000000000","task_measured":'
                    f'{{"task":{{"type":"worker"{index}}},{usage}}}}}\n'
                )

    def test_twice_in_a_row(self):
        gate = self.pipe("gate")
        job, _ = self.start(f"read < {gate.path}")
        self.kill_master(job)
        self.wait_for_master(job, 2)
        self.kill_master(job)
        self.wait_for_master(job, 3)
        gate.write(2)
        self.assert_succeeds(job)
        self.assertEqual(job.events("epoch_opened"), [])

    def test_stopped_for_longer_than_the_lease(self):
        gate = self.pipe("gate")
        job, pids = self.start(
            f"read < {gate.path}; echo $TONY_ATTEMPT $TONY_EPOCH",
            *("--conf", "tony.am.reattach-timeout-ms=1000"),  # the lease
            *("--conf", "tony.task.heartbeat-interval-ms=50"),
            *("--conf", "tony.task.max-missed-heartbeats=100"),
        )
        self.kill_master(job, signal.SIGSTOP)
        for pid in pids:
            self.assertTrue(machine.wait_until(lambda: machine.state_of(pid) == "T", END_SECONDS))
        self.kill_master(job, signal.SIGCONT)
        gate.write(2)
        self.assert_succeeds(job)
        for index in range(2):
            self.assertEqual(job.log(f"worker:{index}"), b"1 0\n")
        self.assertEqual(job.events("epoch_opened"), [])

    def test_an_end_meanwhile_is_not_lost(self):
        gate = self.pipe("gate")
        for code, verdict in ((0, "TASKS_SUCCEEDED"), (7, "TASK_FAILED")):
            with self.subTest(code=code):
                job, pids = self.start(f"read < {gate.path}; exit {code}", workers=1)
                ended = machine.Processes(self, {pid: "program" for pid in pids})
                # The ApplicationMaster is stopped while the program ends.
                self.kill_master(job, signal.SIGSTOP)
                gate.write()
                ended.wait_until_gone(END_SECONDS)
                self.kill_master(job)
                self.assert_ends(job, 1 if code else 0, verdict)

    def test_an_executor_lost_meanwhile(self):
        for arguments, code, reason in (
            (("--conf", "tony.am.infrastructure-retry-count=0"), 3, "TASK_LOST"),
            ((), 0, "TASKS_SUCCEEDED"),
        ):
            with self.subTest(arguments=arguments):
                job, _ = self.start("[ $TONY_ATTEMPT = 2 ] || sleep 600", *arguments)
                executor = self.executor_of(job, "worker:1")
                self.kill_master(job, signal.SIGSTOP)
                os.kill(executor, signal.SIGKILL)
                self.kill_master(job)
                self.assert_ends(job, code, reason)

    def test_a_strangers_process_is_not_taken_for_an_executor(self):
        second_user.require(self)
        # It is there before the executor, so that its number is lower.
        decoy = second_user.start_python(DECOY, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         bufsize=0)
        for clean_up in (decoy.stdin.close, decoy.stdout.close, decoy.wait, decoy.kill):
            self.addCleanup(clean_up)
        gate, ready = self.pipe("gate"), self.pipe("ready")
        job, (program,) = self.start(
            f"read < {gate.path}; echo > {ready.path}; read < {gate.path}", workers=1)
        executor = self.executor_of(job, "worker:0")
        container = job.wait_for_task("worker:0", "RUNNING")["container"]
        decoy.stdin.write(container.encode() + b"\n")
        self.assertEqual(decoy.stdout.readline(), b"\n")
        self.kill_master(job)
        self.wait_until_attached(job, 2)
        watched = machine.watched_by(machine.master_of(job.id))
        self.assertIn(executor, watched)
        self.assertNotIn(decoy.pid, watched)
        # Its end is not the executor's.
        decoy.kill()
        decoy.wait()
        gate.write()
        ready.read()
        os.kill(program, 0)
        gate.write()
        self.assert_succeeds(job)
        self.assertEqual(job.events("epoch_opened"), [])
        self.assertEqual(self.noted_executors(job), {container: executor})

    def noted_executors(self, job):
        """Which process the journal says each container's executor is, by container."""
        entries = [json.loads(path.read_text(encoding="utf-8"))
                   for path in (job.folder / "journal").iterdir()]
        noted = [decision["executorStarted"] for entry in entries
                 for decision in entry.get("decisions", []) if "executorStarted" in decision]
        self.assertTrue(all(int(one["startTicks"]) > 0 for one in noted), noted)
        return {one["containerId"]: int(one["pid"]) for one in noted}

    def test_an_executor_that_nobody_has_noted_is_found(self):
        # As after the loss of an ApplicationMaster between its start and the note.
        gate = self.pipe("gate")
        job, (program,) = self.start(f"read < {gate.path}", workers=1)
        executor = self.executor_of(job, "worker:0")
        self.kill_master(job, signal.SIGSTOP)
        for path in (job.folder / "journal").iterdir():
            entry = json.loads(path.read_text(encoding="utf-8"))
            entry["decisions"] = [decision for decision in entry.get("decisions", [])
                                  if "executorStarted" not in decision]
            path.write_text(json.dumps(entry), encoding="utf-8")
        self.kill_master(job)
        self.wait_until_attached(job, 2)
        os.kill(program, 0)
        gate.write()
        self.assert_succeeds(job)
        self.assertEqual(job.events("epoch_opened"), [])
        self.assertEqual(list(self.noted_executors(job).values()), [executor])

    def test_control_c_is_heard_while_an_application_master_starts(self):
        job, _ = self.start("sleep 600", *("--conf", "tony.client.am-start-timeout-ms=600000"),
                            *("--conf", "tony.am.reattach-timeout-ms=500"), workers=1)
        processes = machine.Processes(self, machine.processes_with(job.id))
        # The next one waits for somebody who writes into the pipe.
        staged = job.folder / "staged.json"
        staged.unlink()
        os.mkfifo(staged)
        self.kill_master(job)
        self.await_error(job, "starting another")
        began = time.monotonic()
        job.client.send_signal(signal.SIGINT)
        self.await_error(job, "Stopping; Ctrl-C again: leave the terminal, the job ends by itself")
        # Its own limit is a second; the rest is a busy machine's.
        self.assertLess(time.monotonic() - began, END_SECONDS / 2)
        self.leave(job)
        self.assertEqual(job.wait(), 4)
        self.assertIn("leaving before anybody could be told to stop the job", job.errors())
        os.close(os.open(staged, os.O_RDWR | os.O_NONBLOCK))
        processes.wait_until_gone(END_SECONDS)
        self.assertTrue(machine.wait_until(lambda: not machine.processes_with(job.id), END_SECONDS))

    def test_who_leaves_with_control_c_has_killed_the_job(self):
        ready = self.pipe("ready")
        job, _ = self.start(f"trap '' TERM; echo > {ready.path}; sleep 600",
                            *("--conf", "tony.task.kill-grace-ms=60000"),
                            *("--conf", "tony.am.reattach-timeout-ms=500"), workers=1)
        ready.read()
        processes = machine.Processes(self, machine.processes_with(job.id))
        job.client.send_signal(signal.SIGINT)
        job.wait_for(lambda events: any(event.get("state_changed", {}).get("state") == "STOPPING"
                                        for event in events), "stop")
        self.leave(job)
        self.assertEqual(job.wait(), 4)
        self.assertIn("leaving; the job is being stopped without anybody watching", job.errors())
        for pid in machine.processes_with(job.id):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        processes.wait_until_gone(END_SECONDS)

    def leave(self, job):
        """Ctrl-C until the client has left: of several at once it may hear one."""
        def left():
            job.client.send_signal(signal.SIGINT)
            return job.client.poll() is not None
        self.assertTrue(machine.wait_until(left, END_SECONDS, pause_seconds=0.05))

    def await_error(self, job, text):
        """Waits until tony-submit has said `text`."""
        self.assertTrue(machine.wait_until(lambda: text in job.errors(), END_SECONDS), job.errors())

    def test_what_stops_every_start_for_a_while_is_outlived(self):
        gate = self.pipe("gate")
        job, (program,) = self.start(f"read < {gate.path}; echo $TONY_ATTEMPT $TONY_EPOCH",
                                     *("--conf", "tony.am.reattach-timeout-ms=60000"), workers=1)
        # No ApplicationMaster can start without the file.
        file = job.folder / "job.xml"
        file.rename(job.folder / "away.xml")
        self.kill_master(job)
        self.await_error(job, "starting another in 1600 ms, since several were lost soon after")
        self.assertIn("that failed: the ApplicationMaster ended at once", job.errors())
        (job.folder / "away.xml").rename(file)
        self.wait_until_attached(job, 2)
        os.kill(program, 0)
        gate.write()
        self.assert_succeeds(job)
        self.assertEqual(job.log("worker:0"), b"1 0\n")
        self.assertEqual(job.events("epoch_opened"), [])

    def test_what_stops_every_start_of_a_detached_job_is_outlived(self):
        ready, gate = self.pipe("ready"), self.pipe("gate")
        job_id = self.detach(f"echo > {ready.path}; read < {gate.path}; echo $TONY_EPOCH")
        ready.read()
        processes = machine.Processes(self, machine.processes_with(job_id))
        folder = self.site.job_folder()
        (folder / "job.xml").rename(folder / "away.xml")
        os.kill(machine.master_of(job_id), signal.SIGKILL)
        log = folder / "logs" / "am.log"
        self.assertTrue(machine.wait_until(
            lambda: "in 1600 ms, since several were lost soon after" in log.read_text(), END_SECONDS))
        (folder / "away.xml").rename(folder / "job.xml")
        gate.write()
        logs = self.site.run("tony", "logs", "--follow", job_id, "worker:0")
        self.assertEqual(logs.stdout, "0\n")
        processes.wait_until_gone(END_SECONDS)
        self.assertEqual(self.site.verb("status", job_id)["state"], "SUCCEEDED")
        self.assert_nothing_left(folder)

    def test_control_c_afterwards(self):
        job, _ = self.start("sleep 600 & sleep 600")
        self.kill_master(job)
        self.wait_until_attached(job, 2)
        job.client.send_signal(signal.SIGINT)
        self.assert_ends(job, 4, "KILLED_BY_USER")

    def test_no_restart_left(self):
        job, _ = self.start("sleep 600", "--conf", "tony.am.max-restarts=0",
                            "--conf", "tony.am.reattach-timeout-ms=500")
        processes = machine.Processes(self, machine.processes_with(job.id))
        self.kill_master(job)
        self.assertEqual(job.wait(), 3)
        self.assertIn("the ApplicationMaster went away without a verdict", job.errors())
        processes.wait_until_gone(END_SECONDS)
        self.assertEqual(machine.processes_with(job.id), {})
        # Its containers stay: the tasks may still have been ending when the client was done.
        self.assertFalse((job.folder / "secrets").exists())
        self.assertFalse((job.folder / "archives").exists())
        self.assert_private(job.folder)
        self.assertEqual(self.site.verb("status")["state"], "LOST")

    def test_detached(self):
        ready, gate = self.pipe("ready"), self.pipe("gate")
        job_id = self.detach(f"echo > {ready.path}; read < {gate.path}; echo done")
        ready.read()
        processes = machine.Processes(self, machine.processes_with(job_id))
        os.kill(machine.master_of(job_id), signal.SIGKILL)
        gate.write()
        logs = self.site.run("tony", "logs", "--follow", job_id, "worker:0")
        self.assertEqual(logs.stdout, "done\n")
        processes.wait_until_gone(END_SECONDS)
        self.assertEqual(self.site.verb("status", job_id)["state"], "SUCCEEDED")
        self.assert_nothing_left(self.site.job_folder())

    def test_detached_without_a_restart_left(self):
        ready = self.pipe("ready")
        job_id = self.detach(
            f"echo > {ready.path}; sleep 600",
            *("--conf", "tony.am.max-restarts=0", "--conf", "tony.am.reattach-timeout-ms=500"),
        )
        ready.read()
        processes = machine.Processes(self, machine.processes_with(job_id))
        os.kill(machine.master_of(job_id), signal.SIGKILL)
        processes.wait_until_gone(END_SECONDS)
        self.assertEqual(machine.processes_with(job_id), {})
        status = self.site.verb("status", job_id)
        self.assertEqual(status["state"], "LOST")
        self.assertIn("its ApplicationMaster went away without a verdict", status["sentence"])
        (listed,) = self.site.verb("list")
        self.assertEqual((listed["id"], listed["state"]), (job_id, "LOST"))


if __name__ == "__main__":
    integration_case.main()
