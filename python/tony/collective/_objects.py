"""Python's objects among ranks: pickled, as bytes. The package cloudpickle takes what pickle does not, where it is."""

import ctypes
import pickle
import struct

from . import _process
from ._collectives import Collectives
from ._library import TYPES
from ._process_sets import global_process_set, set_id
from ._submission import full_name
from .exceptions import InvalidArgumentError

# Of a rank's bytes; ~length, which is negative, where these say why it could not pickle its object.
_LENGTH = struct.Struct("<q")
_LONGEST_REASON = 4000


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


def _pickled(obj):
    """(length as all ranks get it, bytes, None), and instead of None the error where ``obj`` cannot be pickled."""
    try:
        content = pickle.dumps(obj, pickle.HIGHEST_PROTOCOL)
        return len(content), content, None
    except Exception as error:  # pylint: disable=broad-except  # an object's own code may raise anything
        failed = error
    remedy = ""
    try:
        import cloudpickle  # pylint: disable=import-outside-toplevel  # few need it
        content = cloudpickle.dumps(obj, pickle.HIGHEST_PROTOCOL)
        return len(content), content, None
    except ImportError:
        if isinstance(failed, (pickle.PicklingError, AttributeError, TypeError)):
            remedy = " (functions and classes that no module has can be pickled where cloudpickle is installed)"
    except Exception as error:  # pylint: disable=broad-except
        failed = error
    reason = f"rank {_process.rank()} cannot pickle its object: {type(failed).__name__}: {failed}"
    content = reason[:_LONGEST_REASON].encode("utf-8", "replace") + remedy.encode()
    return ~len(content), content, failed


def _unpickled(content):
    try:
        return pickle.loads(content)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "cloudpickle":
            raise
        raise ModuleNotFoundError("another rank's object was pickled with cloudpickle, which is not installed here",
                                  name=error.name) from error


def _check(length, content, failed):
    """InvalidArgumentError: ``content`` says why a rank could not pickle its object; ``failed``: this rank's error."""
    if length < 0:
        raise InvalidArgumentError(bytes(content).decode("utf-8", "replace")) from failed


def broadcast_object(obj, root_rank=0, name=None, process_set=global_process_set):
    """Gives all ranks the object of rank ``root_rank``, which is pickled.

    Arguments:
        obj: what can be pickled; of the other ranks it is not looked at.
        root_rank: whose object it is.
        name: by which the ranks' calls belong together.
        process_set: whose ranks take part, the root among them.

    Returns: the object; at rank ``root_rank`` ``obj`` itself.

    HorovodInternalError: as of allreduce(). InvalidArgumentError, at all ranks: it cannot be pickled.
    ModuleNotFoundError: what is in it is of a module that is not here.
    """
    name = full_name("object", name, set_id(process_set))
    is_root = _process.rank() == root_rank
    length, content, failed = _pickled(obj) if is_root else (0, b"", None)
    (length,) = _LENGTH.unpack(_memory.broadcast_(_Bytes(_LENGTH.pack(length)), root_rank, name + ".size",
                                                  process_set))
    received = _memory.broadcast_(_Bytes(content if is_root else max(length, ~length)), root_rank, name, process_set)
    _check(length, received, failed)
    return obj if is_root else _unpickled(received)


def allgather_object(obj, name=None, process_set=global_process_set):
    """Gives all ranks the objects of all ranks, which are pickled.

    Returns: a list, by rank. Errors: as of broadcast_object().
    """
    name = full_name("object", name, set_id(process_set))
    length, content, failed = _pickled(obj)
    lengths = _memory.allgather(_Bytes(_LENGTH.pack(length)), name + ".size", process_set)
    everything = memoryview(_memory.allgather(_Bytes(content), name, process_set))
    parts, at = [], 0
    for (length,) in _LENGTH.iter_unpack(lengths):
        part = everything[at:at + max(length, ~length)]
        _check(length, part, failed)
        parts.append(part)
        at += len(part)
    return [_unpickled(part) for part in parts]
