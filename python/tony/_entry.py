"""The commands `tony` and `tony-submit` of the wheel. Each becomes the package's program of its name."""

import os
import sys
from typing import NoReturn

from ._programs import SUBMIT, TONY, find_programs


def _become(name: str) -> NoReturn:
    try:
        program = os.path.join(find_programs(own_only=True), name)
    except Exception as error:  # pylint: disable=broad-except  # ProgramsNotFound, whose module is slow to import
        sys.exit(f"{name}: {error}")
    os.execv(program, [program, *sys.argv[1:]])


def tony() -> NoReturn:
    """The command tony."""
    _become(TONY)


def tony_submit() -> NoReturn:
    """The command tony-submit."""
    _become(SUBMIT)
