#!/usr/bin/env python3
"""Completion as somebody at a keyboard has it: keys are sent to a real shell in a terminal."""

import os
import pty
import select
import shutil
import subprocess
import threading
import time
import unittest

import integration_case
import tony_cli
from integration_case import JobTest


class Bash:
    """An interactive bash that completes tony's command lines. Not thread safe."""

    def __init__(self, test, folder, environment):
        self._test = test
        lines = folder / "lines"
        os.mkfifo(lines)
        self._lines = os.open(lines, os.O_RDWR | os.O_NONBLOCK)
        test.addCleanup(os.close, self._lines)
        setup = folder / "setup.sh"
        # Ctrl-G writes the line as it is, so that no test has to read a screen.
        setup.write_text(
            f'eval "$(tony completion bash)"\nexec 9>{lines}\n'
            "bind 'set bell-style none'\nbind 'set completion-query-items 0'\n"
            "bind -x '\"\\C-g\": printf \"%s\\n\" \"$READLINE_LINE|\" >&9'\n", encoding="utf-8")
        leader, follower = pty.openpty()
        self._terminal = leader
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--rcfile", setup, "-i"], cwd=folder, env=environment,
            stdin=follower, stdout=follower, stderr=follower, start_new_session=True)
        os.close(follower)
        self.screen = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        test.addCleanup(self._end)

    def _read(self):
        """Keeps what the terminal shows, so that the shell never waits for a reader."""
        while True:
            try:
                data = os.read(self._terminal, 4096)
            except OSError:
                return
            if not data:
                return
            self.screen += data

    def _end(self):
        self._process.kill()
        self._process.wait()
        self._reader.join(tony_cli.DEADLINE_SECONDS)
        os.close(self._terminal)

    def line_after(self, keys):
        """Types `keys` into an empty line; returns the line, up to its end with its blanks."""
        os.write(self._terminal, b"\x05\x15" + keys.encode() + b"\x07")
        text = b""
        deadline = time.monotonic() + tony_cli.DEADLINE_SECONDS
        while not text.endswith(b"|\n"):
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._lines], [], [], max(left, 0))
            self._test.assertTrue(ready, f"no line after {keys!r}; the screen: {self.screen!r}")
            text += os.read(self._lines, 4096)
        return text.decode().removesuffix("|\n")

    def all_after(self, keys):
        """Lets bash insert every completion of the last word of `keys`; returns them."""
        words = self.line_after(keys + "\x1b*").split()
        return words[len(keys.split()) - (0 if keys.endswith(" ") else 1):]


class CompletionTest(JobTest):
    """bash, with a job of two workers that is over, and files."""

    def setUp(self):
        super().setUp()
        home = self.site.folder / "home"
        home.mkdir()
        (self.site.folder / "site/tony-site.xml").write_text(
            "<configuration>"
            "<property><name>tony.local.ledger</name><value>private</value></property>"
            f"<property><name>tony.local.dir</name><value>{self.site.local_dir}</value></property>"
            "</configuration>\n", encoding="utf-8")
        self.environment = {
            **self.site.environment, "HOME": str(home), "TERM": "dumb", "INPUTRC": "/dev/null",
            "PATH": f"{self.site.programs}:{os.environ['PATH']}", "HISTFILE": "/dev/null"}

    def bash(self):
        """A shell in the site's folder."""
        return Bash(self, self.site.folder, self.environment)

    def test_verbs_options_and_values(self):
        bash = self.bash()
        self.assertEqual(bash.line_after("tony stat\t"), "tony status ")
        self.assertEqual(bash.line_after("tony val\t"), "tony validate ")
        self.assertEqual(bash.all_after("tony l"), ["list", "ls", "logs"])
        self.assertEqual(bash.line_after("tony logs --first\t"), "tony logs --first-error ")
        self.assertEqual(bash.line_after("tony logs -first_\t"), "tony logs -first_error ")
        self.assertEqual(bash.line_after("tony logs --level w\t"), "tony logs --level warning ")
        self.assertEqual(bash.line_after("tony logs --level=w\t"), "tony logs --level=warning ")
        self.assertEqual(bash.all_after("tony status --backend "), ["local", "yarn", "launcher"])
        self.assertEqual(bash.line_after("tony run --framework hor\t"),
                         "tony run --framework horovod ")
        self.assertEqual(bash.line_after("tony nonsense x\t"), "tony nonsense x")
        self.assertEqual(bash.line_after("tony list x\t"), "tony list x")

    def test_keys(self):
        bash = self.bash()
        self.assertEqual(bash.line_after("tony-submit --conf tony.work\t"),
                         "tony-submit --conf tony.worker.")
        self.assertEqual(bash.line_after("tony-submit --conf tony.worker.inst\t"),
                         "tony-submit --conf tony.worker.instances=")
        self.assertEqual(bash.line_after("tony-submit --conf=tony.worker.inst\t"),
                         "tony-submit --conf=tony.worker.instances=")
        self.assertEqual(bash.line_after("tony-submit -conf tony.backend=y\t"),
                         "tony-submit -conf tony.backend=yarn ")
        self.assertEqual(bash.line_after("tony-submit --conf tony.mytype.mem\t"),
                         "tony-submit --conf tony.mytype.memory=")

    def test_files(self):
        (self.site.folder / "my job.xml").write_text("<configuration/>\n")
        (self.site.folder / "train.py").write_text("\n")
        (self.site.folder / "sources").mkdir()
        (self.site.folder / "sources/inner.xml").write_text("\n")
        bash = self.bash()
        self.assertEqual(bash.line_after("tony-submit my\t"), "tony-submit my\\ job.xml ")
        self.assertEqual(bash.line_after("tony-submit sources/\t"),
                         "tony-submit sources/inner.xml ")
        self.assertEqual(bash.line_after("tony-submit tra\t"), "tony-submit tra")
        self.assertEqual(bash.line_after("tony validate a.xml sources/in\t"),
                         "tony validate a.xml sources/inner.xml ")
        self.assertEqual(bash.line_after("tony-submit --src_dir sou\t"),
                         "tony-submit --src_dir sources/")
        self.assertEqual(bash.line_after("tony-submit --src_dir=sou\t"),
                         "tony-submit --src_dir=sources/")
        self.assertEqual(bash.line_after("tony-submit --conf tony.application.src-dir=sou\t"),
                         "tony-submit --conf tony.application.src-dir=sources/")
        self.assertEqual(bash.line_after("tony-submit --hdfs_classpath train.py,sou\t"),
                         "tony-submit --hdfs_classpath train.py,sources/")
        self.assertEqual(bash.line_after("tony run -np 2 python3 tr\t"),
                         "tony run -np 2 python3 train.py ")

    def test_jobs_and_tasks(self):
        job = self.submit("exit 3", workers=2)
        self.assert_ends(job, 1)
        bash = self.bash()
        self.assertEqual(bash.line_after("tony status lo\t"), f"tony status {job.id} ")
        self.assertEqual(bash.line_after(f"tony status {job.id[-4:]}\t"), f"tony status {job.id} ")
        self.assertEqual(bash.line_after("tony rm la\t"), "tony rm latest ")
        self.assertEqual(bash.line_after("tony kill lo\t"), "tony kill lo")
        self.assertEqual(bash.all_after("tony logs latest "),
                         ["am", "worker", "worker:0", "worker:1"])
        self.assertEqual(bash.line_after("tony logs latest worker:\t1\t"),
                         "tony logs latest worker:1 ")
        # bash takes the colon for the end of a word.
        self.assertEqual(bash.all_after("tony logs latest worker:"), ["worker:0", "1"])
        self.assertEqual(bash.line_after("tony open --task=worker:0\t"),
                         "tony open --task=worker:0 ")
        self.assertEqual(bash.line_after("tony status --backend yarn lo\t"),
                         "tony status --backend yarn lo")

    def test_the_cursor_may_be_within_the_line(self):
        bash = self.bash()
        # Ctrl-A, four characters on: behind "tony", a blank and "stat".
        self.assertEqual(bash.line_after("tony stat --json\x01" + "\x06" * 9 + "\t"),
                         "tony status --json")
        self.assertEqual(bash.line_after("FOO=1 tony stat\t"), "FOO=1 tony status ")
        self.assertEqual(bash.line_after("true; tony stat\t"), "true; tony status ")
        self.assertEqual(bash.line_after("tony logs \"--lev\t"), "tony logs \"--level\" ")

    def test_a_program_by_its_path(self):
        (self.site.folder / "home/bin").symlink_to(self.site.programs)
        bash = self.bash()
        self.assertEqual(bash.line_after(f"{self.site.programs}/tony stat\t"),
                         f"{self.site.programs}/tony status ")
        self.assertEqual(bash.line_after("~/bin/tony stat\t"), "~/bin/tony status ")

    def test_bad_state_completes_nothing_and_prints_nothing(self):
        missing = self.complete("status", "")
        self.assertEqual(missing, "none\tclosed\t\n")
        jobs = self.site.local_dir / "jobs"
        jobs.mkdir(parents=True)
        self.assertEqual(self.complete("status", ""), "none\tclosed\t\n")
        jobs.rmdir()
        jobs.write_text("no folder")
        self.assertEqual(self.complete("logs", "latest", ""), "none\tclosed\t\n")
        (self.site.folder / "site/tony-site.xml").write_text("<configuration>")
        self.assertEqual(self.complete("status", ""), "none\tclosed\t\n")
        bash = self.bash()
        self.assertEqual(bash.line_after("tony status x\t"), "tony status x")
        self.assertNotIn(b"tony:", bash.screen)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_a_folder_of_somebody_else_completes_nothing(self):
        jobs = self.site.local_dir / "jobs/local-20261127-090000-aaaa"
        jobs.mkdir(parents=True)
        self.site.local_dir.chmod(0o700)
        self.site.folder.chmod(0o755)
        self.assertIn("local-20261127", self.complete("status", ""))
        self.assertEqual(self.complete("status", "", user="nobody"), "none\tclosed\t\n")

    def complete(self, *words, user=None):
        """What `tony __complete` answers; it never fails and never complains."""
        result = subprocess.run(
            ["tony", "__complete", *words], cwd="/", env=self.environment, user=user,
            capture_output=True, text=True, timeout=tony_cli.DEADLINE_SECONDS, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def check_syntax(self, shell):
        """The shell itself finds no mistake in its script."""
        if not shutil.which(shell):
            self.skipTest(f"{shell} is not installed")
        script = self.site.folder / f"script.{shell}"
        script.write_text(self.site.run_bare("tony", "completion", shell).stdout)
        result = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_syntax_of_bash(self):
        self.check_syntax("bash")

    def test_syntax_of_zsh(self):
        self.check_syntax("zsh")

    def test_syntax_of_fish(self):
        self.check_syntax("fish")

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        script = "tony completion fish | source; for line in $argv; complete -C $line; end"
        result = subprocess.run(
            ["fish", "--no-config", "-c", script, "tony logs --level=w", "tony-submit --exec",
             "tony status --conf tony.backend=y"],
            cwd=self.site.folder, env=self.environment, capture_output=True, text=True,
            timeout=tony_cli.DEADLINE_SECONDS, check=True)
        self.assertEqual([line.split("\t")[0] for line in result.stdout.splitlines()],
                         ["--level=warning", "--executes", "tony.backend=yarn"])


if __name__ == "__main__":
    integration_case.main()
