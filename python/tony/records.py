"""What tony's programs say about jobs, as values. Times are seconds since 1970, as time.time() has them.

The programs write JSON (docs/python.md#json). Members that this version does not know are left out, so that a newer
program serves an older package.
"""

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple


class Exit(NamedTuple):
    """How a task's program ended."""

    description: str
    code: Optional[int]  # None: by a signal, or not by itself
    signal: Optional[int]
    tail: Tuple[str, ...]  # the last lines that it printed


class Verdict(NamedTuple):
    """The end of a job."""

    outcome: str  # SUCCEEDED, FAILED or KILLED
    reason: str  # such as TASK_FAILED (docs/troubleshooting.md)
    sentence: str
    guilty: Optional[str]  # the task that caused the end, such as worker:1
    exit: Optional[Exit]  # that task's
    exit_code: int  # tony-submit's: 0 succeeded, 1 the program failed, 3 infrastructure, 4 killed, 5 can never fit

    @property
    def succeeded(self) -> bool:
        """Whether the job ended well."""
        return self.outcome == "SUCCEEDED"

    @property
    def tail(self) -> Tuple[str, ...]:
        """The last lines of the guilty task."""
        return self.exit.tail if self.exit else ()


class TaskStatus(NamedTuple):
    """A task as it is now."""

    name: str  # worker:0
    state: str
    attempt: int  # starts so far
    container: Optional[str]
    host: Optional[str]
    port: Optional[int]
    pid: Optional[int]
    started: Optional[float]
    ended: Optional[float]
    sentence: Optional[str]  # why it is in this state
    exit: Optional[Exit]
    log_url: Optional[str]
    usage: Optional[Dict[str, Any]]  # what it used: cpu_seconds, memory_bytes, …


class JobStatus(NamedTuple):
    """A job as it is now."""

    id: str
    name: Optional[str]
    user: Optional[str]
    framework: Optional[str]
    backend: Optional[str]
    state: str
    alive: bool
    epoch: int  # restarts after failures
    submitted: Optional[float]
    ended: Optional[float]
    sentence: Optional[str]  # why it is lost, or cannot be read in full
    verdict: Optional[Verdict]
    waiting: Optional[Dict[str, Any]]  # what it waits for, which tasks are missing, what would unblock it
    visualization: Optional[str]  # the address of its TensorBoard or notebook
    log_folder: Optional[str]
    notes: Tuple[str, ...]
    tasks: Tuple[TaskStatus, ...]  # empty in a list of jobs


class LogLine(NamedTuple):
    """A line that a task printed."""

    task: str
    attempt: int
    stream: str
    time: Optional[float]
    text: str


class Event(NamedTuple):
    """Something that happened to a job. `data` is as tony-submit --json prints it, without zeros and empty values."""

    sequence: Optional[int]  # None: a measurement
    time: float
    kind: str  # submitted, state_changed, task_changed, waiting, epoch_opened, ended, …
    data: Dict[str, Any]


class Problem(NamedTuple):
    """Something that is wrong with a job's configuration."""

    file: Optional[str]  # None: a key that Python gave
    line: Optional[int]
    key: Optional[str]
    message: str
    remedy: Optional[str]

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        text = ": ".join(part for part in (place, self.key, self.message) if part)
        return f"{text}; {self.remedy}" if self.remedy else text


Json = Mapping[str, Any]


def _seconds(millis: Optional[int]) -> Optional[float]:
    return None if millis is None else millis / 1000


def exit_from(json: Optional[Json]) -> Optional[Exit]:
    """The exit of a task or of a verdict; None for null."""
    if json is None:
        return None
    return Exit(json["description"], json["code"], json["signal"], tuple(json["tail"]))


def verdict_from(json: Optional[Json]) -> Optional[Verdict]:
    """None for null."""
    if json is None:
        return None
    return Verdict(json["outcome"], json["reason"], json["sentence"], json["guilty"], exit_from(json["exit"]),
                   json["exit_code"])


def task_from(json: Json) -> TaskStatus:
    """A task of `tony status --json`."""
    return TaskStatus(
        name=json["task"], state=json["state"], attempt=json["attempt"], container=json["container"],
        host=json["host"], port=json["port"], pid=json["pid"], started=_seconds(json["started_millis"]),
        ended=_seconds(json["ended_millis"]), sentence=json["sentence"], exit=exit_from(json["exit"]),
        log_url=json["log_url"], usage=json.get("usage"))


def status_from(json: Json) -> JobStatus:
    """A job of `tony status --json`, or of `tony list --json`, which has no details."""
    return JobStatus(
        id=json["id"], name=json["name"], user=json["user"], framework=json["framework"], backend=json["backend"],
        state=json["state"], alive=json["alive"], epoch=json["epoch"], submitted=_seconds(json["submitted_millis"]),
        ended=_seconds(json["ended_millis"]), sentence=json["sentence"], verdict=verdict_from(json["verdict"]),
        waiting=json.get("waiting"), visualization=json.get("visualization"), log_folder=json.get("log_folder"),
        notes=tuple(json.get("notes", ())), tasks=tuple(task_from(task) for task in json.get("tasks", ())))


def log_line_from(json: Json) -> LogLine:
    """A line of `tony logs --json`."""
    return LogLine(json["task"], json["attempt"], json["stream"], _seconds(json["time_millis"]), json["line"])


def event_from(json: Json) -> Event:
    """A line of `tony events`, whose 64-bit numbers are texts."""
    common = ("sequence", "unix_millis")
    kinds: List[str] = [name for name in json if name not in common]
    kind = kinds[0] if kinds else ""
    sequence = json.get("sequence")
    return Event(None if sequence is None else int(sequence), int(json.get("unix_millis", 0)) / 1000, kind,
                 json.get(kind) or {})


def problem_from(json: Json) -> Problem:
    """A problem of a refused job. Keys that Python gave came as --keys, which no user knows."""
    file = json["file"]
    return Problem(None if file in ("", "--keys") else file, json["line"] or None, json["key"] or None,
                   json["message"], json["remedy"] or None)
