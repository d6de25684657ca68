"""Tensors of NVIDIA's GPUs, which the library reduces in place."""

import ctypes
import functools
import warnings

import torch

from .. import _meeting
from .._library import library

# types that NCCL does not have
_NOT_ON_GPUS = {getattr(torch, name) for name in ("int16", "uint16") if hasattr(torch, name)}


@functools.lru_cache(maxsize=None)
def _available():
    """Whether this process can reduce on GPUs; if not, it warns once with the reason. All ranks have to get the same
    answer."""
    if _meeting.gpus_through_host(_meeting.environment()):
        return False
    lib = library()
    if lib.gpus() >= 0 and lib.nccl_version() >= 0:
        return True
    warnings.warn("tensors of GPUs are reduced through the host's memory, which is slow: "
                  + lib.last_error().decode("utf-8", "replace"), RuntimeWarning, stacklevel=2)
    return False


def can_reduce(tensor):
    """Whether the library takes ``tensor`` as it is."""
    return tensor.device.type == "cuda" and tensor.dtype not in _NOT_ON_GPUS and _available()


class Submitted:
    """The state of a GPU tensor that is submitted now.

    The operation waits for the earlier work of the current stream, which may compute the tensor or still use the memory
    of the result.
    """

    __slots__ = ("_device", "_event", "ready")

    def __init__(self, tensor):
        self._device = tensor.device
        self._event = torch.cuda.Event()
        self._event.record(torch.cuda.current_stream(self._device))
        self.ready = self._event.cuda_event

    def stream(self):
        """The address of the stream for the caller's next operations."""
        return torch.cuda.current_stream(self._device).cuda_stream


class _Memory:
    """GPU memory in the form of __cuda_array_interface__. It lives as long as ``buffer``."""

    def __init__(self, buffer):
        self._buffer = buffer
        self.__cuda_array_interface__ = {"shape": (ctypes.sizeof(buffer),), "typestr": "|u1", "strides": None,
                                         "data": (ctypes.addressof(buffer), False), "version": 3}


def wrap(output, like):
    """A tensor of a non-empty Output, without a copy, with the type and on the GPU of ``like``.

    The memory is the library's, because PyTorch's allocator should not be called from other threads, nor wait for them.
    The library frees it with the last object that refers to it; for that, CUDA waits for the earlier work of all
    streams.
    """
    as_bytes = torch.as_tensor(_Memory(output.buffer), device=like.device)
    return as_bytes.view(like.dtype).reshape(output.shape)
