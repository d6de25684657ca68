"""numpy's arrays, and whatever else has Python's buffer protocol or is exchanged by DLPack, as tensors."""

import functools
import math
import operator

import numpy

from . import _buffers, _library


def bfloat16():
    """numpy's type of this name, which the package ml_dtypes defines. ImportError: it is not installed."""
    try:
        from ml_dtypes import bfloat16 as found
    except ImportError as error:
        raise ImportError("numpy has no bfloat16 by itself: install the package ml_dtypes") from error
    return numpy.dtype(found)


def empty(shape, dtype=numpy.float64):
    """A new array, not filled, in memory that the ranks of a host share: as numpy.empty() otherwise.

    An allreduce of arrays that all ranks have got so needs no copy, whether in place or from one to another; that of a
    few kilobytes takes half the time, that of megabytes down to a fifth. A child that the process forks does not get a
    copy of such an array, but the array.

    NotInitializedError: before ``init()``. MemoryError.
    """
    shape, dtype = _buffers.shape_of(shape), numpy.dtype(dtype)
    count = math.prod(shape)
    return numpy.frombuffer(_buffers.allocate(shape, dtype.itemsize), dtype=dtype, count=count).reshape(shape)


class Arrays:
    """What Collectives has to know of a framework.

    A host tensor is contiguous and in memory that the library reads and writes: the host's or, of frameworks that have
    such, a GPU's. ``original`` is what the user has passed. Those frameworks have two functions more:

    ``gpu(host)``: None, or what goes with a tensor of a GPU that is submitted now: an object with ``ready``, the
    address of an event, and ``stream()``, the address of the stream that waits for results.
    ``in_host_memory(value)``: like ``host(value)``, and never a GPU's.
    """

    @staticmethod
    def tensor(value):
        """What the user has passed, with the framework's attributes."""
        return _array(value)

    @staticmethod
    def host(value):
        """A host tensor: the same memory where that is one, else a copy."""
        return numpy.asarray(_array(value), order="C")

    @staticmethod
    def check_writable(value):
        """ValueError: it cannot be changed in place."""
        if isinstance(value, numpy.ndarray) or _is_dlpack(value):
            if _array(value).flags.writeable:  # of DLPack's from numpy 2.1 on, which asks whether it may
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
        """The library's. ValueError: it has none."""
        return _type_code(host.dtype)

    @staticmethod
    def item_bytes(host):
        """Of one element."""
        return host.itemsize

    @staticmethod
    def pointer(host):
        """Its address."""
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
        """What the user gets of ``host``: ``original``, with its values, or something new like it."""
        if not in_place:
            return host
        target = _array(original)
        if Arrays.pointer(target) != Arrays.pointer(host) or target.strides != host.strides:
            target[...] = host
        return original

    @staticmethod
    def made(output, host, original):  # pylint: disable=unused-argument
        """A tensor of an Output, of the same type as ``host`` and in the same place as ``original``."""
        if output.buffer is None:
            return numpy.empty(output.shape, host.dtype)
        return numpy.frombuffer(output.buffer, dtype=host.dtype).reshape(output.shape)

    @staticmethod
    def integers(splits):
        """As a list. ValueError: they are none."""
        try:
            return [operator.index(rows) for rows in splits]
        except TypeError as error:
            raise ValueError(f"splits are integers: {error}") from error

    @staticmethod
    def splits(numbers, original):  # pylint: disable=unused-argument
        """A tensor of numbers, like the splits that the user has passed."""
        return numpy.array(numbers, dtype=numpy.int32)


def _is_dlpack(value):
    """Whether DLPack is the way to the memory of ``value``: it is no array, but says that it can be exchanged so."""
    return hasattr(value, "__dlpack__") and not hasattr(value, "__array__")


def _array(value):
    """An array of the same memory, where numpy can have one, else of a copy."""
    return numpy.from_dlpack(value) if _is_dlpack(value) else numpy.asarray(value)


@functools.lru_cache(maxsize=None)
def _type_code(dtype):
    return _library.type_code(dtype.name if dtype.isnative else str(dtype))
