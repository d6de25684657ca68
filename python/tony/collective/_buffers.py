"""Memory that the ranks of a host share, for tensors that are reduced where they lie."""

import ctypes
import math
import operator
import weakref

from . import _process
from ._library import library


def allocate(shape, item_bytes):
    """A ctypes array, which is freed with the last that refers to it; at least one byte, not filled."""
    _process.size()
    size = max(1, math.prod(shape) * item_bytes)
    lib = library()
    address = lib.allocate(size)
    if not address:
        raise MemoryError(lib.last_error().decode("utf-8", "replace"))
    buffer = (ctypes.c_char * size).from_address(address)
    # At the process's end the memory goes anyway.
    weakref.finalize(buffer, lib.free, address).atexit = False
    return buffer


def shape_of(shape):
    """``shape`` as a tuple of lengths. TypeError, ValueError: it is none."""
    try:
        lengths = (operator.index(shape),)
    except TypeError:
        lengths = tuple(operator.index(length) for length in shape)
    if any(length < 0 for length in lengths):
        raise ValueError(f"a shape has no negative lengths: {lengths}")
    return lengths
