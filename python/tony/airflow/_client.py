"""A client of a step's job: tony-submit as a child process, its output line by line, and its summary.

Knows nothing of Airflow. See docs/workflows.md for the contract of a step.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from typing import Any, Callable, Mapping, Sequence

Summary = dict[str, Any]

STOP_SECONDS = 3.0  # Airflow 3 kills a task's process 5 s after its on_kill() was called
_TICK_SECONDS = 0.25
_LONGEST_LINE = 64 * 1024


def step_key(dag_id: str, task_id: str, run_id: str, map_index: int) -> str:
    """The name of a task's step, which is the same for all its attempts."""
    parts = ("airflow", dag_id, task_id, run_id, str(map_index))
    return "|".join(part.replace("%", "%25").replace("|", "%7C") for part in parts)


class StepClient:
    """One run of tony-submit in step mode.

    The child has a session of its own, so that whoever ends this process does not also end it half-way through telling
    the ApplicationMaster; and no standard input, because that is a connection to Airflow, which takes an open one for a
    living task. Not thread safe, but stop() and leave() may be called from a signal handler.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        on_line: Callable[[str], None],
        on_summary: Callable[[Summary], None],
    ) -> None:
        """``on_line`` gets each line of output, ``on_summary`` the summary whenever it has changed."""
        self._command = list(command)
        self._environment = dict(environment)
        self._on_line = on_line
        self._on_summary = on_summary
        self._process: subprocess.Popen[bytes] | None = None
        self._ended_at: float | None = None  # when stop() or leave() was called
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""
        # Without a name, so nothing of it stays when this process is killed.
        self._file = tempfile.TemporaryFile(prefix="tony-summary-")
        self.summary: Summary = {}

    def start(self) -> None:
        """Starts the child. OSError: it cannot be started."""
        file = self._file.fileno()
        self._process = subprocess.Popen(
            [*self._command, "--summary", f"/proc/self/fd/{file}"],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(file,),
        )

    @property
    def started(self) -> bool:
        """Whether there is a child, or was one."""
        return self._process is not None

    @property
    def application_id(self) -> str | None:
        """The job's id, as soon as it is known."""
        return self.summary.get("application_id")

    @property
    def was_ended(self) -> bool:
        """Whether stop() or leave() was called."""
        return self._ended_at is not None

    def follow(self, until: Callable[[], bool] = lambda: False) -> int | None:
        """Reads the child's output until it has ended; returns its exit code, negative for a signal.

        None: it has not ended, but ``until()`` is true, or STOP_SECONDS have passed since stop().
        """
        assert self._process is not None and self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            open_pipe = True
            while True:
                # A process of the job might hold the pipe open, so its end is not what is waited for.
                code = self._process.poll()
                ready = selector.select(0 if code is not None else _TICK_SECONDS) if open_pipe else []
                if ready:
                    open_pipe = self._read()
                    if not open_pipe:
                        selector.unregister(self._process.stdout)
                elif not open_pipe and code is None:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self._process.wait(_TICK_SECONDS)
                self._read_summary()
                if code is not None and not ready:
                    self._print_line(self._rest)
                    self._rest = ""
                    return code
                if until() or self._is_late():
                    return None

    def stop(self) -> None:
        """Tells the child to have the job stopped. follow() then returns soon."""
        self._end(signal.SIGTERM)

    def leave(self) -> None:
        """Ends the child and not the job, which then waits for another client for tony.client.lease."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """Lets go of the child, which may still be waiting for the job's end."""
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()
        self._file.close()

    def _end(self, number: int) -> None:
        self._ended_at = time.monotonic()
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    def _is_late(self) -> bool:
        return self._ended_at is not None and time.monotonic() > self._ended_at + STOP_SECONDS

    def _read(self) -> bool:
        """Passes on what the pipe holds. False: it is closed."""
        assert self._process is not None and self._process.stdout is not None
        data = os.read(self._process.stdout.fileno(), 65536)
        *lines, self._rest = (self._rest + self._decoder.decode(data, final=not data)).split("\n")
        for line in lines:
            self._print_line(line)
        if len(self._rest) > _LONGEST_LINE:
            self._print_line(self._rest)
            self._rest = ""
        return bool(data)

    def _print_line(self, line: str) -> None:
        if line := line.rstrip("\r"):
            self._on_line(line)

    def _read_summary(self) -> None:
        """Takes the summary as it is now. While the child writes it, it may be cut off; then the next look reads it."""
        data = os.pread(self._file.fileno(), os.fstat(self._file.fileno()).st_size, 0)
        with contextlib.suppress(ValueError):
            summary = json.loads(data)
            if isinstance(summary, dict) and summary != self.summary:
                self.summary = summary
                self._on_summary(summary)
