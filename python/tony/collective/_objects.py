"""Python's objects among ranks: pickled, as bytes."""

import ctypes
import pickle
import struct

from . import _process
from ._collectives import Collectives
from ._library import TYPES
from ._process_sets import global_process_set, set_id
from ._submission import full_name

_LENGTH = struct.Struct("<q")


class _Bytes:
    """A tensor of bytes."""

    def __init__(self, content):
        """``content``: bytes, or a number of them."""
        self.memory = (ctypes.c_char * (content if isinstance(content, int) else len(content)))()
        if not isinstance(content, int):
            ctypes.memmove(self.memory, content, len(content))
        self.shape = (len(self.memory),)


class _Memory:
    """What Collectives has to know of them: see _arrays.py."""

    @staticmethod
    def host(value):  # pylint: disable=missing-function-docstring
        return value

    @staticmethod
    def check_writable(value):  # pylint: disable=missing-function-docstring
        pass

    @staticmethod
    def type_code(host):  # pylint: disable=missing-function-docstring,unused-argument
        return TYPES["uint8"]

    @staticmethod
    def item_bytes(host):  # pylint: disable=missing-function-docstring,unused-argument
        return 1

    @staticmethod
    def pointer(host):  # pylint: disable=missing-function-docstring
        return ctypes.addressof(host.memory)

    @staticmethod
    def returned(original, host, in_place):  # pylint: disable=missing-function-docstring,unused-argument
        return host.memory.raw

    @staticmethod
    def made(output, host, original):  # pylint: disable=missing-function-docstring,unused-argument
        return b"" if output.buffer is None else output.buffer.raw


_memory = Collectives(_Memory)


def broadcast_object(obj, root_rank=0, name=None, process_set=global_process_set):
    """Gives all ranks the object of rank ``root_rank``, which is pickled.

    Arguments:
        obj: what can be pickled; of the other ranks it is not looked at.
        root_rank: whose object it is.
        name: by which the ranks' calls belong together.
        process_set: whose ranks take part, the root among them.

    Returns: the object; at rank ``root_rank`` ``obj`` itself.

    HorovodInternalError: as of allreduce().
    """
    name = full_name("object", name, set_id(process_set))
    is_root = _process.rank() == root_rank
    content = pickle.dumps(obj, pickle.HIGHEST_PROTOCOL) if is_root else b""
    length = _memory.broadcast_(_Bytes(_LENGTH.pack(len(content))), root_rank, name + ".size", process_set)
    received = _memory.broadcast_(_Bytes(content if is_root else _LENGTH.unpack(length)[0]), root_rank, name,
                                  process_set)
    return obj if is_root else pickle.loads(received)


def allgather_object(obj, name=None, process_set=global_process_set):
    """Gives all ranks the objects of all ranks, which are pickled.

    Returns: a list, by rank. HorovodInternalError: as of allreduce().
    """
    name = full_name("object", name, set_id(process_set))
    content = pickle.dumps(obj, pickle.HIGHEST_PROTOCOL)
    lengths = _memory.allgather(_Bytes(_LENGTH.pack(len(content))), name + ".size", process_set)
    everything = memoryview(_memory.allgather(_Bytes(content), name, process_set))
    objects, at = [], 0
    for (length,) in _LENGTH.iter_unpack(lengths):
        objects.append(pickle.loads(everything[at:at + length]))
        at += length
    return objects
