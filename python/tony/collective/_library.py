"""The C API of libtony_collective.so, which lies beside this file; tony/collective.h describes each function."""

import ctypes
import functools
import os

from .exceptions import HorovodInternalError, InvalidArgumentError

CODES = ("OK", "INVALID_ARGUMENT", "FAILED_PRECONDITION", "DEADLINE_EXCEEDED", "ABORTED", "RESOURCE_EXHAUSTED",
         "INTERNAL", "IN_PROGRESS")
OK, IN_PROGRESS = CODES.index("OK"), CODES.index("IN_PROGRESS")

# enum tony_collective_device
CPU, GPU = 0, 1

# enum tony_collective_type, by numpy's and PyTorch's names
TYPES = {name: code for code, name in enumerate(
    ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16", "float32",
     "float64", "bool"))}

Take = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
Put = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, Take,
                       ctypes.c_void_p)
Get = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64, Take, ctypes.c_void_p)


class Store(ctypes.Structure):
    """struct tony_collective_store"""

    _fields_ = [("user", ctypes.c_void_p), ("put", Put), ("get", Get)]


class Options(ctypes.Structure):
    """struct tony_collective_options"""

    _fields_ = [("struct_size", ctypes.c_size_t), ("rank", ctypes.c_int32), ("size", ctypes.c_int32),
                ("secret", ctypes.c_char_p), ("secret_size", ctypes.c_size_t), ("meet_timeout_ms", ctypes.c_int64),
                ("operation_timeout_ms", ctypes.c_int64), ("fusion_bytes", ctypes.c_int64),
                ("store", ctypes.POINTER(Store)), ("switch_points", ctypes.c_char_p),
                ("batching_window_us", ctypes.c_int64), ("scope", ctypes.c_char_p), ("wire_mac", ctypes.c_int32)]


class Autotune(ctypes.Structure):
    """struct tony_collective_autotune"""

    _fields_ = [("struct_size", ctypes.c_size_t), ("fusion", ctypes.c_int32), ("window", ctypes.c_int32),
                ("switch_points", ctypes.c_int32), ("warmup_samples", ctypes.c_int32),
                ("steps_per_sample", ctypes.c_int32), ("most_tries", ctypes.c_int32), ("log", ctypes.c_char_p)]


class Tensor(ctypes.Structure):
    """struct tony_collective_tensor"""

    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int32), ("dimensions", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("set", ctypes.c_uint32), ("device", ctypes.c_int32),
                ("ready", ctypes.c_void_p)]


class Reduction(ctypes.Structure):
    """struct tony_collective_reduction"""

    _fields_ = [("reduce", ctypes.c_int32), ("prescale", ctypes.c_double), ("postscale", ctypes.c_double)]


class Counters(ctypes.Structure):
    """struct tony_collective_counters"""

    _fields_ = [("struct_size", ctypes.c_size_t), ("tensors", 8 * ctypes.c_int64), ("bytes", 8 * ctypes.c_int64),
                ("operations", ctypes.c_int64), ("failed", ctypes.c_int64), ("by_number", ctypes.c_int64),
                ("by_request", ctypes.c_int64), ("negotiation_time", ctypes.c_int64), ("queue_time", ctypes.c_int64),
                ("operation_time", ctypes.c_int64), ("waited_for_time", ctypes.c_int64)]


_POINTER, _NUMBER, _HANDLE = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
_NUMBERS = ctypes.POINTER(ctypes.c_int64)
_SET = ctypes.c_uint32
_FUNCTIONS = {
    "init": (_NUMBER, [ctypes.POINTER(Options)]),
    "shutdown": (_NUMBER, []),
    "is_initialized": (_NUMBER, []),
    "last_error": (ctypes.c_char_p, []),
    "allreduce": (_HANDLE, [_POINTER, _POINTER, _POINTER, _POINTER]),
    "allgather": (_HANDLE, [_POINTER, _POINTER]),
    "broadcast": (_HANDLE, [_POINTER, _NUMBER, _POINTER]),
    "reducescatter": (_HANDLE, [_POINTER, _POINTER, _POINTER]),
    "alltoall": (_HANDLE, [_POINTER, _NUMBERS, _POINTER]),
    "barrier": (_HANDLE, [ctypes.c_char_p, _SET]),
    "grouped_allreduce": (_NUMBER, [ctypes.c_char_p, _NUMBER, _POINTER, _POINTER, _POINTER, _POINTER, _NUMBERS]),
    "grouped_allgather": (_NUMBER, [ctypes.c_char_p, _NUMBER, _POINTER, _POINTER, _NUMBERS]),
    "grouped_reducescatter": (_NUMBER, [ctypes.c_char_p, _NUMBER, _POINTER, _POINTER, _POINTER, _NUMBERS]),
    "add_process_set": (_HANDLE, [ctypes.c_char_p, ctypes.POINTER(ctypes.c_int), _NUMBER]),
    "remove_process_set": (_HANDLE, [ctypes.c_char_p, _SET]),
    "added_process_set": (_NUMBER, [_HANDLE]),
    "join": (_HANDLE, [_NUMBER]),
    "allocate": (_POINTER, [ctypes.c_size_t]),
    "free": (_NUMBER, [_POINTER]),
    "poll": (_NUMBER, [_HANDLE]),
    "wait": (_NUMBER, [_HANDLE, ctypes.c_int64]),
    "wait_stream": (_NUMBER, [_HANDLE, _POINTER, ctypes.c_int64]),
    "gpus": (_NUMBER, []),
    "nccl_version": (_NUMBER, []),
    "output_data": (_POINTER, [_HANDLE]),
    "output_shape": (_NUMBER, [_HANDLE, _NUMBERS, _NUMBER]),
    "output_splits": (_NUMBER, [_HANDLE, _NUMBERS, _NUMBER]),
    "last_joined": (_NUMBER, [_HANDLE]),
    "release": (_NUMBER, [_HANDLE]),
    "get_counters": (_NUMBER, [ctypes.POINTER(Counters)]),
    "get_waited_for": (_NUMBER, [_NUMBERS, _NUMBER]),
    "write_counters": (_NUMBER, [ctypes.c_char_p]),
    "start_timeline": (_NUMBER, [ctypes.c_char_p, _NUMBER]),
    "stop_timeline": (_NUMBER, []),
    "set_stall_times": (_NUMBER, [ctypes.c_int64, ctypes.c_int64]),
    "start_autotune": (_NUMBER, [ctypes.POINTER(Autotune)]),
    "wait_for_question": (ctypes.c_int64, [ctypes.c_int64]),
    "answer": (_NUMBER, [ctypes.c_int64, ctypes.c_char_p]),
}


class Library:
    """The library's functions by their names without ``tony_collective_``. They run without Python's lock."""

    def __init__(self, path):
        loaded = ctypes.CDLL(path)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(loaded, "tony_collective_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def check(self, result):
        """Returns ``result`` if it is not negative. HorovodInternalError: it is negative, which means a code times
        -1."""
        if result < 0:
            self.fail(-result)
        return result

    def fail(self, code):
        """Raises HorovodInternalError, or the derived class for the code, with the message of the call that has just
        returned ``code``."""
        message = self.last_error().decode("utf-8", "replace")
        if CODES[code] == "INVALID_ARGUMENT":
            raise InvalidArgumentError(message)
        raise HorovodInternalError(message, CODES[code])


@functools.lru_cache(maxsize=None)
def library():
    """The library of this process. ImportError: the file does not exist, or is for another kind of machine."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtony_collective.so")
    try:
        return Library(path)
    except OSError as error:
        raise ImportError(f"tony.collective cannot load its library: {error}. It is for Linux with glibc 2.28 or "
                          "newer, and is built with tony: see docs/collective.md") from error


def type_code(name):
    """The library's code for the type ``name``. ValueError: it does not know this type."""
    if name not in TYPES:
        raise ValueError(f"Tensor type {name} is not supported: cast it to one of {', '.join(TYPES)}")
    return TYPES[name]
