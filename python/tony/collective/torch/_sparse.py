"""Reductions of sparse tensors: their rows are gathered, and added up where they meet."""

import torch

from .._process_sets import global_process_set, set_id
from .._reduce_ops import Average, Sum
from ._differentiable import plain


class SparseHandle:
    """What sparse_allreduce_async() returns; also for ``poll()`` and ``synchronize()``."""

    def __init__(self, indices, values, shape, divisor):
        self._indices, self._values, self._shape, self._divisor = indices, values, shape, divisor

    def poll(self):
        """Whether ``wait()`` would return at once."""
        return self._indices.poll() and self._values.poll()

    def wait(self):
        """The result, each time. HorovodInternalError: the operation has failed."""
        values, indices = self._values.wait(), self._indices.wait()
        if self._divisor > 1:
            values = values / self._divisor
        return torch.sparse_coo_tensor(indices.t(), values, self._shape).coalesce()

    __call__ = wait


def sparse_allreduce_async(tensor, name, op, process_set=global_process_set):
    """Reduces sparse tensors (torch.sparse_coo), asynchronously.

    Arguments:
        tensor: of the same shape and type on all ranks, with as many sparse dimensions; how many of its elements are
            there may differ.
        name: by which the ranks' tensors belong together.
        op: Average or Sum.
        process_set: global_process_set.

    Returns: a handle for ``poll()`` and ``synchronize()``, which can also be called: both return a new tensor, sparse
    and coalesced.

    ValueError: another op; a dense tensor. HorovodInternalError: as of allreduce().
    """
    set_id(process_set)
    if op not in (Average, Sum):
        raise ValueError(f"op is {op!r}: of sparse tensors it is Average or Sum")
    if not tensor.is_sparse:
        raise ValueError("the tensor is dense: use allreduce_async()")
    own = tensor.detach().coalesce()
    # Rows are what is gathered: each element's place, and what is there.
    indices = plain.allgather_async(own.indices().t(), f"{name}.indices", process_set)
    values = plain.allgather_async(own.values(), f"{name}.values", process_set)
    return SparseHandle(indices, values, own.shape, process_set.size() if op is Average else 1)
