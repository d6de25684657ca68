"""tony from Python: submit jobs, follow them, and run functions as jobs.

    import tony

    job = tony.submit(tony.JobSpec(command="python3 train.py", src_dir=".", worker=tony.Type(instances=2)))
    job.result()                        # raises tony.JobFailed, with the guilty task and its last lines

    values = tony.run(train, workers=4, args=(data,))      # what each rank returns

docs/python.md describes it. Names are imported when they are first used, so that `import tony` costs next to nothing in
the programs of tasks, which need other parts of the package.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # type checkers take it for true; the module typing is slow to import

if TYPE_CHECKING:
    from typing import Any, List

    from ._call import Call as Call, run as run, start as start
    from ._job import Job as Job, attach as attach, jobs as jobs, submit as submit
    from ._report import report as report
    from .errors import (BadJob as BadJob, CannotPickle as CannotPickle, InfrastructureError as InfrastructureError,
                         JobEndedBadly as JobEndedBadly, JobFailed as JobFailed, Killed as Killed,
                         NeverFits as NeverFits, NoSuchJob as NoSuchJob, ProgramsNotFound as ProgramsNotFound,
                         RankFailed as RankFailed, TonyError as TonyError)
    from .records import (Event as Event, Exit as Exit, JobStatus as JobStatus, LogLine as LogLine,
                          Problem as Problem, TaskStatus as TaskStatus, Verdict as Verdict)
    from .spec import JobSpec as JobSpec, Type as Type


def _folders_called_tony() -> List[str]:
    """Where modules of `tony` are looked for: here, and in the folders of that name that a program has itself.

    Tasks find this package without asking for it, and a program may have modules in a folder that happens to be called
    tony. Those of a folder that comes earlier on sys.path are found first.
    """
    own = os.path.dirname(os.path.abspath(__file__))
    folders = [os.path.join(os.path.abspath(entry), "tony") for entry in sys.path]
    folders = [folder for folder in dict.fromkeys(folders) if folder == own or os.path.isdir(folder)]
    return folders if own in folders else [own, *folders]


__path__ = _folders_called_tony()

# The module of each public name.
_HOMES = {
    "_call": ("Call", "run", "start"),
    "_job": ("Job", "attach", "jobs", "submit"),
    "_report": ("report",),
    "errors": ("BadJob", "CannotPickle", "InfrastructureError", "JobEndedBadly", "JobFailed", "Killed", "NeverFits",
               "NoSuchJob", "ProgramsNotFound", "RankFailed", "TonyError"),
    "records": ("Event", "Exit", "JobStatus", "LogLine", "Problem", "TaskStatus", "Verdict"),
    "spec": ("JobSpec", "Type"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = ("aio", "errors", "records", "spec", "worker")

__all__ = sorted(_HOME_OF)  # pylint: disable=invalid-all-format


def __getattr__(name: str) -> Any:
    """Imports the module of a public name at its first use (PEP 562)."""
    if name not in _HOME_OF and name not in _MODULES:
        raise AttributeError(f"module 'tony' has no attribute {name!r}")
    from importlib import import_module  # pylint: disable=import-outside-toplevel
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted({*globals(), *_HOME_OF, *_MODULES})
