"""This process as a rank: who it is from init() to shutdown()."""

import atexit
import threading
import weakref

from ._library import library
from .exceptions import NotInitializedError


class _Rank:
    """What Python knows of this process's rank."""

    def __init__(self):
        self.place = None  # of an initialized one
        self.starts = 0
        self.object_key = b""  # of the HMACs of pickles, in this start; empty: the job has no key
        self.lock = threading.Lock()
        self.on_start = []  # called without arguments when names count from 0 again
        self.outliving = weakref.WeakSet()  # what outlives init()


current = _Rank()


def on_start(function):
    """Registers what is called when the ranks have met, and when they have joined: names count from 0 again."""
    current.on_start.append(function)
    return function


def begins_anew(each):
    """Registers ``each``, as long as it lives: its begin_anew() is called when the ranks have met, but not when they
    have joined. In between what was on its way has been lost, and ranks that have come know nothing of it."""
    current.outliving.add(each)


def begin_life():
    """The ranks have met."""
    for each in list(current.outliving):
        each.begin_anew()
    begin_again()


def begin_again():
    """Calls what on_start() has registered."""
    for function in current.on_start:
        function()


def leave():
    """Leaves the others, as shutdown() does, but rank() and size() are what they were until then: to be followed by
    it."""
    with current.lock:
        if current.place is not None:
            library().shutdown()


def shutdown():
    """Leaves the others. What is on its way fails, here and at them. ``init()`` may be called again afterwards."""
    with current.lock:
        if current.place is None:
            return
        current.place = None
        # A child of fork() has nothing to leave.
        library().shutdown()


def is_initialized():
    """True between ``init()`` and ``shutdown()``; not in a process that was forked meanwhile."""
    return current.place is not None and bool(library().is_initialized())


def _place():
    if current.place is None:
        raise NotInitializedError()
    return current.place


def rank():
    """This process's number, from 0. NotInitializedError, which is a ValueError: before ``init()``."""
    return _place().rank


def size():
    """How many ranks there are."""
    return _place().size


def local_rank():
    """This rank's number among those of its host, from 0: the index of its GPU, where each rank has one."""
    return _place().local_rank


def local_size():
    """How many ranks there are on this host."""
    return _place().local_size


def cross_rank():
    """The number of this host among those that have a rank with this local rank, from 0."""
    return _place().cross_rank


def cross_size():
    """How many hosts have a rank with this local rank."""
    return _place().cross_size


def is_homogeneous():
    """Whether all hosts have as many ranks as this one."""
    place = _place()
    return place.size == place.local_size * place.cross_size


@atexit.register
def _leave():
    """So that the others are told that this rank has left, and not that it has died."""
    if is_initialized():
        shutdown()
