"""Grouped operations through which gradients flow; their gradients are those of Horovod 0.28."""

import torch

from .._collectives import Collectives
from .._process_sets import global_process_set, set_id
from .._reduce_ops import Average, Sum, choose
from .._surface import surface
from ..compression import Compression
from ._differentiable import grouped_allreduce, plain
from ._tensors import check_tensors


class _GroupedAllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, process_set, *tensors):
        ctx.rows, ctx.process_set = [tensor.shape[0] for tensor in tensors], process_set
        return tuple(plain.grouped_allgather(tensors, name, process_set))

    @staticmethod
    def backward(ctx, *gradients):
        reduced = grouped_allreduce(gradients, op=Average, process_set=ctx.process_set)
        all_rows = plain.allgather(torch.tensor([ctx.rows]), None, ctx.process_set)
        firsts = all_rows[:ctx.process_set.rank()].sum(dim=0).tolist()
        return (None, None, *(gradient.narrow(0, first, rows)
                              for gradient, first, rows in zip(reduced, firsts, ctx.rows)))


class _GroupedReduceScatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, op, process_set, scales, *tensors):
        ctx.process_set = process_set
        ctx.factor = scales[0] * scales[1] * (process_set.size() if op is Sum else 1)
        return tuple(plain.grouped_reducescatter_async(tensors, name, op, process_set, *scales).wait())

    @staticmethod
    def backward(ctx, *gradients):
        scaled = [gradient * ctx.factor for gradient in gradients]
        return (None, None, None, None, *grouped_allgather(scaled, None, ctx.process_set))


def _follows(tensors):
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


@surface
def grouped_allgather(tensors, name=None,
                      process_set=global_process_set):  # pylint: disable=missing-function-docstring
    set_id(process_set)
    tensors = check_tensors("grouped_allgather", list(tensors))
    if not _follows(tensors):
        return plain.grouped_allgather(tensors, name, process_set)
    return list(_GroupedAllGather.apply(name, process_set, *tensors))


@surface
def grouped_reducescatter(tensors, name=None, compression=Compression.none, op=Average,
                          process_set=global_process_set, prescale_factor=1.0,
                          postscale_factor=1.0):  # pylint: disable=missing-function-docstring
    set_id(process_set)
    tensors = check_tensors("grouped_reducescatter", list(tensors))
    if not _follows(tensors):
        return plain.grouped_reducescatter(tensors, name, compression, op, process_set, prescale_factor,
                                           postscale_factor)
    sent, contexts = zip(*[compression.compress(tensor) for tensor in tensors])
    results = _GroupedReduceScatter.apply(name, choose(op), process_set, (prescale_factor, postscale_factor), *sent)
    return [compression.decompress(result, context) for result, context in zip(results, contexts)]


for _function in (grouped_allgather, grouped_reducescatter):
    _function.__doc__ = getattr(Collectives, _function.__name__).__doc__ + (
        "\n\n        Gradients flow through it.\n        ")
