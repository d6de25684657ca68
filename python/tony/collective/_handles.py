"""Operations that are on their way, and what comes of them."""

import ctypes
import itertools
import math
import threading
import weakref

from . import _library
from ._library import library
from .exceptions import HorovodInternalError

# How long a wait lasts before Python may look for signals (Ctrl-C), in milliseconds.
_LOOK_MS = 200

# Of operations that nobody has waited for: what they read and write must live.
_in_flight = set()


class Handle:
    """One operation, or a group of them; for ``poll()`` and ``synchronize()``."""

    __slots__ = ("numbers", "_finish", "_keeps", "_gpus", "_result", "_waiting")

    def __init__(self, finish, keeps=False, gpus=None):
        """``finish``: called with ``numbers`` once all operations are done well, makes the result; it holds all memory
        that they use. ``keeps``: it releases them itself, later. ``gpus``: what the framework says of each (its gpu());
        the streams of those that have one wait instead of this thread."""
        self.numbers = ()  # the library's, of operations on their way
        self._finish = finish
        self._keeps = keeps
        self._gpus = gpus
        self._result = None
        self._waiting = threading.RLock()  # one thread after the other
        _in_flight.add(self)

    def forget(self):
        """The library has not taken it."""
        self.numbers, self._finish, self._gpus = (), None, None
        _in_flight.discard(self)

    def poll(self):
        """Whether ``wait()`` would return at once."""
        lib = library()
        return all(lib.check(lib.poll(number)) for number in self.numbers)

    def wait(self):
        """The result, each time. HorovodInternalError: the operation has failed; then it is None from now on."""
        with self._waiting:
            return self._wait()

    def _wait(self):
        if self not in _in_flight:
            return self._result
        lib = library()
        failed = None
        for number, gpu in zip(self.numbers, self._gpus or itertools.repeat(None)):
            code = _library.IN_PROGRESS
            while code == _library.IN_PROGRESS:
                code = (lib.wait(number, _LOOK_MS) if gpu is None else
                        lib.wait_stream(number, gpu.stream(), _LOOK_MS))
            if code != _library.OK and failed is None:
                try:
                    lib.fail(code)
                except HorovodInternalError as error:
                    failed = error
        # All are done, so that nobody but the user touches the memory any more; or, on a GPU, nothing that the user's
        # stream does from now on comes before that.
        numbers, finish = self.numbers, self._finish
        self.forget()
        try:
            if failed is not None:
                raise failed
            self._result = finish(numbers)
        finally:
            if failed is not None or not self._keeps:
                for number in numbers:
                    lib.release(number)
        return self._result


def forget_all():
    """Lets go of what nobody has waited for. Only after shutdown(), when all of it is done, or has failed."""
    for handle in list(_in_flight):
        try:
            handle.wait()
        except HorovodInternalError:
            pass


class Output:
    """The new tensor of one operation that is done well, which is released with its memory.

    ``buffer``: of ``item_bytes`` for each element; the memory lives as long as it and what refers to it. None: the
    tensor is empty. ``shape``; ``splits``: of alltoall.
    """

    __slots__ = ("buffer", "shape", "splits")

    def __init__(self, number, item_bytes):
        lib = library()
        self.shape = _numbers_of(lib.output_shape, number)
        self.splits = _numbers_of(lib.output_splits, number)
        size = math.prod(self.shape) * item_bytes
        self.buffer = None
        if size == 0:
            lib.release(number)
            return
        self.buffer = (ctypes.c_char * size).from_address(lib.output_data(number))
        # At the process's end the memory goes anyway.
        weakref.finalize(self.buffer, lib.release, number).atexit = False


def _numbers_of(function, number):
    """What the library writes into an array."""
    count = library().check(function(number, None, 0))
    numbers = (ctypes.c_int64 * count)()
    function(number, numbers, count)
    return tuple(numbers)


def poll(handle):
    """Whether an asynchronous operation is done, so that ``synchronize()`` returns at once."""
    return handle.poll()


def synchronize(handle):
    """Waits for an asynchronous operation.

    Returns what the function without ``_async`` would have returned: of a grouped operation a list.

    HorovodInternalError: the ranks do not agree about the operation, or one of them is gone. The message says which.
    """
    return handle.wait()
