"""Lets tony read the stacks of this process's threads; runs at each start of Python in a task.

The folder of this file comes first in a task's PYTHONPATH. A real-time signal makes the standard
library's faulthandler write all stacks into a file of this process, without the GIL and without
help of the program (docs/troubleshooting.md). Then the sitecustomize that this file hides runs, as
it would without tony. It takes about a millisecond, and works in every Python that a program may
use, also one that lacks what is needed here; so its types are comments.
"""

import os
import sys


def _install(folder, number):
    # type: (str, int) -> None
    import faulthandler

    register_at_fork = os.register_at_fork
    opened = []  # type: list[tuple[int, int, int]]

    def open_file():
        # type: () -> None
        # A file for each process: a child of fork() must not write into its parent's.
        try:
            file = os.open(
                "%s/%d.stacks" % (folder, os.getpid()),
                os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW,
                0o600,
            )
        except OSError:
            return
        # The reader sends the signal only while this descriptor still is this file: a program may
        # close all descriptors and open others with their numbers.
        os.write(file, b"fd %d\n" % file)
        faulthandler.register(number, file=file, all_threads=True, chain=False)
        # The parent's file, unless the program has closed all descriptors and opened another one
        # with that number.
        if opened:
            old, device, node = opened.pop()
            try:
                status = os.fstat(old)
                if (status.st_dev, status.st_ino) == (device, node):
                    os.close(old)
            except OSError:
                pass
        status = os.fstat(file)
        opened.append((file, status.st_dev, status.st_ino))

    open_file()
    register_at_fork(after_in_child=open_file)


def _run_hidden():
    # type: () -> None
    here = os.path.dirname(__file__)
    sys.path[:] = [path for path in sys.path if path != here]
    this = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
    finally:
        # The import of this file, which is still going on, expects a module of its name.
        if this is not None:
            sys.modules.setdefault("sitecustomize", this)


try:
    if os.environ.get("TONY_STACKS_DIR"):
        _install(os.environ["TONY_STACKS_DIR"], int(os.environ["TONY_STACKS_SIGNAL"]))
except Exception:  # the program matters more than its stacks
    pass
_run_hidden()
