#!/usr/bin/env python3
"""What a user sees of a job in the terminal where it was submitted: its output, and the table."""

import contextlib
import os
import re
import signal
import subprocess

import integration_case
from integration_case import SMALL, JobTest

import machine
from terminal import Terminal


def resident_mib(pid):
    """The memory that a process has in use, in MiB."""
    return machine.memory_kb(pid) // 1024


class TerminalCase(JobTest):
    """Jobs in terminals."""

    def setUp(self):
        super().setUp()
        self.site.environment["TERM"] = "xterm-256color"

    def job(self, command, *arguments, workers=1):
        """The command line of tony-submit for workers that run `command`."""
        return self.site.command(
            "tony-submit", "--executes", command,
            *("--conf", f"tony.worker.instances={workers}", *SMALL, *arguments),
        )

    def open(self, command, **options):
        """Runs a command in a terminal."""
        return Terminal(
            self, command, cwd=self.site.folder, env=self.site.environment, **options
        )

    def run_to_end(self, command, code=0):
        """Runs a command with pipes; returns its result."""
        result = subprocess.run(
            command, cwd=self.site.folder, env=self.site.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60, check=False,
        )
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        return result


class LogsTest(TerminalCase):
    """tony-submit --logs."""

    def test_output_of_all_tasks_and_then_the_verdict(self):
        result = self.run_to_end(self.job("echo I am $TASK_INDEX", "--logs", workers=2))
        lines = result.stdout.splitlines()
        self.assertEqual(sorted(lines[:2]), ["worker:0 | I am 0", "worker:1 | I am 1"])
        self.assertEqual(
            lines[2:], ["SUCCEEDED (TASKS_SUCCEEDED): All 2 tracked tasks succeeded"]
        )
        self.assertEqual(result.stderr, "")
        self.assert_nothing_left(self.site.job_folder())

    def test_a_job_file_and_one_of_its_tasks(self):
        job = self.write_job(
            ("tony.worker.instances", 2), ("tony.worker.memory", "64m"),
            ("tony.worker.command", "echo out $TASK_INDEX; echo err >&2; exit $TASK_INDEX"),
        )
        command = self.site.command("tony-submit", job, "--logs=worker:1")
        lines = self.run_to_end(command, code=1).stdout.splitlines()
        self.assertEqual(sorted(lines[:2]), ["err", "out 1"])
        self.assertEqual(lines[2], "FAILED (TASK_FAILED): worker:1 exited with code 1")

    def test_a_task_that_there_is_not(self):
        command = self.job("true", "--logs=wroker", "--conf", "tony.application.name=digits")
        self.assertEqual(
            self.run_to_end(command, code=2).stderr,
            "tony-submit: --logs: no task 'wroker' in job digits; its tasks: worker:0, am\n",
        )

    def test_nothing_is_lost_at_the_end(self):
        result = self.run_to_end(self.job("seq 200000; printf end", "--logs"))
        lines = result.stdout.splitlines()
        self.assertEqual(lines[:-1], [f"worker:0 | {number}" for number in range(1, 200001)]
                         + ["worker:0 | end"])

    def test_a_terminal_that_takes_nothing_slows_nothing(self):
        line, end = self.pipe("line"), self.pipe("end")
        total = 400000
        terminal = self.open(self.job(
            f"echo begin; yes 0123456789012345678901234567890123456789012345678901234567890123 "
            f"| head -n {total}; echo done > {line.path}; read wait < {end.path}; exit 0", "--logs"))
        terminal.wait_for("worker:0 | begin")
        before = resident_mib(terminal.process.pid)
        # Nobody reads the terminal, which holds a few KiB; the program prints 26 MB and is done.
        self.assertEqual(line.read(), "done")
        self.assertLess(resident_mib(terminal.process.pid) - before, 32)
        end.write()
        self.assertEqual(terminal.wait(120), 0)
        text = terminal.screen.text()
        left_out = re.findall(
            r"worker:0 \| \[tony leaves out (\d+) lines \([\d.]+ MiB\) that came faster than "
            r"they can be shown; tony logs (?:local-\S+) worker:0 has them\]",
            re.sub(r"\n(?!worker:0 \|)", "", text),
        )
        self.assertTrue(left_out, text[:2000])
        shown = text.count("worker:0 | 0123456789")
        self.assertEqual(shown + sum(map(int, left_out)), total)
        self.assertTrue(
            text.endswith("SUCCEEDED (TASKS_SUCCEEDED): The tracked task succeeded\n"), text[-500:]
        )

    def test_a_reader_that_leaves_leaves_the_job(self):
        line = self.pipe("line")
        with subprocess.Popen(
            self.job(f"echo one; echo two; head -n 1 {line.path}; echo three", "--logs"),
            cwd=self.site.folder, env=self.site.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as submit:
            self.assertEqual(submit.stdout.readline(), "worker:0 | one\n")
            submit.stdout.close()  # as `head -n 1` does
            line.write()
            self.assertRegex(
                submit.stderr.read(),
                r"^tony: nobody reads the output any more; the job goes on, Ctrl-C stops it, and "
                r"tony logs -f local-\S+ shows it\n$",
            )
            self.assertEqual(submit.wait(60), 0)

    def test_control_c_stops_the_job_and_shows_its_last_words(self):
        terminal = self.open(self.job(
            "trap 'echo last words; exit 3' TERM; echo on; while :; do sleep 0.1; done", "--logs"))
        terminal.wait_for("worker:0 | on")
        terminal.type("\x03")
        self.assertEqual(terminal.wait(), 4)
        self.assertRegex(
            terminal.screen.text(),
            r"worker:0 \| last words\n(.*\n)*KILLED \(KILLED_BY_USER\): Stopped by the user who "
            r"submitted it \(Ctrl-C\)",
        )
        self.assert_nothing_left(self.site.job_folder())

    def test_progress_bars_and_commands_for_terminals(self):
        terminal = self.open(self.job(
            r"printf '10%%\r50%%\r100%%\n'; printf '\033]0;owned\007\033[31mred\033[0m\n'", "--logs"))
        self.assertEqual(terminal.wait(), 0)
        self.assertIn("worker:0 | 100%\r\nworker:0 | \x1b[31mred\x1b[0m\r\n", terminal.shown)
        self.assertNotIn("owned", terminal.shown)


class TableTest(TerminalCase):
    """The table of tony-submit and tony attach."""

    def run_talking(self, **size):
        """Starts a job of two tasks that have said a line; returns its terminal and their pipe."""
        line = self.pipe("line")
        terminal = self.open(self.job(
            r"printf 'begin\n\033[31mepoch %d loss 0.5\033[0m\n' $TASK_INDEX; "
            f"read wait < {line.path}; exit 0", workers=2), **size)
        return terminal, line

    def test_the_last_line_of_each_task(self):
        terminal, line = self.run_talking()
        terminal.wait_for("worker:1, ")
        text = terminal.wait_for("worker:0, ")
        self.assertRegex(
            text,
            r"worker:0, <?\d\.\ds ago: epoch 0 loss 0\.5\nworker:1, <?\d\.\ds ago: epoch 1 loss 0\.5\n",
        )
        status = self.site.run("tony", "status").stdout
        self.assertRegex(status, r"\nworker:0, <?\d\.\ds ago: epoch 0 loss 0\.5\n")
        line.write(2)
        self.assertEqual(terminal.wait(), 0)
        self.assertNotIn(" ago: ", terminal.screen.text())

    def test_no_colour_and_twenty_columns(self):
        self.site.environment["NO_COLOR"] = "1"
        terminal, line = self.run_talking(columns=20)
        text = terminal.wait_for("worker:1: epoch 1 l…\n")
        self.assertLessEqual(max(map(len, text.splitlines())), 20)
        self.assertNotRegex(terminal.shown, r"\x1b\[[\d;]*m")
        line.write(2)
        self.assertEqual(terminal.wait(), 0)

    def test_a_terminal_without_commands(self):
        self.site.environment["TERM"] = "dumb"
        terminal = self.open(self.job("echo hello"))
        self.assertEqual(terminal.wait(), 0)
        self.assertNotIn("\x1b", terminal.shown)
        self.assertIn("\r\nSUCCEEDED: worker [0]\r\n", terminal.shown)

    def test_many_tasks_that_are_alike(self):
        line = self.pipe("line")
        command = self.site.command(
            "tony-submit", "--executes", f"read wait < {line.path}; exit 0",
            *("--conf", "tony.worker.instances=24", "--conf", "tony.worker.memory=16m"),
        )
        terminal = self.open(command)
        terminal.wait_for(lambda text: re.search(r"worker:0…23 +RUNNING +24 ", text))
        self.assertNotIn("worker:7 ", terminal.screen.text())
        every = self.site.run("tony", "status", "--all").stdout
        self.assertEqual(len(re.findall(r"^worker:\d+ +RUNNING ", every, re.MULTILINE)), 24)
        self.assertRegex(self.site.run("tony", "status").stdout, r"worker:0…23 +RUNNING +24 ")
        line.write(24)
        self.assertEqual(terminal.wait(), 0)


class StopTest(TerminalCase):
    """Ctrl-C at the table."""

    STUBBORN = "trap '' TERM; echo on; while :; do sleep 0.1; done"

    def assert_whole(self, screen):
        """Each part of the table stands once on the screen, and nothing of an earlier table."""
        text = screen.text()
        self.assertEqual(len(re.findall(r"^named \(local-", text, re.MULTILINE)), 1, text)
        self.assertEqual(text.count("TASK "), 1, text)
        self.assertLessEqual(text.count("Logs: "), 1, text)

    def stubborn(self, grace, **size):
        """The terminal of a job whose program does not end by itself."""
        terminal = self.open(
            self.job(self.STUBBORN, "--conf", f"tony.task.kill-grace-ms={grace}",
                     "--conf", "tony.application.name=named"), **size)
        terminal.wait_for("ago: on")
        return terminal

    def test_the_table_stays_whole_and_says_who_is_waited_for(self):
        terminal = self.stubborn(2500)
        terminal.type("\x03")
        terminal.wait_for(
            "\nStopping (worker:0 has 2 s left); Ctrl-C again: leave the terminal, the job ends\n"
            "by itself\n"
        )
        self.assert_whole(terminal.screen)
        self.assertEqual(terminal.wait(), 4)
        self.assert_whole(terminal.screen)
        self.assertNotIn("Stopping (", terminal.screen.text())
        self.assertNotIn("^C", terminal.screen.text())
        self.assertRegex(terminal.screen.text(), r"\nKILLED \(KILLED_BY_USER\): Stopped by the user")

    def test_the_second_one_leaves(self):
        terminal = self.stubborn(60000)
        terminal.type("\x03")
        terminal.wait_for("Stopping (worker:0 has ")
        terminal.type("\x03")
        self.assertEqual(terminal.wait(), 4)
        self.assert_whole(terminal.screen)
        self.assertTrue(terminal.screen.text().endswith(
            "tony-submit: leaving; the job is being stopped without anybody watching\n"),
            terminal.screen.text())
        # The test waits for no grace of a minute.
        self.kill_what_is_left(self.site.job_folder().name)

    def kill_what_is_left(self, job_id):
        """Ends the job's processes."""
        processes = machine.Processes(self, machine.processes_with(job_id))
        for pid in machine.processes_with(job_id):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        processes.wait_until_gone(30)

    def test_a_window_that_changes_its_size(self):
        terminal = self.stubborn(0, columns=100, rows=30)
        for columns, rows in ((100, 12), (60, 24), (30, 8), (120, 30)):
            terminal.resize(columns, rows)
            before = len(terminal.shown)

            def fits(_, start=before, columns=columns, rows=rows):
                drawn = re.findall(r"\r\x1b\[J(.*?)\x1b\[\d+A", terminal.shown[start:], re.DOTALL)
                lines = re.sub(r"\x1b\[[?\d]*[A-Za-z]", "", drawn[-1]).splitlines() if drawn else []
                return 0 < len(lines) < rows and max(map(len, lines)) <= columns

            terminal.wait_for(fits)
        terminal.type("\x03")
        self.assertEqual(terminal.wait(), 4)

    def test_a_table_at_the_end_of_a_full_screen(self):
        # What was there before has scrolled; it stays as it is.
        command = ["sh", "-c", 'seq 50; exec "$@"', "sh", *self.job(
            self.STUBBORN, "--conf", "tony.task.kill-grace-ms=300",
            "--conf", "tony.application.name=named")]
        terminal = self.open(command)
        terminal.wait_for("ago: on")
        terminal.type("\x03")
        self.assertEqual(terminal.wait(), 4)
        self.assert_whole(terminal.screen)
        self.assertTrue(terminal.screen.text().startswith(
            "".join(f"{number}\n" for number in range(1, 51)) + "named (local-"
        ), terminal.screen.text())

    def test_control_z_leaves_the_table_and_goes_on_below_it(self):
        terminal = self.stubborn(300)
        # A shell that controls jobs would stop and continue it; there is none here.
        terminal.process.send_signal(signal.SIGTSTP)
        terminal.wait_for(lambda text: text.count("named (local-") == 2)
        terminal.type("\x03")
        self.assertEqual(terminal.wait(), 4)

    def test_a_master_that_is_lost_is_told_above_the_table(self):
        terminal = self.stubborn(300)
        (master,) = [
            pid for pid in machine.processes_with(self.site.job_folder().name)
            if machine.name_of(pid) == "tony-am"
        ]
        os.kill(master, signal.SIGKILL)
        terminal.wait_for(
            lambda text: re.search(r"was killed by signal 9.*; starting another.*\nnamed ", text,
                                   re.DOTALL)
        )
        terminal.type("\x03")
        self.assertEqual(terminal.wait(), 4)
        self.assert_whole(terminal.screen)


class NameTest(TerminalCase):
    """The names of jobs that are given none."""

    def test_the_script_and_the_folder(self):
        self.run_to_end(self.job("true # train.py"))
        self.run_to_end(self.job("sleep 0"))
        folder = self.site.folder / "digits"
        folder.mkdir()
        for name in ("job.xml", "resnet.xml"):
            self.write_job(
                ("tony.worker.instances", 1), ("tony.worker.memory", "64m"),
                ("tony.worker.command", "true"), name=f"digits/{name}",
            )
            self.run_to_end(self.site.command("tony-submit", folder / name))
        self.assertEqual(
            [job["name"] for job in self.site.verb("list")],
            ["resnet", "digits", "sleep", "train.py"],
        )
        self.assertIn("resnet (local-", self.site.run("tony", "status").stdout)
        # A rerun reads the configuration from the past job's folder.
        self.assertEqual(self.site.run("tony", "rerun", "--quiet").returncode, 0)
        self.assertEqual(self.site.verb("list")[0]["name"], "resnet")

    def test_the_dry_run_says_where_the_name_comes_from(self):
        shown = self.site.run("tony-submit", "--dry-run", "--executes", "python3 train.py",
                              "--conf", "tony.worker.instances=1").stdout
        self.assertTrue(shown.startswith("Job train.py (tensorflow), not started: dry run\n"), shown)
        self.assertIn("  tony.application.name = train.py  (the command)\n", shown)


if __name__ == "__main__":
    integration_case.main()
