"""Reductions of sparse tensors: all ranks' rows are gathered, and rows with the same index are added up."""

import torch

from .._process_sets import global_process_set, set_id
from .._reduce_ops import Average, Sum
from ._differentiable import plain


class SparseHandle:
    """The handle of sparse_allreduce_async(), also for ``poll()`` and ``synchronize()``."""

    def __init__(self, indices, values, shape, divisor):
        self._indices, self._values, self._shape, self._divisor = indices, values, shape, divisor

    def poll(self):
        """Whether ``wait()`` would return at once."""
        return self._indices.poll() and self._values.poll()

    def wait(self):
        """The result, on each call. HorovodInternalError: the operation has failed."""
        values, indices = self._values.wait(), self._indices.wait()
        if self._divisor > 1:
            values = values / self._divisor
        return torch.sparse_coo_tensor(indices.t(), values, self._shape).coalesce()

    __call__ = wait


def sparse_allreduce_async(tensor, name, op, process_set=global_process_set):
    """Reduces sparse tensors (torch.sparse_coo), asynchronously.

    Arguments:
        tensor: has the same shape, type and number of sparse dimensions on all ranks; the number of its elements may
            differ.
        name: tensors with the same name belong together.
        op: Average or Sum.
        process_set: global_process_set.

    Returns: a handle for ``poll()`` and ``synchronize()``, which can also be called: both return a new tensor, sparse
    and coalesced.

    ValueError: another op; a dense tensor. HorovodInternalError: as for allreduce().
    """
    set_id(process_set)
    if op not in (Average, Sum):
        raise ValueError(f"op is {op!r}: of sparse tensors it is Average or Sum")
    if not tensor.is_sparse:
        raise ValueError("the tensor is dense: use allreduce_async()")
    own = tensor.detach().coalesce()
    # Gathered rows: the index of each element, and its value.
    indices = plain.allgather_async(own.indices().t(), f"{name}.indices", process_set)
    values = plain.allgather_async(own.values(), f"{name}.values", process_set)
    return SparseHandle(indices, values, own.shape, process_set.size() if op is Average else 1)
