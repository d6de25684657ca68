#!/usr/bin/env python3
"""Leaving a job and coming back to it: `tony wait | attach`, and a terminal that is closed."""

import json
import os
import pty
import signal
import subprocess
import threading

import integration_case
import machine
from integration_case import JobTest

END_SECONDS = 20


class ComeBackTest(JobTest):
    """A job that goes on until the test lets it end."""

    def detach_gated(self, name="gate", code=0, arguments=()):
        """Starts a detached job that ends with `code` when its gate is opened; returns both."""
        ready, gate = self.pipe(f"{name}-ready"), self.pipe(name)
        job_id = self.detach(
            f"echo > {ready.path}; read < {gate.path}; exit {code}", *arguments
        )
        ready.read()
        return job_id, gate

    def tony(self, *arguments, code=0):
        """Runs a verb for people; returns its result."""
        result = self.site.run("tony", *arguments)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        return result

    def start(self, *arguments):
        """Starts a verb whose end comes later."""
        return self.site.start(self, "tony", *arguments)

    def finish(self, process, code):
        """The text of a started verb, which ends with `code`."""
        out, err = process.communicate()
        self.assertEqual(process.returncode, code, err + out)
        return out, err

    def am_of(self, job_id):
        """The id of the job's ApplicationMaster, and not of its keeper."""
        masters = machine.programs_of(job_id, "tony-am")
        (master,) = (pid for pid in masters if machine.parent_of(pid) in masters)
        return master


class WaitTest(ComeBackTest):
    """`tony wait`."""

    def test_ends_with_the_jobs_exit_code(self):
        job_id, gate = self.detach_gated(code=7)
        waiting = self.start("wait", job_id)
        result = self.tony("wait", job_id, "--timeout", "0", code=6)
        self.assertEqual(
            result.stderr,
            f"tony: job {job_id} goes on after 0 s (--timeout); tony status {job_id} shows what it "
            "does, tony kill ends it\n",
        )
        gate.write()
        out, _ = self.finish(waiting, 1)
        self.assertEqual(out, f"{job_id}  FAILED: worker:0 exited with code 7\n")
        self.assert_nothing_left(self.site.job_folder())
        # A job that has ended before is no reason to wait.
        self.assertEqual(self.tony("wait", "latest", code=1).stdout, out)

    def test_several_jobs(self):
        first, first_gate = self.detach_gated("first")
        second, second_gate = self.detach_gated("second", code=1)
        both = self.start("wait", first, second)
        either = self.start("wait", "--any", first, second)
        first_gate.write()
        out, _ = self.finish(either, 0)
        self.assertEqual(out, f"{first}  SUCCEEDED: The tracked task succeeded\n")
        second_gate.write()
        out, _ = self.finish(both, 1)
        self.assertEqual(len(out.splitlines()), 2)
        self.assertTrue(out.splitlines()[1].startswith(f"{second}  FAILED: "), out)

    def test_goes_on_across_a_loss_of_the_master(self):
        job_id, gate = self.detach_gated()
        waiting = self.start("wait", job_id)
        os.kill(self.am_of(job_id), signal.SIGKILL)
        gate.write()
        out, _ = self.finish(waiting, 0)
        self.assertIn("SUCCEEDED", out)


class AttachTest(ComeBackTest):
    """`tony attach`."""

    def test_shows_the_job_to_its_end(self):
        job_id, gate = self.detach_gated(code=3)
        attached = self.start("attach", job_id)
        first = attached.stdout.readline()
        self.assertTrue(first.startswith(f"Job {job_id} "), first)
        gate.write()
        out, _ = self.finish(attached, 1)
        self.assertIn("FAILED (TASK_FAILED): worker:0 exited with code 3", out)
        self.assert_nothing_left(self.site.job_folder())

    def test_goes_on_with_the_next_master(self):
        job_id, gate = self.detach_gated()
        attached = self.start("attach", job_id)
        attached.stdout.readline()
        os.kill(self.am_of(job_id), signal.SIGKILL)
        while "number 2 goes on" not in (line := attached.stdout.readline()):
            self.assertTrue(line, "the ApplicationMaster's loss is not shown")
        gate.write()
        out, _ = self.finish(attached, 0)
        self.assertIn("SUCCEEDED", out)

    def test_control_c_leaves_the_job_alone(self):
        job_id, gate = self.detach_gated()
        for number in (signal.SIGINT, signal.SIGHUP):
            attached = self.start("attach", job_id)
            attached.stdout.readline()
            attached.send_signal(number)
            _, err = self.finish(attached, 6)
            self.assertEqual(
                err,
                f"tony: job {job_id} goes on; tony attach {job_id} shows it again, "
                f"tony kill {job_id} ends it\n",
            )
        gate.write()
        self.tony("wait", job_id)

    def test_an_owner_takes_the_job_over(self):
        for number, reason in ((signal.SIGTERM, "KILLED_BY_USER"), (signal.SIGKILL, "CLIENT_GONE")):
            job_id, _ = self.detach_gated(f"gate-{number}")
            attached = self.start("attach", "--owner", job_id)
            attached.stdout.readline()
            attached.send_signal(number)
            ended = self.site.run("tony", "wait", "--json", job_id)
            self.assertEqual(json.loads(ended.stdout)["verdict"]["reason"], reason)
            self.finish(attached, 4 if number == signal.SIGTERM else -number)

    def test_an_owner_leaves_with_its_parent(self):
        job_id, _ = self.detach_gated()
        words = self.site.command("tony", "attach", "--owner", job_id)
        parent = subprocess.Popen(
            ["bash", "-c", '"$@" --leave-with $$; true', "bash", *words], env=self.site.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(parent.stdout.close)
        self.addCleanup(parent.wait)
        self.addCleanup(parent.kill)
        parent.stdout.readline()
        parent.kill()
        ended = self.site.run("tony", "wait", "--json", job_id)
        self.assertEqual(json.loads(ended.stdout)["verdict"]["reason"], "CLIENT_GONE")

    def test_a_follower_whose_parent_is_another_leaves(self):
        job_id, gate = self.detach_gated()
        self.finish(self.start("attach", "--leave-with", "1", job_id), 6)
        _, err = self.finish(self.start("attach", "--leave-with", "init", job_id), 2)
        self.assertIn("--leave-with 'init' is no process id", err)
        gate.write()
        self.tony("wait", job_id)


class HangupTest(ComeBackTest):
    """The terminal of tony-submit is closed."""

    def submit_at_terminal(self, *arguments):
        """Starts a job at a terminal; returns the client, the terminal and the job's gate."""
        ready, gate = self.pipe("ready"), self.pipe("gate")
        command = self.site.command(
            *("tony-submit", "--executes", f"echo > {ready.path}; read < {gate.path}"),
            *("--conf", "tony.worker.instances=1", *integration_case.SMALL, *arguments),
        )
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(command[0], command, {**self.site.environment, "TERM": "xterm"})
        threading.Thread(target=self.read_all, args=(os.dup(terminal),), daemon=True).start()
        ready.read()
        job_id = self.site.job_folder().name
        machine.wait_until(
            lambda: self.site.verb("status", job_id)["state"] == "RUNNING", END_SECONDS
        )
        return pid, terminal, gate, job_id

    @staticmethod
    def read_all(terminal):
        """Reads what is shown, so that the program never waits for its terminal."""
        try:
            while os.read(terminal, 65536):
                pass
        except OSError:
            pass
        os.close(terminal)

    def test_the_job_goes_on(self):
        pid, terminal, gate, job_id = self.submit_at_terminal()
        os.close(terminal)
        os.kill(pid, signal.SIGHUP)
        said = "the terminal of tony-submit was closed (SIGHUP), and the job goes on"
        log = self.site.job_folder() / "logs/am.log"
        self.assertTrue(machine.wait_until(lambda: said in log.read_text(), END_SECONDS))
        notes = machine.wait_until(lambda: self.site.verb("status", job_id)["notes"], END_SECONDS, 0.1)
        self.assertEqual(len(notes), 1)
        self.assertTrue(notes[0].startswith(said), notes)
        self.assertEqual(self.site.verb("status", job_id)["state"], "RUNNING")
        # The client is there still, for an ApplicationMaster that is lost.
        attached = self.start("attach", job_id)
        attached.stdout.readline()
        (master,) = machine.programs_of(job_id, "tony-am")
        os.kill(master, signal.SIGKILL)
        gate.write()
        out, _ = self.finish(attached, 0)
        self.assertIn("number 2 goes on", out)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertRegex(log.read_text(),
                         "the ApplicationMaster was killed by signal 9.*; starting another")
        self.assert_nothing_left(self.site.job_folder())

    def test_the_job_ends_if_that_is_wanted(self):
        pid, terminal, _, _ = self.submit_at_terminal("--conf", "tony.client.on-hangup=kill")
        os.kill(pid, signal.SIGHUP)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 4)
        os.close(terminal)
        verdict = self.site.verb("status")["verdict"]
        self.assertEqual(
            verdict["sentence"], "Stopped by the user who submitted it (SIGHUP)"
        )


if __name__ == "__main__":
    integration_case.main()
