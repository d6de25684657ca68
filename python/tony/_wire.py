"""The command lines of tony's programs, and the meaning of what they answer. Nothing here starts or waits.

Both forms of the package, the plain one and tony.aio, are thin shells around this module.
"""

import json
import os
from typing import Any, Dict, List, Mapping, NamedTuple, NoReturn, Optional, Tuple

from . import _programs
from .errors import BadJob, InfrastructureError, NoSuchJob, TonyError, bad_end, error_of_verdict
from .records import JobStatus, Verdict, problem_from, status_from, verdict_from
from .spec import AnyJob, JobSpec, Keys, Path, Value, environment_items, merge

# The version of the programs' JSON that this package reads (docs/python.md#json).
JSON_VERSION = 1
# Keys of a submission by which the verbs find its job again.
_FINDING_KEYS = ("tony.local.dir", "tony.yarn.", "tony.hdfs.")
# Exit statuses of the verbs.
_NOT_POSSIBLE, _BAD_USAGE, _JOB_GOES_ON = 1, 2, 6


class Where(NamedTuple):
    """The programs, and the options by which they find a job."""

    programs: str
    options: Tuple[str, ...] = ()

    def verb(self, name: str, *arguments: str) -> List[str]:
        """The command line of a verb that prints JSON."""
        return [os.path.join(self.programs, _programs.TONY), name, *arguments, "--json", *self.options]


def where_for(backend: Optional[str], conf: Optional[Mapping[str, Value]], home: Optional[str] = None) -> Where:
    """Where jobs are: on the backend, and as the keys say."""
    options: List[str] = ["--backend", backend] if backend else []
    for key, value in (conf or {}).items():
        if key.startswith(_FINDING_KEYS) and isinstance(value, (str, int, float)):
            options += ["--conf", f"{key}={value}"]
    return Where(_programs.find_programs(home), tuple(options))


class Submission(NamedTuple):
    """A submission: the command, what it reads, and where its job will be found."""

    command: List[str]
    keys: bytes  # for standard input
    where: Where
    name: str  # for messages


def _keys_of(job: AnyJob) -> Tuple[Keys, List[str], str]:
    """The job's keys, the options that name its file, and its name for people."""
    if isinstance(job, JobSpec):
        return job.keys(), [], "the job"
    if isinstance(job, Mapping):
        return dict(job), [], "the job"
    if isinstance(job, (str, os.PathLike)):
        file = os.fspath(job)
        return {}, ["--conf_file", file], file
    raise TypeError(f"a job is the path of a job file, a dict of keys or a tony.JobSpec, not {type(job).__name__}")


def submission(job: AnyJob, *, conf: Optional[Mapping[str, Value]], src_dir: Optional[Path],
               env: Optional[Mapping[str, object]], backend: Optional[str], detach: bool, step_key: Optional[str],
               on_existing: Optional[str], home: Optional[str], launcher_fd: Optional[int] = None) -> Submission:
    """What Job.submit() runs. Keys travel by standard input: other users can read a command line."""
    keys, options, name = _keys_of(job)
    if src_dir is not None:
        keys["tony.application.src-dir"] = os.fspath(src_dir)
    if env:
        merge(keys, {"tony.execution.envs": environment_items(env)})
    merge(keys, conf)
    if backend:
        options += ["--backend", backend]
    if step_key is not None:
        options += ["--step-key", step_key]
    if on_existing is not None:
        options += ["--on-existing", on_existing]
    if launcher_fd is not None:
        options += ["--launcher-fd", str(launcher_fd)]
    options += ["--detach"] if detach else ["--stop-with", str(os.getpid())]
    where = where_for(backend, keys, home)
    command = [os.path.join(where.programs, _programs.SUBMIT), "--json", "--quiet", "--keys", "-", *options]
    return Submission(command, json.dumps(keys).encode(), where, name)


class Submitted(NamedTuple):
    """A job that has its id."""

    job_id: str
    backend: str
    where: Where


def object_from(line: bytes, program: str) -> Dict[str, Any]:
    """A JSON object of a program."""
    try:
        answer = json.loads(line)
    except ValueError as error:
        raise TonyError(f"{program} printed no JSON but {line[:200]!r}; are the package and the programs of one "
                        "version?") from error
    version = answer.get("version", JSON_VERSION) if isinstance(answer, dict) else JSON_VERSION
    if not isinstance(answer, dict) or version > JSON_VERSION:
        raise TonyError(f"{program} prints JSON of version {version}, and this package reads {JSON_VERSION}; update "
                        "the package tony")
    return answer


def is_submitted(answer: Dict[str, Any]) -> bool:
    """Whether the first line of tony-submit tells of a job that has begun."""
    return bool(answer["job_id"]) and "backend" in answer


def submitted_from(request: Submission, answer: Dict[str, Any]) -> Submitted:
    """The job of the first line that tony-submit prints."""
    backend, folder = answer["backend"], answer.get("local_dir")
    options = request.where.options
    if "--backend" not in options:
        options = (*options, "--backend", backend)
    if folder and not any(option.startswith("tony.local.dir=") for option in options):
        options = (*options, "--conf", f"tony.local.dir={folder}")
    return Submitted(answer["job_id"], backend, request.where._replace(options=options))


def raise_refusal(request: Submission, answer: Optional[Dict[str, Any]], exit_code: int, text: str) -> NoReturn:
    """For a submission without a job: its last line, if there was one, its exit status and its standard error."""
    text = text.strip()
    if answer and answer.get("problems"):
        problems = [problem_from(problem) for problem in answer["problems"]]
        lines = "\n".join(f"  {problem}" for problem in problems[:20])
        more = f"\n  and {len(problems) - 20} more" if len(problems) > 20 else ""
        raise BadJob(f"{request.name} cannot run:\n{lines}{more}", problems)
    if exit_code == _BAD_USAGE:
        raise BadJob(text)
    sentence = (answer or {}).get("sentence") or text
    raise bad_end(exit_code, sentence or f"tony-submit ended with {exit_code} before the job had an id")


def end_from(job_id: str, answer: Optional[Dict[str, Any]], exit_code: int, text: str) -> Verdict:
    """The verdict of a job that tony-submit has followed to its end. Raises for a job without one."""
    verdict = verdict_from(answer["verdict"]) if answer else None
    if verdict:
        return verdict
    sentence = (answer or {}).get("sentence") or text.strip() or f"tony-submit ended with {exit_code}"
    raise bad_end(exit_code, f"job {job_id} has no verdict: {sentence}", job_id)


def check(job_id: str, verdict: Verdict) -> Verdict:
    """Raises for a verdict that is no success."""
    if not verdict.succeeded:
        raise error_of_verdict(job_id, verdict)
    return verdict


def raise_failed(arguments: List[str], exit_code: int, text: str) -> NoReturn:
    """For a verb that has failed."""
    text = text.strip() or f"{' '.join(arguments[:2])} ended with {exit_code}"
    if exit_code in (_NOT_POSSIBLE, _BAD_USAGE):
        raise NoSuchJob(text)
    raise TonyError(text)


def wait_arguments(job_id: str, timeout: Optional[float]) -> List[str]:
    """Of `tony wait`."""
    limit = [] if timeout is None else ["--timeout", f"{max(0, int(timeout * 1000))}ms"]
    return [job_id, *limit]


def waited(job_id: str, answer: bytes, exit_code: int, text: str) -> Optional[Verdict]:
    """What `tony wait --json` has found; None: the job goes on."""
    if exit_code == _JOB_GOES_ON:
        return None
    if not answer.strip():
        raise_failed(["tony", "wait"], exit_code, text)
    status = status_from(object_from(answer, "tony wait"))
    if status.verdict is None:
        raise InfrastructureError(f"job {job_id} has no verdict: {status.sentence}", job_id)
    return status.verdict


def kill_arguments(job_id: str, timeout: float) -> List[str]:
    """Of `tony kill`."""
    return [job_id, "--wait", str(max(1, int(timeout)))]


def list_arguments(running: bool, failed: bool, name: Optional[str], newest: Optional[int]) -> List[str]:
    """Of `tony list`."""
    options = [f"--{option}" for option, wanted in (("running", running), ("failed", failed)) if wanted]
    options += ["--name", name] if name is not None else []
    return options + (["--newest", str(newest)] if newest is not None else [])


def listed(answer: bytes) -> List[JobStatus]:
    """What `tony list --json` has found."""
    return [status_from(job) for job in json.loads(answer)]


def logs_arguments(job_id: str, task: Optional[str], follow: bool, tail: Optional[int]) -> List[str]:
    """Of `tony logs`."""
    options = [job_id] + ([task] if task else []) + (["--follow"] if follow else [])
    return options + (["--tail", str(tail)] if tail is not None else [])


def time_out(job_id: str, timeout: Optional[float]) -> TimeoutError:
    """The exception of a wait that was given up."""
    return TimeoutError(f"job {job_id} goes on after {timeout} s")


def is_alive(status: JobStatus) -> bool:
    """Whether the job runs or waits."""
    return status.alive and status.verdict is None
