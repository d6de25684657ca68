"""PyTorch's tensors for Collectives: _arrays.py says what each function is for."""

import operator

import torch

from .. import _library
from . import _cuda

_TYPE_CODES = {getattr(torch, name): code for name, code in _library.TYPES.items() if hasattr(torch, name)}


def check_tensors(operation, tensors):
    """``tensors``. TypeError: one of them is none."""
    for tensor in tensors:
        # What is not a torch.Tensor but behaves as one is taken.
        if not isinstance(tensor, torch.Tensor) and not hasattr(tensor, "detach"):
            kind = type(tensor).__name__
            raise TypeError(f"{operation} takes a torch.Tensor, got {'an' if kind[0] in 'aeiou' else 'a'} {kind}")
    return tensors


class Tensors:
    """CPU tensors are reduced in place, and so are those of NVIDIA's GPUs if NCCL is there. Tensors of other devices go
    through the host's memory."""

    @staticmethod
    def tensor(value):  # pylint: disable=missing-function-docstring
        return value

    @staticmethod
    def host(value):  # pylint: disable=missing-function-docstring
        check_tensors("the operation", (value,))
        if value.layout != torch.strided:
            raise ValueError("a sparse tensor cannot be exchanged: use its to_dense(), or DistributedOptimizer's "
                             "sparse_as_dense")
        value = value.detach()
        if value.device.type != "cpu" and not _cuda.can_reduce(value):
            value = value.cpu()
        return value.contiguous()

    @staticmethod
    def in_host_memory(value):  # pylint: disable=missing-function-docstring
        return Tensors.host(value if value.device.type == "cpu" else value.detach().cpu())

    @staticmethod
    def check_writable(value):
        """Every tensor is writable."""

    @staticmethod
    def type_code(host):  # pylint: disable=missing-function-docstring
        code = _TYPE_CODES.get(host.dtype)
        return _library.type_code(str(host.dtype)) if code is None else code

    @staticmethod
    def gpu(host):  # pylint: disable=missing-function-docstring
        return None if host.device.type == "cpu" else _cuda.Submitted(host)

    @staticmethod
    def item_bytes(host):  # pylint: disable=missing-function-docstring
        return host.element_size()

    @staticmethod
    def pointer(host):  # pylint: disable=missing-function-docstring
        return host.data_ptr()

    @staticmethod
    def empty_like(host):  # pylint: disable=missing-function-docstring
        return torch.empty_like(host)

    @staticmethod
    def copy(value):  # pylint: disable=missing-function-docstring
        return value.detach().clone()

    @staticmethod
    def returned(original, host, in_place):  # pylint: disable=missing-function-docstring
        if not in_place:
            return host.to(original.device)
        if original.device != host.device or original.data_ptr() != host.data_ptr():
            with torch.no_grad():
                original.copy_(host)
        return original

    @staticmethod
    def made(output, host, original):  # pylint: disable=missing-function-docstring
        if output.buffer is None:
            return torch.empty(output.shape, dtype=host.dtype, device=original.device)
        if host.device.type != "cpu":
            return _cuda.wrap(output, host)
        return torch.frombuffer(output.buffer, dtype=host.dtype).reshape(output.shape).to(original.device)

    @staticmethod
    def integers(splits):  # pylint: disable=missing-function-docstring
        try:
            return [operator.index(rows) for rows in (splits.tolist() if isinstance(splits, torch.Tensor) else splits)]
        except TypeError as error:
            raise ValueError(f"splits are integers: {error}") from error

    @staticmethod
    def splits(numbers, original):  # pylint: disable=missing-function-docstring
        if isinstance(original, torch.Tensor):
            return torch.tensor(numbers, dtype=original.dtype, device=original.device)
        return torch.tensor(numbers, dtype=torch.int32)
