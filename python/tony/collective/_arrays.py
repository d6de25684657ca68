"""numpy's arrays, and other objects with Python's buffer protocol or DLPack, as tensors."""

import functools
import math
import operator

import numpy

from . import _buffers, _library


def bfloat16():
    """numpy's type of this name, which the package ml_dtypes defines. ImportError: that package is not installed."""
    try:
        from ml_dtypes import bfloat16 as found
    except ImportError as error:
        raise ImportError("numpy has no bfloat16 by itself: install the package ml_dtypes") from error
    return numpy.dtype(found)


def empty(shape, dtype=numpy.float64):
    """A new uninitialized array, like numpy.empty(), in memory that the ranks of a host share.

    If all ranks pass such arrays to an allreduce, it needs no copy, in place or not. An allreduce of a few kilobytes
    then takes half the time, and one of megabytes down to a fifth. A forked child shares such an array instead of
    getting a copy.

    NotInitializedError: before ``init()``. MemoryError.
    """
    shape, dtype = _buffers.shape_of(shape), numpy.dtype(dtype)
    count = math.prod(shape)
    return numpy.frombuffer(_buffers.allocate(shape, dtype.itemsize), dtype=dtype, count=count).reshape(shape)


class Arrays:
    """What Collectives needs from a framework.

    A host tensor is contiguous and lies in memory that the library reads and writes: the host's or, with some
    frameworks, a GPU's. ``original`` is the user's argument. Frameworks with GPU tensors have two more functions:

    ``gpu(host)``: None, or the state of a GPU tensor that is submitted now: an object with ``ready``, the address of an
    event, and ``stream()``, the address of the stream that waits for results.
    ``in_host_memory(value)``: like ``host(value)``, but never in a GPU's memory.
    """

    @staticmethod
    def tensor(value):
        """The user's argument as an object with the framework's attributes."""
        return _array(value)

    @staticmethod
    def host(value):
        """A host tensor: the same memory if that is one, otherwise a copy."""
        return numpy.asarray(_array(value), order="C")

    @staticmethod
    def check_writable(value):
        """ValueError: ``value`` cannot be changed in place."""
        if isinstance(value, numpy.ndarray) or _is_dlpack(value):
            if _array(value).flags.writeable:  # for DLPack only from numpy 2.1 on, which asks for writable memory
                return
        else:
            try:
                if not memoryview(value).readonly:
                    return
            except TypeError:
                pass
        raise ValueError(f"{type(value).__name__} cannot be changed in place: pass a writable array, or use the "
                         "function without '_' at its end")

    @staticmethod
    def type_code(host):
        """The library's code for the element type. ValueError: it has none."""
        return _type_code(host.dtype)

    @staticmethod
    def item_bytes(host):
        """The size of one element in bytes."""
        return host.itemsize

    @staticmethod
    def pointer(host):
        """The tensor's address."""
        return host.__array_interface__["data"][0]

    @staticmethod
    def empty_like(host):
        """A new host tensor of the same shape and type."""
        return numpy.empty(host.shape, host.dtype)

    @staticmethod
    def copy(value):
        """A new tensor with the same values."""
        return numpy.array(_array(value))

    @staticmethod
    def returned(original, host, in_place):
        """The user's result, from ``host``: ``original`` with its values, or a new object of the same kind."""
        if not in_place:
            return host
        target = _array(original)
        if Arrays.pointer(target) != Arrays.pointer(host) or target.strides != host.strides:
            target[...] = host
        return original

    @staticmethod
    def made(output, host, original):  # pylint: disable=unused-argument
        """A tensor of an Output, with the type of ``host`` and on the device of ``original``."""
        if output.buffer is None:
            return numpy.empty(output.shape, host.dtype)
        return numpy.frombuffer(output.buffer, dtype=host.dtype).reshape(output.shape)

    @staticmethod
    def integers(splits):
        """``splits`` as a list of integers. ValueError: they are not integers."""
        try:
            return [operator.index(rows) for rows in splits]
        except TypeError as error:
            raise ValueError(f"splits are integers: {error}") from error

    @staticmethod
    def splits(numbers, original):  # pylint: disable=unused-argument
        """A tensor of ``numbers``, of the same kind as the splits that the user has passed."""
        return numpy.array(numbers, dtype=numpy.int32)


def _is_dlpack(value):
    """Whether ``value`` is accessible through DLPack only: it is no array, but supports DLPack."""
    return hasattr(value, "__dlpack__") and not hasattr(value, "__array__")


def _array(value):
    """An array of the same memory if numpy can make one, otherwise of a copy."""
    return numpy.from_dlpack(value) if _is_dlpack(value) else numpy.asarray(value)


@functools.lru_cache(maxsize=None)
def _type_code(dtype):
    return _library.type_code(dtype.name if dtype.isnative else str(dtype))
