"""A function as the program of a job: tony.run(), and tony.start() for a caller that goes on meanwhile.

The call and the results are files, in a folder that only this user can enter: on this machine a temporary one, else
below `results_dir`. The other end is worker.py.
"""

import base64
import json
import os
import pickle
import shlex
import shutil
import stat
import sys
import tempfile
import weakref
from types import TracebackType
from typing import Any, Callable, Dict, Generic, List, Mapping, NamedTuple, NoReturn, Optional, Sequence, TypeVar
from typing import Type as Class

from . import worker
from ._job import Job, submit
from .errors import CannotPickle, JobEndedBadly, RankFailed, TonyError, error_of_verdict
from .records import Verdict
from .spec import JobSpec, Keys, Path, Type, Value, merge

# The type of the tasks that run a function.
TASKS = "worker"
AnyJob = TypeVar("AnyJob")
_PROGRAM = "tony_worker.py"
_CALL = "tony_call.pickle"
_MOUNTS = "tony.docker.containers.mount"


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", None) or repr(function)


def _raise_unpicklable(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], dumps: Any,
                       error: Exception) -> NoReturn:
    """Names the part of the call that cannot be pickled."""
    name = _name_of(function)
    parts = [(f"the function {name}", function), *((f"argument {number} of {name}", value)
                                                   for number, value in enumerate(args)),
             *((f"argument {key}= of {name}", value) for key, value in kwargs.items())]
    for what, value in parts:
        try:
            dumps(value, protocol=worker.PROTOCOL)
        except Exception as part_error:  # pylint: disable=broad-except  # whatever the object's own code raises
            what_to_do = ("define it in a module and not in the program itself or inside a function, or install "
                          "cloudpickle" if value is function and dumps is pickle.dumps else
                          "open files, locks and connections cannot go to another process: make them in the function")
            raise CannotPickle(f"{what} cannot be pickled: {part_error}; {what_to_do}") from error
    raise CannotPickle(f"the call of {name} cannot be pickled: {error}") from error


def write_call(path: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Writes the file that worker.py reads. Raises CannotPickle."""
    module = worker.find_cloudpickle()
    # pickle would write the name of a function of this program, and the ranks run another one.
    for called in (function, *args, *kwargs.values()):
        if module is None and callable(called) and getattr(called, "__module__", None) == "__main__":
            raise CannotPickle(f"the function {_name_of(called)} is defined in the program itself, where the ranks "
                               "cannot find it; install cloudpickle, or define it in a module")
    header = {"version": worker.VERSION, "python": list(sys.version_info[:2]), "by_value": module is not None,
              "name": _name_of(function), "path": [os.path.abspath(folder) for folder in sys.path]}
    pickler = module or pickle
    with open(path, "wb") as file:
        file.write(json.dumps(header).encode() + b"\n")
        try:
            pickler.dump((function, tuple(args), dict(kwargs)), file, protocol=worker.PROTOCOL)
        except OSError:
            raise
        except Exception as error:  # pylint: disable=broad-except  # whatever the objects' own code raises
            _raise_unpicklable(function, args, kwargs, pickler.dumps, error)


class Request(NamedTuple):
    """How a function is to run."""

    workers: int
    memory: Optional[str]
    vcores: Optional[int]
    gpus: Optional[int]
    framework: Optional[str]
    python: Optional[str]
    results_dir: Optional[Path]
    name: Optional[str]
    src_dir: Optional[Path]
    env: Optional[Mapping[str, object]]
    backend: Optional[str]
    conf: Optional[Mapping[str, Value]]


class PreparedCall:
    """A call that lies ready for a job, and what came of it. Not thread safe."""

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any],
                 request: Request) -> None:
        self._name = _name_of(function)
        self._request = request
        self.backend = request.backend or "local"
        if request.workers < 1:
            raise ValueError(f"workers={request.workers}: a function runs in one rank or more")
        self._check_results()
        base = None if request.results_dir is None else os.fspath(request.results_dir)
        self.folder = tempfile.mkdtemp(prefix="tony-call-", dir=base)
        # Also at the end of a program that never asks for the result.
        self.remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        try:
            os.mkdir(os.path.join(self.folder, "results"), 0o700)
            write_call(os.path.join(self.folder, _CALL), function, args, kwargs)
            shutil.copyfile(worker.__file__, os.path.join(self.folder, _PROGRAM))
        except BaseException:
            self.remove()
            raise

    def _check_results(self) -> None:
        if self.backend != "local" and self._request.results_dir is None:
            raise ValueError("results of other hosts need results_dir=…, a folder that all hosts and this one share, "
                             "such as one of NFS; HDFS is none")

    @property
    def results(self) -> str:
        """The folder where the ranks write."""
        return os.path.join(self.folder, "results")

    def tasks(self) -> List[str]:
        """The names of the ranks' tasks, by rank."""
        return [f"{TASKS}:{rank}" for rank in range(self._request.workers)]

    def awaited(self) -> List[int]:
        """The ranks whose results are wanted, which must have ended when the job succeeds."""
        return list(range(self._request.workers))

    def types(self) -> Dict[str, Type]:
        """The types of the tasks."""
        request = self._request
        return {TASKS: Type(request.workers, memory=request.memory, vcores=request.vcores, gpus=request.gpus)}

    def command(self, first: int = 0) -> str:
        """What the tasks of a type run; `first` is the rank of the one with index 0."""
        python = self._request.python or (sys.executable if self.backend == "local" else "python3")
        words = [python, _PROGRAM, _CALL, self.results, *([str(first)] if first else [])]
        return "exec " + " ".join(map(shlex.quote, words))

    def spec(self) -> JobSpec:
        """The job that makes the call."""
        request = self._request
        keys: Keys = {"tony.containers.resources": [os.path.join(self.folder, name) for name in (_PROGRAM, _CALL)]}
        merge(keys, request.conf)
        if str(keys.get("tony.docker.enabled", "")).lower() == "true":
            keys[_MOUNTS] = [*_items(keys.get(_MOUNTS)), f"{self.results}:{self.results}:rw"]
        return JobSpec(command=self.command(), framework=request.framework, name=request.name or self._name.split(".")[-1],
                       src_dir=request.src_dir, env=request.env, conf=keys, **self.types())

    def collect(self, job_id: str, verdict: Verdict) -> List[Any]:
        """What the ranks returned, by rank, or raises what went wrong. Removes the call's files."""
        try:
            if not verdict.succeeded:
                self._raise_failure(job_id, verdict)
            return [self._value(rank) for rank in self.awaited()]
        finally:
            self.remove()

    def _value(self, rank: int) -> Any:
        path = os.path.join(self.results, f"{rank}.value")
        try:
            with open(path, "rb") as file:
                if os.fstat(file.fileno()).st_uid != os.geteuid():
                    raise TonyError(f"{path} belongs to another user; it is not read, as that would run what it says")
                value = pickle.load(file)
        except FileNotFoundError:
            raise TonyError(f"the job has succeeded, but {self._name} left no result of rank {rank}: it ended its "
                            "process by itself, with os._exit() for example") from None
        os.unlink(path)
        return value

    def _raise_failure(self, job_id: str, verdict: Verdict) -> NoReturn:
        """For a job that has not succeeded: what the guilty rank raised, or else the first one that raised anything."""
        failed = error_of_verdict(job_id, verdict)
        told = self._told_error(verdict.guilty)
        if told is None:
            raise failed
        rank = told["rank"]
        if told["worker"]:
            raise RankFailed(f"rank {rank} of job {job_id}: {told['message']}", job_id, verdict, rank,
                             told["traceback"])
        cause = RankFailed(f"rank {rank} of job {job_id} raised {told['type']}: {told['message']}\n\nIts traceback:\n"
                           f"{told['traceback']}", job_id, verdict, rank, told["traceback"])
        error = self._unpickle(told["pickled"])
        if error is None:
            raise cause
        raise error from cause

    def _told_error(self, guilty: Optional[str]) -> Optional[Dict[str, Any]]:
        errors = []
        for name in os.listdir(self.results):
            path = os.path.join(self.results, name)
            status = os.lstat(path)
            ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
            if name.endswith(".error") and ours:
                with open(path, encoding="utf-8", errors="surrogateescape") as file:
                    errors.append(json.load(file))
        # An exception of a communication that broke off is later than its cause.
        tasks = self.tasks()
        errors.sort(key=lambda error: (tasks[error["rank"]] != guilty, error["time"]))
        return errors[0] if errors else None

    @staticmethod
    def _unpickle(text: Optional[str]) -> Optional[BaseException]:
        if text is None:
            return None
        try:
            error = pickle.loads(base64.b64decode(text))
        except Exception:  # pylint: disable=broad-except  # such as a module that only the ranks have
            return None
        # A rank's SystemExit or KeyboardInterrupt must not be the caller's.
        return error if isinstance(error, Exception) else None


def _items(value: Optional[Value]) -> List[str]:
    if value is None:
        return []
    return [str(value)] if not isinstance(value, (list, tuple)) else [str(item) for item in value]


class CallHandle(Generic[AnyJob]):
    """What both forms of a call know about it. Not thread safe."""

    def __init__(self, prepared: PreparedCall, job: AnyJob) -> None:
        """For start()."""
        self._prepared = prepared
        self._values: Optional[List[Any]] = None
        self._failure: Optional[Exception] = None
        self.job = job

    def __repr__(self) -> str:
        return f"<tony.Call of {self.job!r}>"

    def _known(self) -> Optional[List[Any]]:
        """What the ranks returned; None: that is not known yet. Raises what an earlier _take() has raised."""
        if self._failure is not None:
            raise self._failure
        return self._values

    def _take(self, job_id: str, verdict: Verdict) -> List[Any]:
        """PreparedCall.collect(), whose end is kept."""
        try:
            self._values = self._prepared.collect(job_id, verdict)
        except Exception as error:
            self._failure = error
            raise
        return self._values

    def _is_open(self) -> bool:
        """Whether nothing is known of the job's end."""
        return self._values is None and self._failure is None


class Call(CallHandle[Job]):
    """A function that runs as a job. Not thread safe."""

    def __enter__(self) -> "Call":
        return self

    def __exit__(self, kind: Optional[Class[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        """Stops the job if it still runs, and removes the call's files."""
        self.stop()

    def result(self, timeout: Optional[float] = None) -> List[Any]:
        """Waits for the job's end; returns what each rank returned, by rank.

        Raises what a rank raised, with RankFailed as its cause; RankFailed alone if the exception cannot be pickled;
        the exceptions of Job.result() if no rank raised anything, but was killed, say; and TimeoutError.
        """
        values = self._known()
        return self._take(self.job.id, self.job.wait(timeout)) if values is None else values

    def stop(self) -> None:
        """Stops the job if it still runs. result() then raises Killed. Raises TimeoutError if the job goes on."""
        if self._is_open():
            try:
                self.job.stop()
            except JobEndedBadly:
                pass  # without a verdict, as result() says
            try:
                self.result()
            except Exception as error:  # pylint: disable=broad-except  # it is kept for the next result()
                self._failure = error
        self._prepared.remove()


def start(function: Callable[..., Any], workers: int = 1, args: Sequence[Any] = (),
          kwargs: Optional[Mapping[str, Any]] = None, *, memory: Optional[str] = None, vcores: Optional[int] = None,
          gpus: Optional[int] = None, framework: Optional[str] = None, python: Optional[str] = None,
          results_dir: Optional[Path] = None, name: Optional[str] = None, src_dir: Optional[Path] = None,
          env: Optional[Mapping[str, object]] = None, backend: Optional[str] = None,
          conf: Optional[Mapping[str, Value]] = None, home: Optional[str] = None) -> Call:
    """Starts `function(*args, **kwargs)` in `workers` processes, the ranks of a job; returns without waiting.

    memory, vcores, gpus: of each rank. framework: which variables the ranks find (docs/configuration.md).
    python: the ranks' interpreter, by default this one. results_dir: where results lie until they are read; needed
    for another backend than "local", which is the default here, and then a folder that all hosts share.
    src_dir, env, conf, home: as for submit().

    Raises CannotPickle, and what submit() raises. The job ends with this process.
    """
    prepared = PreparedCall(function, args, kwargs or {}, Request(
        workers, memory, vcores, gpus, framework, python, results_dir, name, src_dir, env, backend, conf))
    try:
        job = submit(prepared.spec(), backend=prepared.backend, home=home)
    except BaseException:
        prepared.remove()
        raise
    return Call(prepared, job)


def run(function: Callable[..., Any], workers: int = 1, args: Sequence[Any] = (),
        kwargs: Optional[Mapping[str, Any]] = None, *, timeout: Optional[float] = None, **options: Any) -> List[Any]:
    """Runs `function(*args, **kwargs)` in `workers` processes, the ranks of a job; returns what each rank returned.

    Options are those of start(). Raises what start() and Call.result() raise. The job is stopped when this function is
    left early, by Ctrl-C or after `timeout` seconds.
    """
    with start(function, workers, args, kwargs, **options) as call:
        return call.result(timeout)
