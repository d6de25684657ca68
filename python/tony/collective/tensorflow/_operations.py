"""Horovod's operations for TensorFlow, through which gradients flow; their gradients are those of Horovod 0.28.
``process_set``: as in Collectives."""

import numpy
import tensorflow as tf

from .._process_sets import global_process_set
from .._reduce_ops import Adasum, Average, Sum, choose
from ..compression import Compression
from . import _ranks
from ._calls import check_member, run, wire_name
from ._errors import OwnFaultHandle


def _with_gradient(compute, gradient, tensors):
    """compute(tensors) with the gradient ``gradient(tensors, *upstream)``; both return a list."""
    if not any(tensor.dtype.is_floating for tensor in tensors):
        return compute(tensors)

    @tf.custom_gradient
    def wrapped(*given):
        return compute(given), lambda *upstream: gradient(given, *[
            None if each is None else tf.convert_to_tensor(each) for each in upstream])

    results = wrapped(*tensors)
    return list(results) if isinstance(results, (list, tuple)) else [results]


def _all_rows(tensor):
    """The tensor's shape, with any number of rows."""
    return (None,) + tuple(tensor.shape[1:]) if tensor.shape.rank is not None else None


# allreduce


def _reduced(tensors, name, op, scales, process_set, grouped):
    """Reduces dense tensors in one call."""
    name = wire_name(name, tensors[0])

    def submit(operations, given):
        if grouped:
            return [operations.grouped_allreduce_async(list(given), None, name, op, *scales, process_set)]
        return [operations.allreduce_async(given[0], None, name, op, *scales, process_set)]

    def gradient(_, *upstream):
        return _reduced(upstream, None, op, scales, process_set, grouped)

    def compute(given):
        return run(submit, given, [(tensor.dtype, tensor.shape) for tensor in given], f"allreduce.{name}")

    return _with_gradient(compute, gradient, tensors)


def _compressed(tensors, compression, reduce):
    """reduce(tensors) with compressed tensors; the results are decompressed."""
    sent, contexts = zip(*[compression.compress(tf.convert_to_tensor(tensor)) for tensor in tensors])
    return [compression.decompress(result, context) for result, context in zip(reduce(sent), contexts)]


def _sparse_reduced(slices, name, op, scales, process_set):
    """Reduces IndexedSlices: gathers the rows of all ranks."""
    if op is Adasum:
        raise NotImplementedError("The Adasum reduction does not currently support sparse tensors. As a workaround "
                                  "please pass sparse_as_dense=True to DistributedOptimizer")
    if op not in (Average, Sum):
        raise NotImplementedError("Only Sum and Average ops are supported with tf.IndexedSlices")
    if tuple(scales) != (1.0, 1.0):
        raise NotImplementedError("Pre/postscale_factor are not supported with tf.IndexedSlices")
    parts = [tf.convert_to_tensor(part) for part in (slices.values, slices.indices)]
    values, indices = _gathered(parts, name, process_set)
    if op is Average:
        values = values / tf.cast(_ranks.size(process_set), values.dtype)
    return tf.IndexedSlices(values, indices, dense_shape=slices.dense_shape)


def allreduce(tensor, average=None, device_dense="", device_sparse="", compression=Compression.none, op=None,
              prescale_factor=1.0, postscale_factor=1.0, name=None, process_set=global_process_set,
              ignore_name_scope=False):  # pylint: disable=unused-argument
    """Reduces the ranks' tensors element by element. All ranks get the result, with the same bits.

    Arguments:
        tensor: a tf.Tensor or tf.Variable with the same shape and type on all ranks; or tf.IndexedSlices, whose rows
            are gathered from all ranks.
        average: Horovod's old way to say op=Average (True) or op=Sum (False).
        compression: Compression.none, .fp16 or .bf16, for the transfer.
        op: Average (if None), Sum, Min, Max, Product or Adasum; for tf.IndexedSlices Average or Sum.
        prescale_factor: each tensor is multiplied by it before the reduction.
        postscale_factor: the result is multiplied by it.
        name: tensors with the same name belong together.
        process_set: the participating ranks; an average is divided by their number.
        device_dense, device_sparse, ignore_name_scope: for compatibility with Horovod.

    Returns: a new tensor of the same shape and type; for tf.IndexedSlices new ones.

    tf.errors.FailedPreconditionError: the ranks do not agree on shape, type, op or factors; the message names the
    tensor and what each rank submitted. tf.errors.UnknownError: a rank is gone. In eager mode these are
    HorovodInternalErrors, too.
    """
    check_member(process_set)
    op, scales = choose(op, average), (prescale_factor, postscale_factor)
    if isinstance(tensor, tf.IndexedSlices):
        return _sparse_reduced(tensor, name, op, scales, process_set)
    return _compressed([tensor], compression,
                       lambda sent: _reduced(sent, name, op, scales, process_set, grouped=False))[0]


def grouped_allreduce(tensors, average=None, device_dense="", device_sparse="", compression=Compression.none, op=None,
                      prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set,
                      ignore_name_scope=False, name=None):  # pylint: disable=unused-argument
    """allreduce() of all ``tensors`` as one group. Returns a list in their order."""
    check_member(process_set)
    op, scales = choose(op, average), (prescale_factor, postscale_factor)
    results = list(tensors)
    dense = [at for at, tensor in enumerate(results) if not isinstance(tensor, tf.IndexedSlices)]
    for at, tensor in enumerate(results):
        if isinstance(tensor, tf.IndexedSlices):
            results[at] = _sparse_reduced(tensor, name and f"{name}.{at}", op, scales, process_set)
    if dense:
        reduced = _compressed([results[at] for at in dense], compression,
                              lambda sent: _reduced(sent, name, op, scales, process_set, grouped=True))
        for at, result in zip(dense, reduced):
            results[at] = result
    return results


# allgather


def _gathered(tensors, name, process_set, one=False):
    """Gathers tensors in one call."""
    name = wire_name(name, tensors[0])

    def submit(operations, given):
        if one:
            return [operations.allgather_async(given[0], name, process_set)]
        return [operations.grouped_allgather_async(list(given), name, process_set)]

    def compute(given):
        return run(submit, given, [(tensor.dtype, _all_rows(tensor)) for tensor in given], f"allgather.{name}")

    def gradient(given, *upstream):
        return [_gather_gradient(tensor, each, process_set) if tensor.dtype.is_floating else None
                for tensor, each in zip(given, upstream)]

    return _with_gradient(compute, gradient, tensors)


def _gather_gradient(tensor, upstream, process_set):
    """This rank's rows of the average of all ranks' gradients."""
    rows = tf.shape(tensor)[:1]
    name = wire_name(None, upstream)

    def submit(operations, given):
        return [operations.allreduce_async(given[0], None, name, Average, process_set=process_set),
                operations.allgather_async(given[1], name and f"{name}.rows", process_set)]

    reduced, all_rows = run(submit, [upstream, rows], [(upstream.dtype, upstream.shape), (rows.dtype, (None,))],
                            f"allreduce.{name}")
    first = tf.reduce_sum(all_rows[:_ranks.rank(process_set)])
    return tf.ensure_shape(reduced[first:first + rows[0]], tensor.shape)


def allgather(tensor, name=None, ignore_name_scope=False,
              process_set=global_process_set):  # pylint: disable=unused-argument
    """Concatenates the ranks' tensors in the order of ranks. All ranks get the result.

    ``tensor``: has the same type and shape on all ranks, except for the first dimension.

    Returns: a new tensor, whose first dimension is the sum of all ranks'. Errors: as for allreduce().
    """
    check_member(process_set)
    return _gathered([tf.convert_to_tensor(tensor)], name, process_set, one=True)[0]


def grouped_allgather(tensors, name=None, ignore_name_scope=False,
                      process_set=global_process_set):  # pylint: disable=unused-argument
    """allgather() of all ``tensors`` as one group. Returns a list in their order."""
    check_member(process_set)
    tensors = [tf.convert_to_tensor(tensor) for tensor in tensors]
    return _gathered(tensors, name, process_set) if tensors else []


# broadcast


def broadcast(tensor, root_rank, name=None, ignore_name_scope=False,
              process_set=global_process_set):  # pylint: disable=unused-argument
    """Gives all ranks the tensor of rank ``root_rank``.

    ``tensor``: has the same shape and type on all ranks; not changed.

    Returns: a new tensor. Errors: as for allreduce(); the ranks name different roots.
    """
    check_member(process_set)
    tensor = tf.convert_to_tensor(tensor)
    name = wire_name(name, tensor)

    def compute(given):
        return run(lambda operations, tensors: [operations.broadcast_async(tensors[0], root_rank, name, process_set)],
                   given, [(given[0].dtype, given[0].shape)], f"broadcast.{name}")

    def gradient(_, upstream):
        reduced = _reduced([upstream], None, Average, (1.0, 1.0), process_set, grouped=False)
        is_root = _ranks.is_rank(root_rank)
        if is_root is True:
            return reduced
        # All ranks take part, even if a session runs only what its result needs.
        with tf.control_dependencies(reduced):
            nothing = tf.identity(tf.zeros_like(upstream))
        return [nothing if is_root is False else tf.where(is_root, reduced[0], nothing)]

    return _with_gradient(compute, gradient, [tensor])[0]


# reducescatter


def _scattered(tensors, name, op, scales, process_set, grouped):
    name = wire_name(name, tensors[0])

    def submit(operations, given):
        if grouped:
            return [operations.grouped_reducescatter_async(list(given), name, op, process_set, *scales)]
        return [operations.reducescatter_async(given[0], name, op, process_set, *scales)]

    def compute(given):
        return run(submit, given, [(tensor.dtype, _all_rows(tensor)) for tensor in given], f"reducescatter.{name}")

    def gradient(given, *upstream):
        ranks = _ranks.size(process_set) if op is Sum else 1
        factor = tf.cast(ranks, tf.float64) * scales[0] * scales[1]
        gathered = _gathered([each * tf.cast(factor, each.dtype) for each in upstream], None, process_set)
        return [tf.ensure_shape(each, tensor.shape) for each, tensor in zip(gathered, given)]

    return _with_gradient(compute, gradient, tensors)


def reducescatter(tensor, device_dense="", compression=Compression.none, op=Average, name=None,
                  process_set=global_process_set, ignore_name_scope=False, prescale_factor=1.0,
                  postscale_factor=1.0):  # pylint: disable=unused-argument
    """Reduces the ranks' tensors like allreduce(), and gives each rank some rows of the result.

    ``tensor``: has the same shape and type on all ranks, and at least one dimension. The rows are divided evenly; if
    that is not possible, the first ranks get one more.

    Returns: a new tensor with this rank's rows. Errors: as for allreduce().
    """
    check_member(process_set)
    scales = (prescale_factor, postscale_factor)
    return _compressed([tensor], compression,
                       lambda sent: _scattered(sent, name, choose(op), scales, process_set, grouped=False))[0]


def grouped_reducescatter(tensors, device_dense="", compression=Compression.none, op=Average,
                          process_set=global_process_set, prescale_factor=1.0, postscale_factor=1.0,
                          name=None):  # pylint: disable=unused-argument
    """reducescatter() of all ``tensors`` as one group. Returns a list in their order."""
    check_member(process_set)
    scales = (prescale_factor, postscale_factor)
    tensors = list(tensors)
    return _compressed(tensors, compression, lambda sent: _scattered(
        sent, name, choose(op), scales, process_set, grouped=True)) if tensors else []


# alltoall


def _can_be_split(tensor, splits=None, *, ranks):
    """Whether this rank's ``tensor`` can be split into rows for each rank."""
    rows = tensor.shape[0] if len(tensor.shape) > 0 else 0
    if splits is None:
        return rows % ranks == 0
    splits = numpy.asarray(splits)
    return len(splits) == ranks and (splits >= 0).all() and splits.sum() == rows


def _sent_to_all(tensor, splits, name, process_set):
    """[received rows, number of rows from each rank]"""
    name = wire_name(name, tensor)

    def submit(operations, given):
        handle = operations.alltoall_async(given[0], given[1] if splits is not None else None, name, process_set)
        return [handle if _can_be_split(*given, ranks=process_set.size()) else OwnFaultHandle(handle)]

    def compute(given):
        inputs = [*given] if splits is None else [*given, splits]
        ranks = None if _ranks.may_change() else process_set.size()
        return run(submit, inputs, [(tensor.dtype, _all_rows(tensor)), (tf.int32, (ranks,))],
                   f"alltoall.{name}")

    received = []

    def compute_and_keep(given):
        results = compute(given)
        received.append(results[1])
        return results

    def gradient(given, upstream, _):
        return [tf.ensure_shape(_sent_to_all(upstream, received[-1], None, process_set)[0], given[0].shape)]

    return _with_gradient(compute_and_keep, gradient, [tensor])


def alltoall(tensor, splits=None, name=None, ignore_name_scope=False,
             process_set=global_process_set):  # pylint: disable=unused-argument
    """Sends some rows of ``tensor`` to each rank.

    ``splits``: the number of rows for each rank; None: the same number for each. Shapes may differ among ranks in the
    first dimension.

    Returns: a new tensor with the received rows, in the order of ranks. With ``splits``, a tuple of this tensor and the
    number of rows received from each rank.

    Errors: as for allreduce(). tf.errors.InvalidArgumentError: this rank's splits do not fit its rows;
    FailedPreconditionError: another rank's do not.
    """
    check_member(process_set)
    given = None if splits is None else tf.convert_to_tensor(splits)
    made, received = _sent_to_all(tf.convert_to_tensor(tensor), given, name, process_set)
    return made if splits is None else (made, received)
