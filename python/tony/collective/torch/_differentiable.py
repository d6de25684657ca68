"""The operations through which gradients flow; their gradients are those of Horovod 0.28. These operations compute the
gradients themselves, so second derivatives flow, too (``create_graph``)."""

import torch

from .. import _process
from .._collectives import Collectives
from .._process_sets import global_process_set, set_id
from .._reduce_ops import Average, Sum, choose
from .._surface import surface
from ..compression import Compression
from ._tensors import Tensors, check_tensors

plain = Collectives(Tensors)


class _AllReduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, arguments, tensor):
        ctx.arguments = arguments
        return plain.allreduce_async(tensor, None, name, *arguments).wait()

    @staticmethod
    def backward(ctx, gradient):
        return None, None, allreduce(gradient, None, None, Compression.none, *ctx.arguments)


class _GroupedAllReduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, arguments, *tensors):
        ctx.arguments = arguments
        return tuple(plain.grouped_allreduce_async(tensors, None, name, *arguments).wait())

    @staticmethod
    def backward(ctx, *gradients):
        return (None, None, *grouped_allreduce(gradients, None, None, Compression.none, *ctx.arguments))


class _AllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, name, process_set):
        ctx.rows = tensor.shape[0] if tensor.dim() > 0 else 0
        ctx.process_set = process_set
        return plain.allgather(tensor, name, process_set)

    @staticmethod
    def backward(ctx, gradient):
        rows = plain.allgather_async(torch.tensor([ctx.rows]), process_set=ctx.process_set)
        reduced = allreduce(gradient, op=Average, process_set=ctx.process_set)
        first = sum(rows.wait().tolist()[:ctx.process_set.rank()])
        return reduced.narrow(0, first, ctx.rows), None, None


class _Broadcast(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, root_rank, name, process_set):
        ctx.root_rank = root_rank
        ctx.process_set = process_set
        return plain.broadcast(tensor, root_rank, name, process_set)

    @staticmethod
    def backward(ctx, gradient):
        reduced = allreduce(gradient, op=Average, process_set=ctx.process_set)
        if _process.rank() != ctx.root_rank:
            reduced.zero_()  # in place: a new tensor's gradient would not reach the allreduce as it does on the root
        return reduced, None, None, None


class _ReduceScatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, name, op, scales, process_set):
        ctx.factor = scales[0] * scales[1] * (process_set.size() if op is Sum else 1)
        ctx.process_set = process_set
        return plain.reducescatter_async(tensor, name, op, process_set, *scales).wait()

    @staticmethod
    def backward(ctx, gradient):
        return allgather(gradient * ctx.factor, process_set=ctx.process_set), None, None, None, None


class _AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, splits, name, process_set):
        made, received = plain.alltoall_async(tensor, splits, name, process_set).wait()
        ctx.process_set = process_set
        ctx.received = received
        ctx.mark_non_differentiable(received)
        return made, received

    @staticmethod
    def backward(ctx, gradient, _):
        return alltoall(gradient, ctx.received, process_set=ctx.process_set)[0], None, None, None


def _follows(process_set, *tensors):
    set_id(process_set)
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


@surface
def allreduce(tensor, average=None, name=None, compression=Compression.none, op=None, prescale_factor=1.0,
              postscale_factor=1.0, process_set=global_process_set):  # pylint: disable=missing-function-docstring
    check_tensors("allreduce", (tensor,))
    if not _follows(process_set, tensor):
        return plain.allreduce(tensor, average, name, compression, op, prescale_factor, postscale_factor, process_set)
    sent, context = compression.compress(tensor)
    arguments = (choose(op, average), prescale_factor, postscale_factor, process_set)
    return compression.decompress(_AllReduce.apply(name, arguments, sent), context)


@surface
def grouped_allreduce(tensors, average=None, name=None, compression=Compression.none, op=None, prescale_factor=1.0,
                      postscale_factor=1.0,
                      process_set=global_process_set):  # pylint: disable=missing-function-docstring
    tensors = check_tensors("grouped_allreduce", list(tensors))
    if not _follows(process_set, *tensors):
        return plain.grouped_allreduce(tensors, average, name, compression, op, prescale_factor, postscale_factor,
                                       process_set)
    sent, contexts = zip(*[compression.compress(tensor) for tensor in tensors])
    arguments = (choose(op, average), prescale_factor, postscale_factor, process_set)
    results = _GroupedAllReduce.apply(name, arguments, *sent)
    return [compression.decompress(result, context) for result, context in zip(results, contexts)]


@surface
def allgather(tensor, name=None, process_set=global_process_set):  # pylint: disable=missing-function-docstring
    check_tensors("allgather", (tensor,))
    if not _follows(process_set, tensor):
        return plain.allgather(tensor, name, process_set)
    return _AllGather.apply(tensor, name, process_set)


@surface
def broadcast(tensor, root_rank, name=None,
              process_set=global_process_set):  # pylint: disable=missing-function-docstring
    check_tensors("broadcast", (tensor,))
    if not _follows(process_set, tensor):
        return plain.broadcast(tensor, root_rank, name, process_set)
    return _Broadcast.apply(tensor, root_rank, name, process_set)


@surface
def reducescatter(tensor, name=None, compression=Compression.none, op=Average, process_set=global_process_set,
                  prescale_factor=1.0, postscale_factor=1.0):  # pylint: disable=missing-function-docstring
    check_tensors("reducescatter", (tensor,))
    if not _follows(process_set, tensor):
        return plain.reducescatter(tensor, name, compression, op, process_set, prescale_factor, postscale_factor)
    sent, context = compression.compress(tensor)
    result = _ReduceScatter.apply(sent, name, choose(op), (prescale_factor, postscale_factor), process_set)
    return compression.decompress(result, context)


@surface
def alltoall(tensor, splits=None, name=None,
             process_set=global_process_set):  # pylint: disable=missing-function-docstring
    check_tensors("alltoall", (tensor,))
    if not _follows(process_set, tensor):
        return plain.alltoall(tensor, splits, name, process_set)
    made, received = _AllToAll.apply(tensor, splits, name, process_set)
    return made if splits is None else (made, received)


for _function in (allreduce, grouped_allreduce, allgather, broadcast, reducescatter, alltoall):
    _function.__doc__ = getattr(Collectives, _function.__name__).__doc__ + (
        "\n        Gradients flow through it.\n        ")
