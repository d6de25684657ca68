"""Jobs: submitting, following, finding them again.

A job that submit() returns belongs to this process: it is stopped when the process ends, in whatever way, as a job of
tony-submit is when its terminal's user stops it. Jobs of `detach=True` and of attach() belong to nobody here.
"""

import os
import select
import signal
import subprocess
import time
from types import TracebackType
from typing import Any, Dict, Generator, Generic, List, Mapping, NamedTuple, Optional, Set, Type, TypeVar

from . import _wire
from .errors import TonyError
from .records import Event, JobStatus, LogLine, TaskStatus, Verdict, event_from, log_line_from, status_from
from .spec import AnyJob, Path, Value

_CHUNK = 1 << 16
# For a program that was asked to end. A follower of logs removes its copies first.
_END_SECONDS = 10.0


def memory_file(name: str, content: bytes = b"") -> int:
    """A descriptor of a file without a name. A program's input and messages lie there, and so no pipe can fill up."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view):]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def text_of(descriptor: int) -> str:
    """What a program has written there."""
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0).decode(errors="replace")


class _Answer(NamedTuple):
    """What a verb has said."""

    exit_code: int
    output: bytes
    errors: str


def _run(command: List[str]) -> _Answer:
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            check=False)
    return _Answer(result.returncode, result.stdout, result.stderr.decode(errors="replace"))


def _ask(command: List[str]) -> bytes:
    """Runs a verb that must succeed; returns its standard output."""
    answer = _run(command)
    if answer.exit_code != 0:
        _wire.raise_failed(command, answer.exit_code, answer.errors)
    return answer.output


def _lines(command: List[str]) -> Generator[Dict[str, Any], None, None]:
    """The JSON lines of a program as it prints them. Closing the generator ends the program."""
    errors = memory_file("tony-errors")
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
    assert process.stdout is not None
    try:
        with process.stdout as lines:
            for line in lines:
                yield _wire.object_from(line, os.path.basename(command[0]))
        code = process.wait()
        if code != 0:
            _wire.raise_failed(command, code, text_of(errors))
    finally:
        _end(process)
        os.close(errors)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends a program that only reads."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


AnyClient = TypeVar("AnyClient")


class _Client:
    """The tony-submit of a job. It prints two JSON lines: the job's id, and its end. Not thread safe."""

    # Those whose job goes on: a client stays until its job's end, also when nobody has the Job any more.
    running: Set["_Client"] = set()

    def __init__(self, request: _wire.Submission, launcher_fd: Optional[int] = None) -> None:
        keys = memory_file("tony-keys", request.keys)
        self._errors = memory_file("tony-errors")
        try:
            # A session of its own: Ctrl-C is for this process, which decides about its jobs.
            self._process = subprocess.Popen(request.command, stdin=keys, stdout=subprocess.PIPE, stderr=self._errors,
                                             bufsize=0, start_new_session=True,
                                             pass_fds=[] if launcher_fd is None else [launcher_fd])
        finally:
            os.close(keys)
        assert self._process.stdout is not None
        self._output = self._process.stdout
        self._buffer = b""
        self._at_end = False
        self._exit: Optional[int] = None
        for client in list(_Client.running):
            if client._process.poll() is not None:  # pylint: disable=protected-access
                _Client.running.discard(client)
        _Client.running.add(self)

    def __del__(self) -> None:
        if hasattr(self, "_output"):
            self._output.close()
        if hasattr(self, "_errors"):
            os.close(self._errors)

    def read_object(self) -> Optional[Dict[str, Any]]:
        """The next line; None at the end."""
        while b"\n" not in self._buffer and not self._at_end:
            self._read()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return _wire.object_from(line, "tony-submit") if line else None

    def await_end(self, timeout: Optional[float]) -> bool:
        """Reads to the end of the output; False: it is not there after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._at_end:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([self._output], [], [], left)
            if not ready:
                return False
            self._read()
        return True

    def _read(self) -> None:
        chunk = os.read(self._output.fileno(), _CHUNK)
        self._buffer += chunk
        self._at_end = not chunk

    def exit_code(self) -> int:
        """Its exit status, once its output is at its end."""
        if self._exit is None:
            self._exit = self._process.wait()
            _Client.running.discard(self)
        # A client that a signal has killed tells nothing of its job.
        return self._exit if self._exit >= 0 else 3

    def errors(self) -> str:
        """What it said on standard error."""
        return text_of(self._errors)

    def stop(self) -> None:
        """Asks it to stop its job."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)


class JobHandle(Generic[AnyClient]):
    """What both forms of a job know about it. Not thread safe."""

    def __init__(self, job_id: str, where: _wire.Where, client: Optional[AnyClient] = None) -> None:
        """For submit() and attach()."""
        self._id = job_id
        self._where = where
        self._client = client
        self._verdict: Optional[Verdict] = None
        self._stopped = False

    @property
    def id(self) -> str:
        """The job's name for tony's programs."""
        return self._id

    @property
    def owned(self) -> bool:
        """Whether the job ends with this process."""
        return self._client is not None

    def __repr__(self) -> str:
        return f"<{self._NAME} {self._id}>"

    _NAME = "tony.Job"


class Job(JobHandle[_Client]):
    """A job that was submitted. Not thread safe."""

    # What a wait for a job without a verdict has raised.
    _failure: Optional[Exception] = None

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        """Stops the job if it still runs."""
        if self._verdict is None and self._failure is None:
            self.stop()

    def wait(self, timeout: Optional[float] = None) -> Verdict:
        """Waits for the job's end; returns its verdict, also that of a job that failed.

        Raises TimeoutError after `timeout` seconds, and InfrastructureError or Killed for a job that ends without a
        verdict.
        """
        if self._failure is not None:
            raise self._failure
        if self._verdict is None:
            self._verdict = self._wait_owned(timeout) if self._client else self._wait_other(timeout)
        return self._verdict

    def _wait_owned(self, timeout: Optional[float]) -> Verdict:
        client = self._client
        assert client is not None
        if not client.await_end(timeout):
            raise _wire.time_out(self._id, timeout)
        try:
            return _wire.end_from(self._id, client.read_object(), client.exit_code(), client.errors())
        except TonyError as error:
            self._failure = error
            raise

    def _wait_other(self, timeout: Optional[float]) -> Verdict:
        command = self._where.verb("wait", *_wire.wait_arguments(self._id, timeout))
        answer = _run(command)
        verdict = _wire.waited(self._id, answer.output, answer.exit_code, answer.errors)
        if verdict is None:
            raise _wire.time_out(self._id, timeout)
        return verdict

    def result(self, timeout: Optional[float] = None) -> Verdict:
        """As wait(), but raises JobFailed, InfrastructureError, Killed or NeverFits if the job has not succeeded."""
        return _wire.check(self._id, self.wait(timeout))

    def status(self) -> JobStatus:
        """The job as it is now, with its tasks."""
        return status_from(_wire.object_from(_ask(self._where.verb("status", self._id)), "tony status"))

    def tasks(self) -> List[TaskStatus]:
        """The job's tasks as they are now."""
        return list(self.status().tasks)

    def logs(self, task: Optional[str] = None, *, follow: bool = False,
             tail: Optional[int] = None) -> Generator[LogLine, None, None]:
        """The lines that all tasks, one (worker:0) or one type (worker) printed, merged by their times.

        `follow`: goes on until the job's end. `tail`: only the last so many lines of each log.
        """
        for line in _lines(self._where.verb("logs", *_wire.logs_arguments(self._id, task, follow, tail))):
            yield log_line_from(line)

    def events(self, *, follow: bool = True) -> Generator[Event, None, None]:
        """What has happened to the job, from its begin; with `follow` to its end."""
        for line in _lines(self._where.verb("events", self._id, *(["--follow"] if follow else []))):
            yield event_from(line)

    def ask_to_stop(self) -> None:
        """Asks an owned job to stop, without waiting. Unlike the other methods, also while another thread waits."""
        if self._client is not None and not self._stopped:
            self._client.stop()
            self._stopped = True

    def stop(self, timeout: float = 60) -> Verdict:
        """Stops the job, and waits for its end; returns its verdict, which is the old one for a job that has ended.

        Raises TimeoutError if it goes on for `timeout` seconds.
        """
        if self._verdict is not None:
            return self._verdict
        if self._client is not None:
            self.ask_to_stop()
            return self.wait(timeout)
        answer = _run(self._where.verb("kill", *_wire.kill_arguments(self._id, timeout)))
        if answer.exit_code != 0 and _wire.is_alive(self.status()):
            raise TimeoutError(answer.errors.strip())
        return self.wait(timeout)

    def feeds(self) -> Dict[str, Any]:
        """Where and how the job's tasks can be fed (docs/design/feed.md), as `tony feed --json` says it.

        It has a token that lets its owner feed the tasks: a secret. Raises TonyError for a job that has ended.
        """
        return _wire.object_from(_ask(self._where.verb("feed", self._id)), "tony feed")

    def end_feed(self, feed: str) -> None:
        """Ends the feed of this name: when what is under way has been consumed, the tasks' programs see its end."""
        _ask(self._where.verb("feed", self._id, "--end", feed))

    def page_url(self) -> str:
        """The address of the job's page: good for one visit within two minutes, by this user's browser."""
        url: str = _wire.object_from(_ask(self._where.verb("open", self._id)), "tony open")["url"]
        return url

    def tensorboard_url(self) -> Optional[str]:
        """The address of the job's TensorBoard or notebook; None while there is none."""
        return self.status().visualization


def submit(job: AnyJob, *, conf: Optional[Mapping[str, Value]] = None, src_dir: Optional[Path] = None,
           env: Optional[Mapping[str, object]] = None, backend: Optional[str] = None, detach: bool = False,
           step_key: Optional[str] = None, on_existing: Optional[str] = None, home: Optional[str] = None,
           launcher_fd: Optional[int] = None) -> Job:
    """Submits a job: the path of a job file, a dict of keys, or a JobSpec. Returns as soon as it has its id.

    conf: further keys, stronger than the job's; lists are added. Relative paths of keys start from the working folder.
    src_dir: folder or archive with the program. env: variables for the tasks' programs. backend: "local" or "yarn".
    detach: the job goes on after this process; otherwise it ends with it.
    step_key, on_existing: for a job that is a step of a workflow (docs/workflows.md).
    home: an installation of tony to be used, as TONY_HOME.
    launcher_fd: the job's end of a launcher's socket, for backend="launcher" (docs/design/launcher.md).

    Raises BadJob with `problems`, NeverFits, or InfrastructureError; then nothing runs.
    """
    request = _wire.submission(job, conf=conf, src_dir=src_dir, env=env, backend=backend, detach=detach,
                               step_key=step_key, on_existing=on_existing, home=home, launcher_fd=launcher_fd)
    client = _Client(request, launcher_fd)
    try:
        first = client.read_object()
    except BaseException:
        client.stop()  # such as Ctrl-C: nobody would know the job
        raise
    if not first or not _wire.is_submitted(first):
        _wire.raise_refusal(request, first, client.exit_code(), client.errors())
    submitted = _wire.submitted_from(request, first)
    if detach:
        client.exit_code()
        return Job(submitted.job_id, submitted.where)
    return Job(submitted.job_id, submitted.where, client)


def attach(job_id: str, *, backend: Optional[str] = None, conf: Optional[Mapping[str, Value]] = None,
           home: Optional[str] = None) -> Job:
    """A job that another process has submitted, running or past: by its id, an unambiguous part of it, or "latest".

    conf: keys that say where jobs are, such as tony.local.dir. Raises NoSuchJob.
    """
    where = _wire.where_for(backend, conf, home)
    status = _wire.object_from(_ask(where.verb("status", job_id)), "tony status")
    return Job(status["id"], where)


def jobs(*, running: bool = False, failed: bool = False, name: Optional[str] = None, newest: Optional[int] = None,
         backend: Optional[str] = None, conf: Optional[Mapping[str, Value]] = None,
         home: Optional[str] = None) -> List[JobStatus]:
    """The user's jobs, newest first, without their tasks.

    running: those that run or wait. failed: those that failed or were lost. name: with this text in their names.
    """
    where = _wire.where_for(backend, conf, home)
    return _wire.listed(_ask(where.verb("list", *_wire.list_arguments(running, failed, name, newest))))
