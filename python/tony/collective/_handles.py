"""Handles of operations in progress, and their results."""

import ctypes
import itertools
import math
import threading
import weakref

from . import _library
from ._library import library
from ._surface import surface
from .exceptions import HorovodInternalError

# After so many milliseconds, a wait lets Python check for signals (Ctrl-C).
_LOOK_MS = 200

# Handles that nobody has waited for. They keep alive the memory that their operations read and write.
_in_flight = set()


class Handle:
    """One operation, or a group of them; for ``poll()`` and ``synchronize()``."""

    __slots__ = ("numbers", "_finish", "_keeps", "_gpus", "_result", "_waiting")

    def __init__(self, finish, keeps=False, gpus=None):
        """``finish``: makes the result; called with ``numbers`` once all operations have succeeded. It holds all memory
        that they use. ``keeps``: ``finish`` releases the operations itself, later. ``gpus``: the framework's gpu() for
        each tensor; for GPU tensors the stream waits instead of this thread."""
        self.numbers = ()  # the library's numbers of the operations in progress
        self._finish = finish
        self._keeps = keeps
        self._gpus = gpus
        self._result = None
        self._waiting = threading.RLock()  # held by one waiting thread at a time
        _in_flight.add(self)

    def forget(self):
        """Called when the library has refused the operation."""
        self.numbers, self._finish, self._gpus = (), None, None
        _in_flight.discard(self)

    def poll(self):
        """Whether ``wait()`` would return at once."""
        lib = library()
        return all(lib.check(lib.poll(number)) for number in self.numbers)

    def wait(self):
        """The result, on each call. HorovodInternalError: the operation has failed; later calls return None."""
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
        # All operations are done, so only the user touches the memory from now on. On a GPU, the user's stream orders
        # its later work after them.
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
    """Drops all handles that nobody has waited for. Only after shutdown(), when all operations are done or have
    failed."""
    for handle in list(_in_flight):
        try:
            handle.wait()
        except HorovodInternalError:
            pass


class Output:
    """The new tensor of a successful operation; it is released with its memory.

    ``buffer``: has ``item_bytes`` for each element. The memory lives as long as the buffer and everything that refers
    to it. None: the tensor is empty. ``shape``. ``splits``: for alltoall.
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
        # At the end of the process the memory is freed anyway.
        weakref.finalize(self.buffer, lib.release, number).atexit = False


def _numbers_of(function, number):
    """The numbers that the library writes into an array."""
    count = library().check(function(number, None, 0))
    numbers = (ctypes.c_int64 * count)()
    function(number, numbers, count)
    return tuple(numbers)


def poll(handle):
    """Whether an asynchronous operation is done, so ``synchronize()`` would return at once."""
    return handle.poll()


@surface
def synchronize(handle):
    """Waits for an asynchronous operation.

    Returns: the result of the function without ``_async``; for a grouped operation a list.

    HorovodInternalError: the ranks do not agree on the operation, or a rank is gone. The message says which one.
    """
    return handle.wait()
