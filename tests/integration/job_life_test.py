#!/usr/bin/env python3
"""What happens to a job when it is stopped, or when one of its processes is killed with -9."""

import os
import pty
import signal
import threading

import integration_case
import machine
from integration_case import JobTest

# How long the rest of a job may live when one of its processes was killed.
END_SECONDS = 20
RETRY = ("--conf", "tony.am.retry-count=1")
NO_RETRY = ("--conf", "tony.am.infrastructure-retry-count=0")


class StopTest(JobTest):
    """The user stops the job, or goes away."""

    def start(self, *arguments):
        """A job that runs for ever, partly in the background."""
        job = self.submit(
            *("sleep 600 & sleep 600", "--conf", "tony.task.kill-grace-ms=1000", *arguments),
            workers=2,
        )
        job.wait_until_running("worker:0", "worker:1")
        return job

    def test_control_c(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                job = self.start("--conf", "tony.client.on-hangup=kill")
                job.client.send_signal(number)
                self.assert_ends(job, 4, "KILLED_BY_USER")
                self.assertEqual(job.verdict["outcome"], "KILLED")

    def test_signal_to_the_process_group(self):
        job = self.start()
        os.killpg(job.client.pid, signal.SIGINT)
        self.assert_ends(job, 4, "KILLED_BY_USER")

    def test_control_c_at_a_terminal(self):
        ready = self.pipe("ready")
        command = self.site.command(
            *("tony-submit", "--executes", f"echo > {ready.path}; sleep 600"),
            *("--conf", "tony.worker.instances=1", *integration_case.SMALL),
        )
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(
                command[0], command, {**self.site.environment, "TERM": "xterm", "NO_COLOR": "1"}
            )
        screen = self.screen_of(terminal)
        ready.read()
        os.write(terminal, b"\x03")
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        shown = screen()
        self.assertEqual(code, 4, shown)
        self.assertIn(
            b"KILLED (KILLED_BY_USER): Stopped by the user who submitted it (Ctrl-C)", shown
        )
        self.assert_nothing_left(self.site.job_folder())

    def screen_of(self, terminal):
        """Reads a terminal until nobody is at its other end; returns what to ask for all of it."""
        shown = []

        def read():
            try:
                while data := os.read(terminal, 65536):
                    shown.append(data)
            except OSError:
                pass  # how Linux says that the other end is closed

        reader = threading.Thread(target=read)
        reader.start()
        self.addCleanup(os.close, terminal)

        def all_of_it():
            reader.join(END_SECONDS)
            return b"".join(shown)

        return all_of_it

    def test_killed_client(self):
        job = self.start()
        processes = machine.Processes(self, machine.processes_with(job.id))
        job.client.kill()
        processes.wait_until_gone(END_SECONDS)
        self.assert_nothing_left(job.folder)
        self.assertEqual(self.site.verb("status")["verdict"]["reason"], "CLIENT_GONE")

    def test_client_killed_while_it_stages(self):
        program = self.site.folder / "program"
        program.mkdir()
        with open(program / "data", "wb") as data:
            data.truncate(4 << 30)  # takes seconds to pack, and no room
        job = self.submit("true", "--src_dir", program)
        archives = self.site.local_dir / "jobs"
        self.assertTrue(machine.wait_until(lambda: [*archives.glob("*/archives/*")], END_SECONDS))
        self.assertEqual(self.site.verb("list")[0]["state"], "NEW")
        job.client.kill()
        job.wait()
        (told,) = self.site.verb("list")
        self.assertEqual(told["state"], "LOST")
        status = self.site.run("tony", "status", told["id"]).stdout
        self.assertIn("the client that submitted it was gone before", status)
        self.assertTrue((archives / told["id"] / "secrets").exists())
        self.assert_succeeds(self.submit("true"))
        self.assert_nothing_left(archives / told["id"])

    def test_kill_verb(self):
        job = self.start()
        told = self.site.verb("kill", job.id)
        self.assertEqual(told["verdict"]["reason"], "KILLED_BY_USER")
        self.assertEqual(told["state"], "KILLED")
        self.assert_ends(job, 4, "KILLED_BY_USER")


class DetachTest(JobTest):
    """The job continues without its client."""

    def test_job_goes_on_without_its_client(self):
        ready = self.pipe("ready")
        gate = self.pipe("gate")
        job_id = self.detach(f"echo $JOB_ID > {ready.path}; read < {gate.path}; echo done")
        processes = machine.Processes(self, machine.processes_with(job_id))
        self.assertEqual(ready.read(), job_id)

        def state():
            return self.site.verb("status", job_id)["state"]

        # The program runs before its ApplicationMaster has heard of it.
        machine.wait_until(lambda: state() == "RUNNING", END_SECONDS)
        self.assertEqual(state(), "RUNNING")
        gate.write()
        logs = self.site.run("tony", "logs", "--follow", job_id, "worker:0")
        self.assertEqual(logs.stdout, "done\n")
        processes.wait_until_gone(END_SECONDS)
        self.assertEqual(self.site.verb("status", job_id)["state"], "SUCCEEDED")
        self.assert_nothing_left(self.site.job_folder())

    def test_kill(self):
        ready = self.pipe("ready")
        job_id = self.detach(f"echo > {ready.path}; sleep 600")
        processes = machine.Processes(self, machine.processes_with(job_id))
        ready.read()
        self.assertEqual(self.site.verb("kill", job_id)["state"], "KILLED")
        processes.wait_until_gone(END_SECONDS)
        self.assert_nothing_left(self.site.job_folder())


class KillTest(JobTest):
    """One process of a job with two workers is killed with -9."""

    def start(self, *arguments):
        """Two workers; the first attempt of each runs for ever, the second ends at once."""
        job = self.submit("[ $TONY_ATTEMPT = 2 ] || sleep 600", *arguments, workers=2)
        self.pids = job.wait_until_running("worker:0", "worker:1")
        return job

    def process(self, job, program, container=""):
        """The id of the job's only process of a program, in one of its containers."""
        (pid,) = (
            pid
            for pid, command in machine.processes_with(job.id).items()
            if f"/{program} " in command
            and container in command
            and machine.name_of(pid) == program[:15]
        )
        return pid

    def fork_server_of(self, job):
        """The id of the process that the job's executors are forked from."""
        (pid,) = (
            pid
            for pid, command in machine.processes_with(job.id).items()
            if "--fork-server" in command
        )
        return pid

    def keeper_of(self, pid):
        """The process above a user's process."""
        parent = machine.parent_of(pid)
        self.assertEqual(machine.name_of(parent), "tony-keeper")
        return parent

    def containers(self, job, epoch=0):
        """Container, port and attempt of each task as it ran in an epoch."""
        running = [job.wait_for_task(f"worker:{index}", "RUNNING", epoch) for index in range(2)]
        return [(task["container"], task["port"], task["attempt"]) for task in running]

    def test_fork_server_with_a_retry(self):
        job = self.start(*RETRY)
        before = self.containers(job)
        os.kill(self.fork_server_of(job), signal.SIGKILL)
        # The fork server is needed only when an executor is lost, too.
        os.kill(self.process(job, "tony-executor", before[1][0]), signal.SIGKILL)
        self.containers(job, epoch=1)
        self.assert_succeeds(job)

    def test_executor(self):
        job = self.start(*NO_RETRY)
        _, (container, _, _) = self.containers(job)
        os.kill(self.process(job, "tony-executor", container), signal.SIGKILL)
        sentence = self.assert_ends(job, 3, "TASK_LOST")
        self.assertIn("worker:1 was lost", sentence)
        self.assertIn(container, sentence)

    def test_executor_with_a_retry(self):
        job = self.start(*RETRY)
        before = self.containers(job)
        os.kill(self.process(job, "tony-executor", before[1][0]), signal.SIGKILL)
        after = self.containers(job, epoch=1)
        self.assert_succeeds(job)
        self.assertEqual(after[0][0], before[0][0])
        self.assertNotEqual(after[1][0], before[1][0])
        self.assertEqual([attempt for _, _, attempt in after], [2, 2])

    def test_keeper(self):
        job = self.start(*NO_RETRY)
        os.kill(self.keeper_of(self.pids[1]), signal.SIGKILL)
        self.assertIn("worker:1 was lost", self.assert_ends(job, 3, "TASK_LOST"))

    def test_program(self):
        job = self.start()
        os.kill(self.pids[1], signal.SIGKILL)
        sentence = self.assert_ends(job, 1, "TASK_FAILED")
        self.assertEqual(sentence, "worker:1 was killed by signal 9 (SIGKILL)")
        self.assertEqual(job.verdict["guilty"], {"type": "worker", "index": 1})

    def test_program_with_a_retry(self):
        job = self.start(*RETRY)
        before = self.containers(job)
        os.kill(self.pids[1], signal.SIGKILL)
        after = self.containers(job, epoch=1)
        self.assert_succeeds(job)
        (opened,) = job.events("epoch_opened")
        self.assertEqual(opened["guilty"], {"type": "worker", "index": 1})
        for (container, port, attempt), (old_container, old_port, old_attempt) in zip(
            after, before
        ):
            self.assertEqual(container, old_container)
            self.assertNotEqual(port, old_port)
            self.assertEqual((old_attempt, attempt), (1, 2))

    def test_budget_is_spent_once(self):
        job = self.submit("exit 5", *RETRY)
        sentence = self.assert_ends(job, 1, "TASK_FAILED")
        self.assertTrue(sentence.startswith("worker:0 exited with code 5; the one restart"), sentence)
        self.assertEqual(len(job.events("epoch_opened")), 1)


if __name__ == "__main__":
    integration_case.main()
