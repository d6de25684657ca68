"""The gradients of one step, for all ranks: submitted together, and waited for together."""

import os

import tensorflow as tf

from .. import _process
from .._reduce_ops import Adasum, Average, Sum
from ..compression import Compression
from . import _ranks
from ._calls import run, unique_name


class Exchange:
    """Exchanges a rank's gradients for those of all ranks. Not thread safe.

    Gradients are matched by their position in the list, because ranks may have given the variables different names.
    """

    def __init__(self, name, process_set, compression=Compression.none, sparse_as_dense=False, op=Average,
                 predivide=1.0, groups=None, scale_local=True):
        """``predivide``: the part of an average's division that is done before the sum. ``groups``: gradients that are
        reduced together: the number of groups into which all are divided, or lists of variables. ``scale_local``:
        whether gradients of local variables are divided by the number of ranks."""
        self.name = name
        self._process_set = process_set
        self._compression = compression
        self.sparse_as_dense = sparse_as_dense
        self._op = op
        self._scales = (1.0 / predivide, predivide) if op is Average else (1.0, 1.0)
        self._groups = groups
        self._scale_local = scale_local
        self._local = {}  # variables by id(), which stays theirs while this dictionary holds them

    def add_local(self, variable):
        """Makes the variable's gradient stay this rank's own."""
        self._local[id(variable)] = variable

    def is_local(self, variable):
        """Whether the variable's gradient stays this rank's own."""
        return id(variable) in self._local

    def __call__(self, gradients, variables):
        """The list of all ranks' gradients: tensors, tf.IndexedSlices, and None where the argument has None.
        ``variables``: of these gradients, in the same order.

        Errors: as for allreduce().
        """
        results = [self._dense(gradient) for gradient in gradients]
        if not self._process_set.included():
            return results
        # A single rank has nothing to send, unless others may come.
        if self._process_set.size() == 1 and os.environ.get("HOROVOD_ELASTIC") != "1":
            return results
        for at, variable in enumerate(variables):
            if self.is_local(variable) and results[at] is not None and self._scale_local:
                results[at] = _divided(results[at], _ranks.size(self._process_set))
        places = [at for at, variable in enumerate(variables)
                  if results[at] is not None and not self.is_local(variable)]
        if places:
            labels = [getattr(each, "path", None) or getattr(each, "name", None) or "no name" for each in variables]
            _Step(self, results, places, labels).run(self._groups_of(places, results, variables))
        return results

    def _dense(self, gradient):
        if isinstance(gradient, tf.IndexedSlices):
            return tf.convert_to_tensor(gradient) if self.sparse_as_dense else gradient
        return gradient if gradient is None else tf.convert_to_tensor(gradient)

    def _groups_of(self, places, results, variables):
        """Lists of positions of dense gradients; a gradient in no group has its own list."""
        dense = [at for at in places if not isinstance(results[at], tf.IndexedSlices)]
        if not self._groups:
            return [[at] for at in dense]
        if isinstance(self._groups, int):
            count = min(self._groups, len(dense))
            size, larger = divmod(len(dense), count) if count else (0, 0)
            starts = [number * size + min(number, larger) for number in range(count + 1)]
            return [dense[first:last] for first, last in zip(starts, starts[1:])]
        place_of = {id(variables[at]): at for at in dense}
        groups = [[place_of.pop(id(variable)) for variable in group if id(variable) in place_of]
                  for group in self._groups]
        return [group for group in groups if group] + [[at] for at in place_of.values()]

    # for _Step

    @property
    def reduction(self):
        """(op, prescale factor and postscale factor, process set)"""
        return self._op, self._scales, self._process_set

    @property
    def compression(self):
        """The compression of dense gradients."""
        return self._compression


class _Step:
    """One exchange of the ``results`` at ``places``, in place. ``labels``: their names."""

    def __init__(self, exchange, results, places, labels):
        self._exchange, self._results, self._labels = exchange, results, labels
        self._sparse = [at for at in places if isinstance(results[at], tf.IndexedSlices)]
        op = exchange.reduction[0]
        if self._sparse and op not in (Average, Sum):
            raise NotImplementedError(f"{op} does not support sparse gradients: pass sparse_as_dense=True")

    def run(self, groups):
        """``groups``: lists of positions of dense gradients."""
        exchange, results = self._exchange, self._results
        name, (op, scales, process_set) = unique_name(exchange.name), exchange.reduction
        order = [at for group in groups for at in group]
        sent, contexts = {}, {}
        for at in order:
            sent[at], contexts[at] = exchange.compression.compress(results[at])
        tensors = [sent[at] for at in order]
        outputs = [(tensor.dtype, tensor.shape) for tensor in tensors]
        for at in self._sparse:
            for part in (results[at].values, results[at].indices):
                tensors.append(part)
                outputs.append((part.dtype, (None,) + tuple(part.shape[1:])))
        sparse = list(self._sparse)

        def submit(operations, given):
            given, handles = iter(given), []
            for number, group in enumerate(groups):
                members = [next(given) for _ in group]
                if len(group) == 1:
                    handles.append(operations.allreduce_async(members[0], None, f"{name}.{group[0]}", op, *scales,
                                                              process_set))
                else:
                    handles.append(operations.grouped_allreduce_async(members, None, f"{name}.group{number}", op,
                                                                      *scales, process_set))
            for at in sparse:
                for part in ("values", "indices"):
                    handles.append(operations.allgather_async(next(given), f"{name}.{at}.{part}", process_set))
            return handles

        received = iter(run(submit, tensors, outputs, name, self._labels_by_name(name, groups)))
        for at in order:
            results[at] = exchange.compression.decompress(next(received), contexts[at])
        for at in sparse:
            values, indices = next(received), next(received)
            if op is Average:
                values = values / tf.cast(_ranks.size(process_set), values.dtype)
            results[at] = tf.IndexedSlices(values, indices, results[at].dense_shape)

    def _labels_by_name(self, name, groups):
        """The program's names of the tensors, by the library's names."""
        labels = {}
        for number, group in enumerate(groups):
            for place, at in enumerate(group):
                labels[f"allreduce.{name}.{at}" if len(group) == 1 else
                       f"grouped_allreduce.{name}.group{number}.{place}"] = self._labels[at]
        for at in self._sparse:
            for part in ("values", "indices"):
                labels[f"allgather.{name}.{at}.{part}"] = self._labels[at]
        return labels


class LocalSums:
    """Sums of this rank's gradients, which are exchanged after a number of passes. Not thread safe."""

    def __init__(self, exchange, passes, average):
        """``passes``: the number of gradients for each exchange. ``average``: whether the result is divided by it."""
        self._exchange, self._passes, self._average = exchange, passes, average
        self._sums = {}  # variables by the gradient's position
        self._count = None
        _process.begins_anew(self)

    def add(self, gradients, variables):
        """Adds a step's gradients. Returns all ranks' sums with the last of ``passes``, otherwise this rank's sums so
        far.

        ValueError: a gradient is sparse, and sparse_as_dense is not set.
        """
        dense = []
        for gradient in gradients:
            if isinstance(gradient, tf.IndexedSlices) and not self._exchange.sparse_as_dense:
                raise ValueError("IndexedSlices are not supported when `backward_passes_per_step` > 1 and "
                                 "`sparse_as_dense` is False.")
            dense.append(gradient if gradient is None else tf.convert_to_tensor(gradient))
        places = [at for at, gradient in enumerate(dense) if gradient is not None]
        self._make(dense, places, variables)
        for at in places:
            self._sums[at].assign_add(dense[at])
        self._count.assign_add(1)
        totals = tf.cond(tf.equal(self._count, self._passes), lambda: self._exchanged(places, variables),
                         lambda: [self._sums[at].read_value() for at in places])
        results = [None] * len(dense)
        for at, total in zip(places, totals):
            results[at] = total
        return results

    def is_exchanged(self):
        """A tensor: whether the last add() has exchanged the sums, so that they can be applied."""
        return tf.equal(self._count, 0)

    def begin_anew(self):
        """Drops the gradients since the last exchange."""
        with tf.init_scope():  # where the variables are
            for each in self._sums.values():
                each.assign(tf.zeros_like(each))
            if self._count is not None:
                self._count.assign(0)

    def _make(self, dense, places, variables):
        _check_outlives_graph("backward_passes_per_step > 1")
        with tf.init_scope():  # the variables outlive the graph
            if self._count is None:
                self._count = tf.Variable(0, trainable=False)
            for at in places:
                if at not in self._sums:
                    self._sums[at] = tf.Variable(tf.zeros(variables[at].shape, dense[at].dtype), trainable=False)

    def _exchanged(self, places, variables):
        totals = self._exchange([self._sums[at].read_value() for at in places], [variables[at] for at in places])
        if self._average:
            totals = [total / tf.cast(self._passes, total.dtype) for total in totals]
        with tf.control_dependencies(totals):
            for at in places:
                self._sums[at].assign(tf.zeros_like(self._sums[at]))
            self._count.assign(0)
        return totals


class Deltas:
    """The exchange for Adasum, which combines the changes that the optimizers have made, not gradients. Not thread
    safe."""

    def __init__(self, exchange, passes):
        """``passes``: the number of local steps for each exchange."""
        self._exchange, self._passes = exchange, passes
        self._starts = None  # variables: the values before the first of the local steps
        self._count = None
        _process.begins_anew(self)

    def step(self, variables, apply):
        """``apply``: a function that makes this rank's step; called once."""
        values = [getattr(variable, "value", variable) for variable in variables]
        values = [value if isinstance(value, tf.Variable) else variable for value, variable in zip(values, variables)]
        _check_outlives_graph("op=Adasum")
        with tf.init_scope():
            if self._starts is None:
                self._starts = [tf.Variable(tf.zeros(value.shape, value.dtype), trainable=False) for value in values]
                self._count = tf.Variable(0, trainable=False)
        tf.cond(tf.equal(self._count, 0), lambda: self._begin(values), lambda: tf.constant(0))
        apply()
        self._count.assign_add(1)
        tf.cond(tf.equal(self._count, self._passes), lambda: self._combine(values), lambda: tf.constant(0))

    def begin_anew(self):
        """Makes the next step the first one after an exchange."""
        if self._count is not None:
            with tf.init_scope():
                self._count.assign(0)

    def _begin(self, values):
        for start, value in zip(self._starts, values):
            start.assign(value)
        return tf.constant(0)

    def _combine(self, values):
        deltas = self._exchange([value - start for start, value in zip(self._starts, values)], values)
        for start, value, delta in zip(self._starts, values, deltas):
            value.assign(start + delta)
        self._count.assign(0)
        return tf.constant(0)


def _check_outlives_graph(option):
    """NotImplementedError: the variables would belong to a session, in which nobody has initialized them."""
    with tf.init_scope():
        if not tf.executing_eagerly():
            raise NotImplementedError(f"{option} of an optimizer is not supported in sessions of TensorFlow 1")


def check_options(op, predivide, groups, ops=(Average, Sum, Adasum)):
    """ValueError: an option of DistributedOptimizer or DistributedGradientTape is invalid."""
    if op not in ops:
        raise ValueError(f"op is {op!r}: it is one of {', '.join(map(repr, ops))}")
    if predivide != 1.0 and op is not Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    if groups is not None and not (isinstance(groups, int) and groups >= 0 or isinstance(groups, list) and
                                   all(isinstance(group, (list, tuple)) for group in groups)):
        raise ValueError("groups should be a non-negative integer or a list of list of tf.Variable.")


def _divided(gradient, number):
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(gradient.values / tf.cast(number, gradient.values.dtype), gradient.indices,
                                gradient.dense_shape)
    return gradient / tf.cast(number, gradient.dtype)
