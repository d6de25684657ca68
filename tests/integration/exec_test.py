"""`tony exec`: commands and shells in a running task's container, with pipes and with a terminal."""

import fcntl
import hashlib
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import tty

import integration_case
import machine
import tony_cli

# Waits for a line, so that the test says when the task ends.
WAIT = "echo begun; read word < {line}"


class Terminal:
    """A program on a pseudo terminal, driven by what it prints."""

    def __init__(self, test, command, site, rows=24, columns=80):
        self.seen = ""
        self.user, program = pty.openpty()
        fcntl.ioctl(self.user, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(program)
        self.program = program
        self.process = subprocess.Popen(
            command, env={**site.environment, "TERM": "xterm", "PS1": "$ "}, cwd=site.folder,
            stdin=program, stdout=program, stderr=program,
            preexec_fn=self._take_terminal, start_new_session=True)  # pylint: disable=subprocess-popen-preexec-fn
        test.addCleanup(self._end)

    @staticmethod
    def _take_terminal():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def _end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.user)
        os.close(self.program)

    def type(self, keys):
        """Types keys."""
        os.write(self.user, keys.encode())

    def resize(self, rows, columns):
        """Changes the window, whose program gets SIGWINCH."""
        fcntl.ioctl(self.user, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait_for(self, pattern):
        """Waits until what was printed since the last call has `pattern`; returns the match."""
        end = time.monotonic() + tony_cli.DEADLINE_SECONDS
        while not (found := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.user], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"no {pattern!r} in {self.seen!r}")
            try:
                self.seen += os.read(self.user, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"the end before {pattern!r}: {self.seen!r}") from None
        self.seen = self.seen[found.end():]
        return found

    def settings(self):
        """The settings of the terminal now."""
        return termios.tcgetattr(self.program)

    def wait(self):
        """Waits for the program's end; returns its exit code."""
        end = time.monotonic() + tony_cli.DEADLINE_SECONDS
        while self.process.poll() is None:
            ready, _, _ = select.select([self.user], [], [], 0.05)
            if ready:  # a full terminal would keep the program from ending
                self.seen += os.read(self.user, 65536).decode(errors="replace")
            if time.monotonic() > end:
                raise AssertionError(f"no end; {self.seen!r}")
        while select.select([self.user], [], [], 0)[0]:
            self.seen += os.read(self.user, 65536).decode(errors="replace")
        return self.process.returncode


class ExecTest(integration_case.JobTest):
    """Against one real job each."""

    def start(self, *arguments, command=WAIT):
        """A job whose worker waits for a line; returns the job and the line."""
        line = self.pipe("line")
        job = self.submit(command.format(line=line.path), *arguments)
        job.wait_until_running("worker:0")
        return job, line

    def end(self, job, line):
        """Lets the job succeed."""
        line.write()
        self.assert_succeeds(job)

    def command(self, job, *words, task="worker:0"):
        """The command line of `tony exec`."""
        return [self.site.programs / "tony", "exec",
                "--conf", f"tony.local.dir={self.site.local_dir}", job.id, task, *words]

    def exec(self, job, *words, data=b"", held=False):
        """Runs a command to its end; returns what subprocess.run() returns. `held`: its standard
        input does not end."""
        streams = {"input": data}
        if held:
            source, sink = os.pipe()
            self.addCleanup(os.close, sink)
            self.addCleanup(os.close, source)
            streams = {"stdin": source}
        return subprocess.run(
            self.command(job, *words), capture_output=True, **streams,
            env=self.site.environment, timeout=tony_cli.DEADLINE_SECONDS, check=False)

    def popen(self, job, *words):
        """Starts a command with pipes."""
        process = subprocess.Popen(
            self.command(job, *words), env=self.site.environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def assert_gone(self, pid):
        """The process ends within the deadline."""
        self.assertTrue(
            machine.wait_until(lambda: not os.path.exists(f"/proc/{pid}"),
                               tony_cli.DEADLINE_SECONDS), f"{pid} lives")

    def test_a_command_has_the_tasks_environment_folder_and_container(self):
        job, line = self.start("--shell_env", "COLOUR=red")
        result = self.exec(job, "--", "sh", "-c", 'echo "$COLOUR $JOB_NAME $TASK_INDEX"; pwd; '
                           'cat /proc/self/cgroup; echo error >&2; exit 7')
        self.assertEqual(result.returncode, 7, result.stderr)
        said = result.stdout.decode().splitlines()
        self.assertEqual(said[0], "red worker 0")
        (program,) = job.wait_until_running("worker:0")
        self.assertEqual(said[1], os.readlink(f"/proc/{program}/cwd"))
        with open(f"/proc/{program}/cgroup", encoding="ascii") as groups:
            self.assertEqual(said[2:], groups.read().splitlines())
        self.assertEqual(result.stderr, b"error\n")
        notes = [note["sentence"] for note in job.events("note")]
        self.assertTrue(any(re.search(r"@\S+ runs a command in worker:0 \(tony exec\)", note)
                            for note in notes), notes)
        self.end(job, line)

    def test_exit_codes_and_signals(self):
        job, line = self.start()
        self.assertEqual(self.exec(job, "true").returncode, 0)
        self.assertEqual(self.exec(job, "sh", "-c", "kill -9 $$").returncode, 128 + 9)
        result = self.exec(job, "no-such-program")
        self.assertEqual(result.returncode, 127)
        self.assertIn(b"'no-such-program' is not found in any folder of PATH", result.stderr)
        result = self.exec(job, "/etc/passwd")
        self.assertEqual(result.returncode, 126)
        self.assertIn(b"Permission denied", result.stderr)
        self.end(job, line)

    def test_standard_input_and_output_pass_as_they_are(self):
        job, line = self.start("--conf", "tony.worker.memory=512m")
        data = os.urandom(10 << 20)
        result = self.exec(job, "cat", data=data)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertTrue(result.stdout == data)
        # The end of the input is heard, a shell reads its commands there, and files serve as well.
        self.assertEqual(self.exec(job, "wc", "-c", data=b"12345").stdout, b"5\n")
        self.assertEqual(self.exec(job, data=b"echo $((6 * 7))\n").stdout, b"42\n")
        path = self.site.folder / "input"
        path.write_bytes(data)
        with open(path, "rb") as source, open(self.site.folder / "output", "wb") as target:
            subprocess.run(self.command(job, "sha256sum"), stdin=source, stdout=target,
                           env=self.site.environment, timeout=60, check=True)
        self.assertIn(hashlib.sha256(data).hexdigest(),
                      (self.site.folder / "output").read_text(encoding="ascii"))
        self.end(job, line)

    def test_a_program_that_reads_nothing_and_a_reader_that_leaves(self):
        job, line = self.start()
        self.assertEqual(self.exec(job, "true", data=bytes(10 << 20)).returncode, 0)
        process = self.popen(job, "yes")
        self.assertEqual(process.stdout.read(2), b"y\n")
        process.stdout.close()
        self.assertEqual(process.wait(tony_cli.DEADLINE_SECONDS), 128 + 13)
        self.end(job, line)

    def test_ctrl_c_goes_to_the_command_and_a_second_one_leaves(self):
        job, line = self.start()
        process = self.popen(job, "sh", "-c", "trap 'echo caught; exit 3' INT; echo $$; "
                             "while :; do sleep 0.1; done")
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), b"caught\n")
        self.assertEqual(process.wait(tony_cli.DEADLINE_SECONDS), 3)

        process = self.popen(job, "bash", "-c", "trap 'echo deaf' INT; echo $$; "
                             "while :; do sleep 0.1; done")
        pid = int(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), b"deaf\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(tony_cli.DEADLINE_SECONDS), 128 + 2)
        if machine_shows(pid):
            self.assert_gone(pid)
        self.end(job, line)

    def test_a_killed_client_takes_its_command_along(self):
        job, line = self.start("--conf", "tony.task.containment=process-tree")
        process = self.popen(job, "bash", "-c", "echo $$; trap '' HUP TERM; sleep 600 & echo $!; wait")
        leader, child = (int(process.stdout.readline()) for _ in range(2))
        process.kill()
        self.assert_gone(leader)
        self.assert_gone(child)
        self.end(job, line)

    def test_a_task_that_ends_ends_its_commands(self):
        job, line = self.start()
        process = self.popen(job, "sleep", "600")
        shell = Terminal(self, self.command(job), self.site)
        shell.type("echo rea''dy\r")
        shell.wait_for("ready")
        self.end(job, line)
        _, error = process.communicate(timeout=tony_cli.DEADLINE_SECONDS)
        self.assertEqual(process.returncode, 128 + signal.SIGHUP, error)
        self.assertIn(b"worker:0 has ended, and the command with it", error)
        self.assertEqual(shell.wait(), 128 + signal.SIGHUP)
        self.assertIn("worker:0 has ended, and the command with it", shell.seen)
        self.assertEqual(shell.settings(), shell.before)

    def test_a_terminal(self):
        job, line = self.start()
        shell = Terminal(self, self.command(job, "bash", "--norc"), self.site, 30, 100)
        shell.type("tty; stty size; echo $TERM\r")
        shell.wait_for(r"/dev/pts/\d+\r\n30 100\r\nxterm\r\n")
        self.assertNotEqual(shell.settings()[tty.LFLAG], shell.before[tty.LFLAG])
        shell.resize(50, 132)
        shell.type("stty size\r")
        shell.wait_for("50 132")
        # Ctrl-C ends the sleep and not the shell, let alone this client.
        shell.type("sh -c 'echo up; exec sleep 600'\r")
        shell.wait_for(r"[\r\n]up\r\n")
        shell.type("\x03")
        shell.type("echo st''ill\r")
        shell.wait_for("still")
        # Jobs of the shell: Ctrl-Z stops, fg goes on.
        shell.type("""sh -c 'trap "echo con$((1))" CONT; echo up; until read w; do :; done; """
                   """echo got $w'\r""")
        shell.wait_for(r"[\r\n]up\r\n")
        shell.type("\x1a")
        shell.wait_for("Stopped")
        shell.type("fg; echo ba''ck\r")
        shell.wait_for("con1")
        shell.type("words\r")
        shell.wait_for("got words")
        shell.wait_for("back")
        shell.type("exit 5\r")
        self.assertEqual(shell.wait(), 5)
        self.assertEqual(shell.settings(), shell.before)
        self.end(job, line)

    def test_ctrl_d_ends_the_shell_with_the_code_of_its_last_command(self):
        job, line = self.start()
        for code in (0, 3):
            shell = Terminal(self, self.command(job, "bash", "--norc"), self.site)
            shell.type(f"(echo en''ded; exit {code})\r")
            shell.wait_for(r"ended[^#$]*[#$] ")  # before its next prompt, a shell does not read keys as keys
            shell.type("\x04")
            self.assertEqual(shell.wait(), code)
            self.assertEqual(shell.settings(), shell.before)
        self.end(job, line)

    def test_the_terminal_is_restored_whatever_happens(self):
        job, line = self.start()
        for ending in (signal.SIGTERM, signal.SIGHUP, "~."):
            shell = Terminal(self, self.command(job), self.site)
            shell.type("echo rea''dy\r")
            shell.wait_for("ready")
            if ending == "~.":
                shell.type("\r~.")
                self.assertEqual(shell.wait(), 128 + signal.SIGHUP)
            else:
                shell.process.send_signal(ending)
                self.assertEqual(shell.wait(), 128 + ending)
            self.assertEqual(shell.settings(), shell.before)
        refused = Terminal(self, self.command(job, "no-such-program"), self.site)
        self.assertEqual(refused.wait(), 127)
        self.assertEqual(refused.settings(), refused.before)
        self.end(job, line)

    def test_no_more_than_eight_at_once(self):
        job, line = self.start()
        others = [self.popen(job, "sh", "-c", "echo on; read word") for _ in range(8)]
        for other in others:
            self.assertEqual(other.stdout.readline(), b"on\n")
        result = self.exec(job, "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"8 commands of tony exec run in worker:0", result.stderr)
        others[0].stdin.write(b"go\n")
        others[0].stdin.flush()
        others[0].wait(tony_cli.DEADLINE_SECONDS)
        self.assertTrue(machine.wait_until(lambda: self.exec(job, "true").returncode == 0,
                                           tony_cli.DEADLINE_SECONDS))
        self.end(job, line)

    def test_the_key_turns_it_off(self):
        job, line = self.start("--conf", "tony.task.exec.enabled=false")
        result = self.exec(job, "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"tony.task.exec.enabled is false", result.stderr)
        self.end(job, line)

    def test_memory_counts_with_the_tasks(self):
        # Where the kernel does not count, the executor does, and ends the task.
        job, _ = self.start("--conf", "tony.worker.memory=64m",
                            "--conf", "tony.task.containment=process-tree")
        result = self.exec(job, "python3", "-c", "a = b'x' * (200 << 20); input()", held=True)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("limit 64 MiB (tony.worker.memory)", self.assert_ends(job, 1))

    def test_bad_usage(self):
        job, line = self.start()
        for words, code, says in (
            ([], 125, "name the job and the task"),
            ([job.id], 125, "name the job and the task"),
            (["no-such-job", "worker:0"], 125, "no-such-job"),
            ([job.id, "worker:7"], 125, "no task 'worker:7'"),
            ([job.id, "am"], 125, "is not one task"),
            ([job.id, "worker:0", "x" * 70000], 125, "65536 are possible"),
            (["--no-such", job.id, "worker:0"], 2, "--no-such"),
        ):
            result = self.site.run_bare(
                "tony", "exec", "--conf", f"tony.local.dir={self.site.local_dir}", *words)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(says, result.stderr)
        self.end(job, line)
        result = self.exec(job, "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"does not run any more (SUCCEEDED)", result.stderr)

    def test_a_task_that_has_ended_or_not_begun(self):
        line = self.pipe("line")
        job = self.site.submit(
            "--executes", f'[ "$JOB_NAME" = worker ] && exit 0; read word < {line.path}',
            *self.types(worker=1, evaluator=1))
        job.wait_for_task("worker:0", "SUCCEEDED")
        result = self.exec(job, "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"worker:0 is SUCCEEDED, so nothing runs there", result.stderr)
        line.write()
        self.assert_ends(job, 0)


def machine_shows(pid):
    """Whether a number that a task's process has printed means the same here."""
    return os.path.exists(f"/proc/{pid}")


if __name__ == "__main__":
    integration_case.main()
