"""This process as a rank, from init() to shutdown()."""

import atexit
import threading
import weakref

from ._library import library
from .exceptions import NotInitializedError


class _Rank:
    """The part of this process's state as a rank that Python keeps; the library keeps the rest."""

    def __init__(self):
        self.place = None  # the _meeting.Place, from init() to shutdown()
        self.starts = 0  # how often this process has begun to meet the others
        self.object_key = b""  # for the HMACs of pickles until shutdown(); empty: the job has no key
        self.lock = threading.Lock()
        self.on_start = []  # called without arguments when the numbering of operations begins again
        self.outliving = weakref.WeakSet()  # objects such as optimizers, which a program uses over several init()


current = _Rank()


def on_start(function):
    """Registers a function that is called when the ranks have met in init(), and after join(). In both cases operations
    without a name are numbered from 0 again."""
    current.on_start.append(function)
    return function


def begins_anew(each):
    """Registers the object ``each`` as long as it lives. Its begin_anew() is called when the ranks have met in init(),
    and drops unfinished work: operations in progress were lost with the earlier ranks, and new ranks do not know of
    them. It is not called after join(), which loses nothing."""
    current.outliving.add(each)


def begin_life():
    """Called when the ranks have met in init(): prepares the registered objects and functions for a new beginning."""
    for each in list(current.outliving):
        each.begin_anew()
    begin_again()


def begin_again():
    """Calls the functions that on_start() has registered."""
    for function in current.on_start:
        function()


def leave():
    """Leaves the other ranks, like shutdown(), but rank() and size() keep their values. shutdown() has to follow."""
    with current.lock:
        if current.place is not None:
            library().shutdown()


def shutdown():
    """Leaves the other ranks. Operations in progress fail, here and there. ``init()`` may be called again
    afterwards."""
    with current.lock:
        if current.place is None:
            return
        current.place = None
        # In a forked child the library refuses this, rightly: the child is no rank and has nothing to leave.
        library().shutdown()


def is_initialized():
    """True between ``init()`` and ``shutdown()``; False in a process that was forked in between."""
    return current.place is not None and bool(library().is_initialized())


def _place():
    if current.place is None:
        raise NotInitializedError()
    return current.place


def rank():
    """This process's number, from 0. NotInitializedError, which is a ValueError: before ``init()``."""
    return _place().rank


def size():
    """The number of ranks."""
    return _place().size


def local_rank():
    """This rank's number among those of its host, from 0: the index of its GPU if each rank has one."""
    return _place().local_rank


def local_size():
    """The number of ranks on this host."""
    return _place().local_size


def cross_rank():
    """The number of this host among those that have a rank with this local rank, from 0."""
    return _place().cross_rank


def cross_size():
    """The number of hosts that have a rank with this local rank."""
    return _place().cross_size


def is_homogeneous():
    """Whether all hosts have as many ranks as this one."""
    place = _place()
    return place.size == place.local_size * place.cross_size


@atexit.register
def _leave():
    """Tells the others that this rank has left, so that they do not take it for dead."""
    if is_initialized():
        shutdown()
