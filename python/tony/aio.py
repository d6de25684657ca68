"""The package for asyncio: the same names, whose functions are coroutines and whose iterators are asynchronous.

    job = await tony.aio.submit("job.xml")
    async for event in job.events():
        print(event.kind)
    await job.result()

The programs are subprocesses of the running loop; no thread is started by this module. (Until Python 3.11 asyncio
itself has a thread for each subprocess.)
"""

import asyncio
import os
from types import TracebackType
from typing import Any, AsyncGenerator, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple, Type

from . import _wire
from ._call import CallHandle, PreparedCall, Request
from ._job import JobHandle, memory_file, text_of
from .errors import JobEndedBadly
from .records import Event, JobStatus, LogLine, TaskStatus, Verdict, event_from, log_line_from, status_from
from .spec import AnyJob, Path, Value

__all__ = ["Call", "Job", "attach", "jobs", "run", "start", "submit"]

# Far above any line of the programs: an event with the names of 10,000 tasks, a verdict with its last lines.
_LONGEST_LINE = 1 << 24
_END_SECONDS = 10.0


async def _run(command: List[str]) -> Tuple[int, bytes, str]:
    """Runs a verb; returns its exit status, its standard output, and what it said."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    try:
        output, errors = await process.communicate()
    except BaseException:
        await _end(process)
        raise
    assert process.returncode is not None
    return process.returncode, output, errors.decode(errors="replace")


async def _ask(command: List[str]) -> bytes:
    code, output, errors = await _run(command)
    if code != 0:
        _wire.raise_failed(command, code, errors)
    return output


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends a program that only reads."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), _END_SECONDS)
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()


async def _lines(command: List[str]) -> AsyncGenerator[Dict[str, Any], None]:
    """The JSON lines of a program as it prints them. Closing the generator ends the program."""
    errors = memory_file("tony-errors")
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=errors,
            limit=_LONGEST_LINE)
        assert process.stdout is not None
        try:
            async for line in process.stdout:
                yield _wire.object_from(line, os.path.basename(command[0]))
            code = await process.wait()
            if code != 0:
                _wire.raise_failed(command, code, text_of(errors))
        finally:
            await _end(process)
    finally:
        os.close(errors)


class _Client:
    """The tony-submit of a job, as in the module _job. Belongs to one loop."""

    # Those whose job goes on: asyncio kills a process that nobody refers to.
    running: Set["_Client"] = set()

    def __init__(self, process: asyncio.subprocess.Process, errors: int) -> None:
        assert process.stdout is not None
        self._process = process
        self._output = process.stdout
        self._errors = errors
        self._last: Optional["asyncio.Task[Tuple[Optional[Dict[str, Any]], int]]"] = None
        _Client.running.add(self)

    def __del__(self) -> None:
        os.close(self._errors)

    @classmethod
    async def start(cls, request: _wire.Submission) -> "_Client":
        """Starts it; the keys go to its standard input."""
        keys, errors = memory_file("tony-keys", request.keys), memory_file("tony-errors")
        try:
            process = await asyncio.create_subprocess_exec(
                *request.command, stdin=keys, stdout=asyncio.subprocess.PIPE, stderr=errors, limit=_LONGEST_LINE,
                start_new_session=True)
        except BaseException:
            os.close(errors)
            raise
        finally:
            os.close(keys)
        return cls(process, errors)

    async def read_object(self) -> Optional[Dict[str, Any]]:
        """The next line; None at the end."""
        line = await self._output.readline()
        return _wire.object_from(line, "tony-submit") if line.strip() else None

    async def end(self) -> Tuple[Optional[Dict[str, Any]], int]:
        """Its last line and its exit status. May be awaited by several tasks, and given up by each."""
        if self._last is None:
            self._last = asyncio.ensure_future(self._read_end())
        return await asyncio.shield(self._last)

    async def _read_end(self) -> Tuple[Optional[Dict[str, Any]], int]:
        last = await self.read_object()
        code = await self._process.wait()
        _Client.running.discard(self)
        return last, code if code >= 0 else 3

    def errors(self) -> str:
        """What it said on standard error."""
        return text_of(self._errors)

    def stop(self) -> None:
        """Asks it to stop its job."""
        if self._process.returncode is None:
            self._process.terminate()


class Job(JobHandle[_Client]):
    """A job that was submitted. For the tasks of one loop."""

    _NAME = "tony.aio.Job"

    async def __aenter__(self) -> "Job":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        traceback: Optional[TracebackType]) -> None:
        """Stops the job if it still runs."""
        if self._verdict is None:
            await self.stop()

    async def wait(self, timeout: Optional[float] = None) -> Verdict:
        """As tony.Job.wait()."""
        if self._verdict is None:
            self._verdict = await (self._wait_owned(timeout) if self._client else self._wait_other(timeout))
        return self._verdict

    async def _wait_owned(self, timeout: Optional[float]) -> Verdict:
        client = self._client
        assert client is not None
        try:
            last, code = await asyncio.wait_for(client.end(), timeout)
        except asyncio.TimeoutError:
            raise _wire.time_out(self._id, timeout) from None
        return _wire.end_from(self._id, last, code, client.errors())

    async def _wait_other(self, timeout: Optional[float]) -> Verdict:
        code, output, errors = await _run(self._where.verb("wait", *_wire.wait_arguments(self._id, timeout)))
        verdict = _wire.waited(self._id, output, code, errors)
        if verdict is None:
            raise _wire.time_out(self._id, timeout)
        return verdict

    async def result(self, timeout: Optional[float] = None) -> Verdict:
        """As tony.Job.result()."""
        return _wire.check(self._id, await self.wait(timeout))

    async def status(self) -> JobStatus:
        """As tony.Job.status()."""
        return status_from(_wire.object_from(await _ask(self._where.verb("status", self._id)), "tony status"))

    async def tasks(self) -> List[TaskStatus]:
        """As tony.Job.tasks()."""
        return list((await self.status()).tasks)

    async def logs(self, task: Optional[str] = None, *, follow: bool = False,
                   tail: Optional[int] = None) -> AsyncGenerator[LogLine, None]:
        """As tony.Job.logs()."""
        async for line in _lines(self._where.verb("logs", *_wire.logs_arguments(self._id, task, follow, tail))):
            yield log_line_from(line)

    async def events(self, *, follow: bool = True) -> AsyncGenerator[Event, None]:
        """As tony.Job.events()."""
        async for line in _lines(self._where.verb("events", self._id, *(["--follow"] if follow else []))):
            yield event_from(line)

    async def stop(self, timeout: float = 60) -> Verdict:
        """As tony.Job.stop()."""
        if self._verdict is not None:
            return self._verdict
        if self._client is not None:
            if not self._stopped:
                self._client.stop()
                self._stopped = True
            return await self.wait(timeout)
        code, _, errors = await _run(self._where.verb("kill", *_wire.kill_arguments(self._id, timeout)))
        if code != 0 and _wire.is_alive(await self.status()):
            raise TimeoutError(errors.strip())
        return await self.wait(timeout)

    async def page_url(self) -> str:
        """As tony.Job.page_url()."""
        url: str = _wire.object_from(await _ask(self._where.verb("open", self._id)), "tony open")["url"]
        return url

    async def tensorboard_url(self) -> Optional[str]:
        """As tony.Job.tensorboard_url()."""
        return (await self.status()).visualization


async def submit(job: AnyJob, *, conf: Optional[Mapping[str, Value]] = None, src_dir: Optional[Path] = None,
                 env: Optional[Mapping[str, object]] = None, backend: Optional[str] = None, detach: bool = False,
                 step_key: Optional[str] = None, on_existing: Optional[str] = None, home: Optional[str] = None) -> Job:
    """As tony.submit()."""
    request = _wire.submission(job, conf=conf, src_dir=src_dir, env=env, backend=backend, detach=detach,
                               step_key=step_key, on_existing=on_existing, home=home)
    client = await _Client.start(request)
    try:
        first = await client.read_object()
    except BaseException:
        client.stop()  # cancelled: nobody would know the job
        raise
    if not first or not _wire.is_submitted(first):
        _, code = await client.end()
        _wire.raise_refusal(request, first, code, client.errors())
    submitted = _wire.submitted_from(request, first)
    if detach:
        await client.end()
        return Job(submitted.job_id, submitted.where)
    return Job(submitted.job_id, submitted.where, client)


async def attach(job_id: str, *, backend: Optional[str] = None, conf: Optional[Mapping[str, Value]] = None,
                 home: Optional[str] = None) -> Job:
    """As tony.attach()."""
    where = _wire.where_for(backend, conf, home)
    status = _wire.object_from(await _ask(where.verb("status", job_id)), "tony status")
    return Job(status["id"], where)


async def jobs(*, running: bool = False, failed: bool = False, name: Optional[str] = None,
               newest: Optional[int] = None, backend: Optional[str] = None,
               conf: Optional[Mapping[str, Value]] = None, home: Optional[str] = None) -> List[JobStatus]:
    """As tony.jobs()."""
    where = _wire.where_for(backend, conf, home)
    return _wire.listed(await _ask(where.verb("list", *_wire.list_arguments(running, failed, name, newest))))


class Call(CallHandle[Job]):
    """A function that runs as a job, as tony.Call. For one task of a loop."""

    async def __aenter__(self) -> "Call":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        traceback: Optional[TracebackType]) -> None:
        """Stops the job if it still runs, and removes the call's files."""
        await self.stop()

    async def result(self, timeout: Optional[float] = None) -> List[Any]:
        """As tony.Call.result(). The loop stands while the results are unpickled."""
        values = self._known()
        return self._take(self.job.id, await self.job.wait(timeout)) if values is None else values

    async def stop(self) -> None:
        """As tony.Call.stop()."""
        if self._is_open():
            try:
                await self.job.stop()
            except JobEndedBadly:
                pass  # without a verdict, as result() says
            try:
                await self.result()
            except Exception as error:  # pylint: disable=broad-except  # it is kept for the next result()
                self._failure = error
        self._prepared.remove()


async def start(function: Callable[..., Any], workers: int = 1, args: Sequence[Any] = (),
                kwargs: Optional[Mapping[str, Any]] = None, *, memory: Optional[str] = None,
                vcores: Optional[int] = None, gpus: Optional[int] = None, framework: Optional[str] = None,
                python: Optional[str] = None, results_dir: Optional[Path] = None, name: Optional[str] = None,
                src_dir: Optional[Path] = None, env: Optional[Mapping[str, object]] = None,
                backend: Optional[str] = None, conf: Optional[Mapping[str, Value]] = None,
                home: Optional[str] = None) -> Call:
    """As tony.start()."""
    prepared = PreparedCall(function, args, kwargs or {}, Request(
        workers, memory, vcores, gpus, framework, python, results_dir, name, src_dir, env, backend, conf))
    try:
        job = await submit(prepared.spec(), backend=prepared.backend, home=home)
    except BaseException:
        prepared.remove()
        raise
    return Call(prepared, job)


async def run(function: Callable[..., Any], workers: int = 1, args: Sequence[Any] = (),
              kwargs: Optional[Mapping[str, Any]] = None, *, timeout: Optional[float] = None,
              **options: Any) -> List[Any]:
    """As tony.run()."""
    async with await start(function, workers, args, kwargs, **options) as call:
        return await call.result(timeout)
