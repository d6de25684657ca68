"""Where tony's programs are."""

import os
from typing import List, Optional

SUBMIT = "tony-submit"
TONY = "tony"


def _beside() -> List[str]:
    """The folders beside the package that may have the programs, best first."""
    here = os.path.dirname(os.path.abspath(__file__))
    return [
        os.path.join(here, "_programs", "bin"),  # of the wheel
        # An installation has PREFIX/lib/tony/python/tony, a build BUILD/python/tony.
        os.path.normpath(os.path.join(here, "../../../../bin")),
        os.path.normpath(os.path.join(here, "../../bin")),
    ]


def _of_path() -> List[str]:
    return [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]


def _has_programs(folder: str) -> bool:
    return all(os.access(os.path.join(folder, name), os.X_OK) for name in (SUBMIT, TONY))


def _not_found(text: str) -> Exception:
    # The commands of the wheel are quicker without the module.
    from .errors import ProgramsNotFound  # pylint: disable=import-outside-toplevel
    return ProgramsNotFound(text)


def find_programs(home: Optional[str] = None, *, own_only: bool = False) -> str:
    """The folder of `tony` and `tony-submit`.

    `home`: the prefix of an installation, or a build folder, that is to be used; by default TONY_HOME. Without either:
    the package's own programs, those beside the package, those of PATH. `own_only`: the first two, for the commands of
    the wheel, which TONY_HOME or PATH may name themselves. Raises ProgramsNotFound.
    """
    wanted = None if own_only else home or os.environ.get("TONY_HOME")
    if wanted:
        folder = os.path.join(os.path.abspath(wanted), "bin")
        if _has_programs(folder):
            return folder
        raise _not_found(f"there is no {SUBMIT} in {folder}; let {'home=' if home else 'TONY_HOME'} name the "
                               "folder above bin/ of an installed tony, or leave it out")
    for folder in _beside() + ([] if own_only else _of_path()):
        if _has_programs(folder):
            return folder
    raise _not_found(f"tony's programs are not installed: there is no {SUBMIT} in {', '.join(_beside())} or in "
                           "PATH; install the wheel, which has them, or let TONY_HOME name the folder above bin/ of an "
                           "installation")
