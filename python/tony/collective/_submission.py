"""Names of operations, and how they are given to the library."""

import ctypes
import itertools

from . import _process
from ._handles import Handle
from ._library import OK, library

# Names of operations that have been given none: the same on all ranks of a set, which call them in the same order.
_unnamed = {}


@_process.on_start
def _count_names_anew():
    _unnamed.clear()


def full_name(operation, name, set_id=0):
    """By which the tensors of a process set's ranks belong together."""
    if name is not None:
        return f"{operation}.{name}"
    # Without a lock: of a dictionary's setdefault() and of a count the calls are atomic.
    return f"{operation}.noname.{next(_unnamed.setdefault((set_id, operation), itertools.count()))}"


def submit(function, arguments, finish, keeps=False, gpus=None):
    """The Handle of one operation: ``function`` of the library with ``arguments`` gives its number.

    ``finish``, ``keeps``, ``gpus``: as of Handle. HorovodInternalError, NotInitializedError: it was refused.
    """
    # It holds the memory before the library has it: whatever is raised in between, as KeyboardInterrupt, leaves it so.
    handle = Handle(finish, keeps, gpus)
    number = function(*arguments)
    if number > 0:
        handle.numbers = (number,)
        return handle
    handle.forget()
    _process.rank()  # NotInitializedError, which says more than the library
    return library().check(number)


def submit_group(function, arguments, count, finish, keeps=False, gpus=None):
    """The same of ``count`` operations, of which the library takes all or none."""
    handle = Handle(finish, keeps, gpus)
    handle.numbers = (ctypes.c_int64 * count)()
    code = function(*arguments, handle.numbers)
    if code == OK:
        return handle
    handle.forget()
    _process.rank()
    return library().fail(code)
