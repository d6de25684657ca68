"""Runs a job through the real programs, in folders of its own, for the end-to-end tests."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
POLL_SECONDS = 0.02


def wait_for(condition, what, deadline_seconds, is_over=lambda: False):
    """Returns the first true value of `condition()`.

    Fails with an AssertionError after the deadline, or when `is_over()` says that it can never come.
    """
    end = time.monotonic() + deadline_seconds
    while True:
        over = is_over()
        value = condition()
        if value:
            return value
        if over or time.monotonic() > end:
            why = "it is too late for it" if over else f"not within {deadline_seconds} s"
            raise AssertionError(f"{what}: {why}")
        time.sleep(POLL_SECONDS)


def json_lines(path):
    """Returns the whole lines of the file `path` as JSON values; none when there is no file."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


class Job:
    """One job started by tony-submit. Not thread safe."""

    def __init__(self, test, programs, arguments):
        """Starts `programs`/tony-submit with `arguments`; the end of `test` cleans up."""
        scratch = tempfile.TemporaryDirectory(prefix="tony-e2e-")
        test.addCleanup(scratch.cleanup)
        self._programs = programs
        self._local_dir = pathlib.Path(scratch.name, "local")
        self._output_path = pathlib.Path(scratch.name, "output")
        self.checkpoints = pathlib.Path(scratch.name, "checkpoints")
        self.checkpoints.mkdir()
        command = [
            programs / "tony-submit",
            *("--conf", f"tony.local.dir={self._local_dir}"),
            *("--conf", f"tony.application.checkpoint-dir={self.checkpoints}"),
            *arguments,
        ]
        with self._output_path.open("wb") as output:
            self._submit = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        test.addCleanup(self._stop)

    def _stop(self):
        """Ends the job as Ctrl-C does, when the test gave up on it."""
        if self._submit.poll() is None:
            self._submit.send_signal(signal.SIGINT)
            try:
                self._submit.wait(30)
            finally:
                self._submit.kill()

    def has_ended(self):
        return self._submit.poll() is not None

    def wait(self, deadline_seconds=120):
        """Returns the exit code of tony-submit."""
        return self._submit.wait(deadline_seconds)

    @property
    def folder(self):
        """The job's folder. The job must have been staged."""
        (folder,) = (self._local_dir / "jobs").iterdir()
        return folder

    def output(self):
        """What tony-submit printed so far, and the programs' last words: for messages of tests."""
        parts = [self._output_path.read_text(errors="replace")]
        for log in sorted(self._local_dir.glob("jobs/*/logs/*/attempt-*/*.log")):
            text = log.read_text(errors="replace")
            parts.append(f"--- {'/'.join(log.parts[-3:])}\n{text[-2000:]}")
        return "\n".join(parts)

    def events(self):
        """The job's events, as they stand in its history."""
        return json_lines(self.folder / "events.jsonl")

    def status(self):
        """What `tony status --json` says."""
        result = subprocess.run(
            [self._programs / "tony", "status", "--json"]
            + ["--conf", f"tony.local.dir={self._local_dir}", self.folder.name],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        return json.loads(result.stdout)

    def pid(self, task):
        """The process id of the program of `task`, e.g. "worker:1"; None when it does not run."""
        (pid,) = (entry["pid"] for entry in self.status()["tasks"] if entry["task"] == task)
        return pid

    def wait_for_steps(self, task, steps, deadline_seconds=90):
        """Waits until the program of `task`, e.g. "worker-1", has logged at least `steps` steps."""
        path = self.checkpoints / f"steps-{task}.jsonl"
        wait_for(
            lambda: len(json_lines(path)) >= steps,
            f"{steps} steps of {task}\n{self.output()}",
            deadline_seconds,
            self.has_ended,
        )

    def processes(self):
        """The ids of all living processes of the job's containers, by their environment."""
        mark = f"TONY_CONTAINER_ID={self.folder.name}-".encode()
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass  # it has just ended, or is not ours
        return found


def kill(pid):
    """Ends a process as the kernel does when memory runs out."""
    os.kill(pid, signal.SIGKILL)
