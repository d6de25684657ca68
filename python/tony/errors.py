"""The exceptions of the package. All are TonyError."""

from typing import Dict, Optional, Sequence, Tuple, Type

from .records import Problem, Verdict


class TonyError(Exception):
    """Something of tony's went wrong."""


class ProgramsNotFound(TonyError):
    """There are no programs of tony to be run."""


class NoSuchJob(TonyError):
    """No job, or no task, has this name."""


class CannotPickle(TonyError):
    """A function, an argument or a result cannot be sent to another process."""


class BadJob(TonyError):
    """The job's configuration is wrong, and nothing was started."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems: Tuple[Problem, ...] = tuple(problems)


class JobEndedBadly(TonyError):
    """A job has not succeeded. `verdict` is None for a job without one, such as a lost job."""

    def __init__(self, message: str, job_id: Optional[str] = None, verdict: Optional[Verdict] = None) -> None:
        super().__init__(message)
        self.job_id = job_id
        self.verdict = verdict

    @property
    def reason(self) -> Optional[str]:
        """The verdict's, such as TASK_FAILED."""
        return self.verdict.reason if self.verdict else None

    @property
    def guilty(self) -> Optional[str]:
        """The task that caused the end, such as worker:1."""
        return self.verdict.guilty if self.verdict else None

    @property
    def exit_code(self) -> Optional[int]:
        """What the guilty task's program ended with; None without one, or if a signal ended it."""
        return self.verdict.exit.code if self.verdict and self.verdict.exit else None

    @property
    def tail(self) -> Tuple[str, ...]:
        """The last lines that the guilty task printed."""
        return self.verdict.tail if self.verdict else ()


class JobFailed(JobEndedBadly):
    """The job's own program failed."""


class RankFailed(JobFailed):
    """A function that ran as a job raised an exception in one of the ranks."""

    def __init__(self, message: str, job_id: Optional[str] = None, verdict: Optional[Verdict] = None,
                 rank: int = -1, traceback: str = "") -> None:
        super().__init__(message, job_id, verdict)
        self.rank = rank
        self.traceback = traceback  # of the rank's process, as text


class InfrastructureError(JobEndedBadly):
    """A lost container, a time-out, an error of the machine or of the cluster."""


class Killed(JobEndedBadly):
    """The job was stopped."""


class NeverFits(JobEndedBadly):
    """The job asks for more than there is at all."""


# By the exit status of tony-submit (docs/jobs.md#exit-codes).
_BY_EXIT_CODE: Dict[int, Type[JobEndedBadly]] = {1: JobFailed, 3: InfrastructureError, 4: Killed, 5: NeverFits}


def bad_end(exit_code: int, message: str, job_id: Optional[str] = None,
            verdict: Optional[Verdict] = None) -> JobEndedBadly:
    """The exception for a job that ended with an exit status of tony-submit other than 0."""
    return _BY_EXIT_CODE.get(exit_code, InfrastructureError)(message, job_id, verdict)


def error_of_verdict(job_id: str, verdict: Verdict) -> JobEndedBadly:
    """The exception for a verdict that is no success."""
    lines = [f"job {job_id}: {verdict.outcome} ({verdict.reason}): {verdict.sentence}"]
    if verdict.guilty and verdict.tail:
        lines += [f"the last lines of {verdict.guilty}:", *(f"  | {line}" for line in verdict.tail)]
    return bad_end(verdict.exit_code, "\n".join(lines), job_id, verdict)
