"""broadcast_object() and allgather_object(): Python objects are pickled and sent as bytes. The package cloudpickle, if
it is installed, pickles what pickle cannot.

Unpickling bytes runs code that these bytes choose. So if the job has a key, each pickle carries an HMAC under that key,
which is checked before the pickle is read. Ranks without a key need no HMAC: they are on one host and exchange data
through memory that only processes of their own user can reach.
"""

import ctypes
import hashlib
import hmac
import pickle
import struct

from . import _process
from ._collectives import Collectives
from ._library import TYPES
from ._process_sets import global_process_set, set_id
from ._submission import full_name
from ._surface import surface
from .exceptions import HorovodInternalError, InvalidArgumentError

# The header: the length of a rank's bytes, and their HMAC. If a rank could not pickle its object, the length is
# ~length, which is negative, and the bytes give the reason.
_HEAD = struct.Struct("<q32s")
_LONGEST_REASON = 4000


class _Bytes:
    """A tensor of bytes."""

    def __init__(self, content):
        """``content``: bytes, or their number."""
        self.memory = (ctypes.c_char * (content if isinstance(content, int) else len(content)))()
        if not isinstance(content, int):
            ctypes.memmove(self.memory, content, len(content))
        self.shape = (len(self.memory),)


class _Memory:
    """The functions that Collectives calls for a _Bytes; class Arrays in _arrays.py describes each."""

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
    """Returns (length, bytes, None): the pickle of ``obj`` and the length for the header. If ``obj`` cannot be pickled:
    (~length, the reason as bytes, the error)."""
    try:
        content = pickle.dumps(obj, pickle.HIGHEST_PROTOCOL)
        return len(content), content, None
    except Exception as error:  # pylint: disable=broad-except  # an object's own code may raise any exception
        failed = error
    remedy = ""
    try:
        import cloudpickle  # pylint: disable=import-outside-toplevel  # few objects need it
        content = cloudpickle.dumps(obj, pickle.HIGHEST_PROTOCOL)
        return len(content), content, None
    except ImportError:
        if isinstance(failed, (pickle.PicklingError, AttributeError, TypeError)):
            remedy = " (functions and classes outside of modules can be pickled if cloudpickle is installed)"
    except Exception as error:  # pylint: disable=broad-except
        failed = error
    reason = f"rank {_process.rank()} cannot pickle its object: {type(failed).__name__}: {failed}"
    content = reason[:_LONGEST_REASON].encode("utf-8", "replace") + remedy.encode()
    return ~len(content), content, failed


def _head(name, rank, length, content):
    """The header before a rank's bytes."""
    return _HEAD.pack(length, _digest(name, rank, length, content))


def _digest(name, rank, length, content):
    """The HMAC of the bytes that a rank sends in the operation ``name``. It also covers rank, length and name, so that
    nobody can pass off one message as another. Without a key: zeros, because all ranks are on one host."""
    key = _process.current.object_key
    if not key:
        return bytes(_HEAD.size - 8)
    digest = hmac.new(key, f"{rank} {length} {len(name.encode())} {name}".encode(), hashlib.sha256)
    digest.update(content)
    return digest.digest()


def _unpickled(content):
    try:
        return pickle.loads(content)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "cloudpickle":
            raise
        raise ModuleNotFoundError("another rank's object was pickled with cloudpickle, which is not installed here",
                                  name=error.name) from error


def _check(head, name, rank, content, failed):
    """Checks what rank ``rank`` has sent. ``failed``: this rank's own error in pickling, as the cause of an exception.

    HorovodInternalError: ``head`` or ``content`` is not what that rank has sent. InvalidArgumentError: that rank could
    not pickle its object, and ``content`` says why.
    """
    length, digest = head
    if not hmac.compare_digest(digest, _digest(name, rank, length, content)):
        raise HorovodInternalError(
            f"the object that came from rank {rank} ({name}) is not what it has sent: somebody on the network between "
            "the ranks changes data (TONY_COLLECTIVE_WIRE_MAC=1 has all of it checked)", "ABORTED")
    if length < 0:
        raise InvalidArgumentError(bytes(content).decode("utf-8", "replace")) from failed


@surface
def broadcast_object(obj, root_rank=0, name=None, process_set=global_process_set):
    """Gives all ranks the object of rank ``root_rank``, by pickling it.

    Arguments:
        obj: the object; ignored on the other ranks.
        root_rank: the rank whose object is sent.
        name: calls with the same name belong together.
        process_set: the participating ranks, which include the root.

    Returns: the object; on rank ``root_rank`` ``obj`` itself.

    HorovodInternalError: as for allreduce(), or the object is not what that rank has sent. InvalidArgumentError, on all
    ranks: the object cannot be pickled.
    ModuleNotFoundError: the object needs a module that is missing here.
    """
    name = full_name("object", name, set_id(process_set))
    is_root = _process.rank() == root_rank
    length, content, failed = _pickled(obj) if is_root else (0, b"", None)
    # All ranks need the length before they can receive the bytes. The check comes after both operations: a rank that
    # failed between them would leave the others waiting in the second.
    own_head = _Bytes(_head(name, root_rank, length, content) if is_root else _HEAD.size)
    head = _HEAD.unpack(_memory.broadcast_(own_head, root_rank, name + ".size", process_set))
    received = _memory.broadcast_(_Bytes(content if is_root else max(head[0], ~head[0])), root_rank, name, process_set)
    _check(head, name, root_rank, received, failed)
    return obj if is_root else _unpickled(received)


@surface
def allgather_object(obj, name=None, process_set=global_process_set):
    """Gives all ranks the objects of all ranks, by pickling them.

    Returns: a list in the order of the ranks. Errors: as for broadcast_object().
    """
    name = full_name("object", name, set_id(process_set))
    length, content, failed = _pickled(obj)
    heads = _memory.allgather(_Bytes(_head(name, _process.rank(), length, content)), name + ".size", process_set)
    everything = memoryview(_memory.allgather(_Bytes(content), name, process_set))
    parts, at = [], 0
    for rank, head in zip(process_set.ranks, _HEAD.iter_unpack(heads)):
        part = everything[at:at + max(head[0], ~head[0])]
        _check(head, name, rank, part, failed)
        parts.append(part)
        at += len(part)
    return [_unpickled(part) for part in parts]
