"""Names of operations, and their submission to the library."""

import ctypes
import itertools

from . import _process
from ._handles import Handle
from ._library import OK, library

# Numbers for operations without a name. They are the same on all ranks of a set, which call them in the same order.
_unnamed = {}


@_process.on_start
def _count_names_anew():
    _unnamed.clear()


def full_name(operation, name, set_id=0):
    """The name by which the tensors of a process set's ranks belong together."""
    if name is not None:
        return f"{operation}.{name}"
    # No lock is needed: setdefault() of a dictionary and next() of a count are atomic.
    return f"{operation}.noname.{next(_unnamed.setdefault((set_id, operation), itertools.count()))}"


def submit(function, arguments, finish, keeps=False, gpus=None):
    """The Handle of one operation. ``function``: the library's function, which returns the operation's number.

    ``finish``, ``keeps``, ``gpus``: as for Handle. HorovodInternalError, NotInitializedError: the library has refused
    it.
    """
    # The handle holds the memory before the library has it, so an exception in between, such as KeyboardInterrupt, is
    # safe.
    handle = Handle(finish, keeps, gpus)
    number = function(*arguments)
    if number > 0:
        handle.numbers = (number,)
        return handle
    handle.forget()
    _process.rank()  # raises NotInitializedError, which says more than the library's error
    return library().check(number)


def submit_group(function, arguments, count, finish, keeps=False, gpus=None):
    """Like submit(), for ``count`` operations, of which the library takes all or none."""
    handle = Handle(finish, keeps, gpus)
    handle.numbers = (ctypes.c_int64 * count)()
    code = function(*arguments, handle.numbers)
    if code == OK:
        return handle
    handle.forget()
    _process.rank()
    return library().fail(code)
