"""Memory that the ranks of a host share, for tensors that are reduced in place."""

import ctypes
import math
import operator
import weakref

from . import _process
from ._library import library


def allocate(shape, item_bytes):
    """An uninitialized ctypes array of at least one byte. It is freed with the last object that refers to it."""
    _process.size()
    size = max(1, math.prod(shape) * item_bytes)
    lib = library()
    address = lib.allocate(size)
    if not address:
        raise MemoryError(lib.last_error().decode("utf-8", "replace"))
    buffer = (ctypes.c_char * size).from_address(address)
    # At the end of the process the memory is freed anyway.
    weakref.finalize(buffer, lib.free, address).atexit = False
    return buffer


def shape_of(shape):
    """``shape`` as a tuple of lengths. TypeError, ValueError: it is invalid."""
    try:
        lengths = (operator.index(shape),)
    except TypeError:
        lengths = tuple(operator.index(length) for length in shape)
    if any(length < 0 for length in lengths):
        raise ValueError(f"a shape has no negative lengths: {lengths}")
    return lengths
