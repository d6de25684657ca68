"""Kills that a job's ApplicationMaster believes to have done and has not."""

import os
import pathlib


def library(programs):
    """Where the build puts what programs are to load for that; `programs` is their folder."""
    return pathlib.Path(programs).parent / "faults/withhold_kill.so"


class WithheldKill:
    """The switch of one site's jobs. Not thread safe.

    It has to be made before the job is started, and works from `begin` to `end`.
    """

    def __init__(self, site):
        self._file = site.folder / "withhold-kill"
        site.environment["LD_PRELOAD"] = str(library(site.programs))
        site.environment["TONY_FAULT_WITHHOLD"] = str(self._file)
        # A build with a sanitizer wants its own library to come first.
        options = os.environ.get("ASAN_OPTIONS", "")
        site.environment["ASAN_OPTIONS"] = f"{options}:verify_asan_link_order=0"

    def begin(self):
        """From now on nobody is killed."""
        self._file.touch()

    def end(self):
        """Kills are kills again."""
        self._file.unlink()
