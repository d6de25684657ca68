"""Tensors of NVIDIA's GPUs, which the library reduces where they lie."""

import ctypes
import functools
import warnings

import torch

from .. import _meeting
from .._library import library

# NCCL has none of these.
_NOT_ON_GPUS = {getattr(torch, name) for name in ("int16", "uint16") if hasattr(torch, name)}


@functools.lru_cache(maxsize=None)
def _available():
    """Whether there is what it takes; if not, a warning says why, once. The ranks have to find the same."""
    if _meeting.gpus_through_host(_meeting.environment()):
        return False
    lib = library()
    if lib.gpus() >= 0 and lib.nccl_version() >= 0:
        return True
    warnings.warn("tensors of GPUs are reduced through the host's memory, which is slow: "
                  + lib.last_error().decode("utf-8", "replace"), RuntimeWarning, stacklevel=2)
    return False


def can_reduce(tensor):
    """Whether the library takes it as it is."""
    return tensor.device.type == "cuda" and tensor.dtype not in _NOT_ON_GPUS and _available()


class Submitted:
    """What goes with a tensor that is submitted now.

    All that the current stream has been given before, such as what computes the tensor or still uses the memory of the
    result, comes first.
    """

    __slots__ = ("_device", "_event", "ready")

    def __init__(self, tensor):
        self._device = tensor.device
        self._event = torch.cuda.Event()
        self._event.record(torch.cuda.current_stream(self._device))
        self.ready = self._event.cuda_event

    def stream(self):
        """The address of the stream that the caller's next operations are on."""
        return torch.cuda.current_stream(self._device).cuda_stream


class _Memory:
    """Memory of a GPU, by the protocol for it. It lives as long as ``buffer``."""

    def __init__(self, buffer):
        self._buffer = buffer
        self.__cuda_array_interface__ = {"shape": (ctypes.sizeof(buffer),), "typestr": "|u1", "strides": None,
                                         "data": (ctypes.addressof(buffer), False), "version": 3}


def wrap(output, like):
    """A tensor of an Output that is not empty, without a copy, of the type and on the GPU of ``like``.

    The memory is the library's: PyTorch's allocator is not asked from other threads, nor has to wait for it. When the
    last that refers to it goes, the library frees it, for which CUDA waits until all streams have done what they have.
    """
    as_bytes = torch.as_tensor(_Memory(output.buffer), device=like.device)
    return as_bytes.view(like.dtype).reshape(output.shape)
