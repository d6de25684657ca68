"""Optimizers that use the gradients of all ranks: Keras 2's, old and new, Keras 3's, and those of
tf.compat.v1.train."""

import tensorflow as tf

from .._process_sets import check_registered, global_process_set
from .._reduce_ops import Adasum, Average
from ..compression import Compression
from ._classes import with_methods
from ._gradients import Deltas, Exchange, LocalSums, check_options
from ._tape import variables_of


def DistributedOptimizer(optimizer, name=None, use_locking=False, device_dense="", device_sparse="",
                         compression=Compression.none, sparse_as_dense=False, backward_passes_per_step=1, op=Average,
                         gradient_predivide_factor=1.0, average_aggregated_gradients=False, num_groups=0, groups=None,
                         process_set=global_process_set,
                         scale_local_gradients=True):  # pylint: disable=invalid-name,unused-argument
    """Wraps an optimizer, so that its gradients are averaged among all ranks before they are applied.

    For ``model.compile()`` and ``optimizer.minimize()``. As in Horovod, gradients that a program passes to Keras 2's
    ``apply_gradients()`` are applied unchanged, because they come from a DistributedGradientTape. Keras 3 has no other
    function, so there these gradients are averaged as well.

    All gradients of a step are sent together. The result shares the optimizer's state and is saved like it. It also has
    ``register_local_var(variable)``, which makes the variable's gradient stay this rank's own.

    Arguments:
        optimizer: the optimizer to wrap; do not use it itself any more.
        name: the name of its gradients in errors; None: "Distributed" and its class.
        compression: Compression.none, .fp16 or .bf16, for sending gradients.
        sparse_as_dense: sends tf.IndexedSlices as dense gradients; otherwise their indices and values are gathered.
        backward_passes_per_step: each rank sums up so many gradients before they are sent and applied.
        op: Average, Sum or Adasum, which combines the changes that the ranks' optimizers have made.
        gradient_predivide_factor: the part of an average's division that is done before the sum, against overflows;
            with op=Average only.
        average_aggregated_gradients: divides the sums by backward_passes_per_step.
        num_groups: like ``groups``, with an integer.
        groups: gradients that are sent together: either the number of groups into which all are divided, or lists of
            variables. A gradient in no list is sent by itself.
        process_set: the ranks whose gradients are averaged; those of other ranks stay their own.
        scale_local_gradients: divides the gradients of local variables by the number of ranks.
        use_locking, device_dense, device_sparse: for compatibility with Horovod.

    ValueError: an option is invalid; ``optimizer`` is no optimizer, or is wrapped already.
    """
    check_registered(process_set)
    groups = groups if groups is not None else num_groups or None
    check_options(op, gradient_predivide_factor, groups)
    if backward_passes_per_step <= 0:
        raise ValueError("backward_passes_per_step must be > 0")
    if op is Adasum and average_aggregated_gradients:
        raise ValueError("Adasum does not support average_aggregated_gradients == True")
    is_session = isinstance(optimizer, tf.compat.v1.train.Optimizer)
    if is_session and (backward_passes_per_step > 1 or op is Adasum):
        raise ValueError("backward_passes_per_step > 1 and op=Adasum are not supported for optimizers of "
                         "tf.compat.v1.train: use one of tf.keras.optimizers")
    wrapped = with_methods(optimizer, {**_methods_for(optimizer, op), "register_local_var": _register_local_var})
    exchange = Exchange(name or f"Distributed{type(optimizer).__name__}", process_set, compression, sparse_as_dense, op,
                        gradient_predivide_factor, groups, scale_local_gradients)
    # Not by setattr(), because Keras inspects attributes that are set.
    wrapped.__dict__["_distributed"] = _Distributed(exchange, backward_passes_per_step, op,
                                                    average_aggregated_gradients)
    if is_session:
        wrapped._optimizer = optimizer  # Horovod's name, by which programs reach the wrapped optimizer
    return wrapped


def PartialDistributedOptimizer(optimizer, *args, local_layers=None,
                                **kwargs):  # pylint: disable=invalid-name
    """Like DistributedOptimizer(), except that the gradients of ``local_layers`` stay this rank's own: a
    tf.keras.layers.Layer, or a list of them, whose variables must exist already."""
    wrapped = DistributedOptimizer(optimizer, *args, **kwargs)
    for variable in variables_of(local_layers):
        wrapped.register_local_var(variable)
    return wrapped


class _Distributed:
    """The additional state of a wrapped optimizer."""

    def __init__(self, exchange, passes, op, average):
        self.exchange = exchange
        self.sums = LocalSums(exchange, passes, average) if passes > 1 and op is not Adasum else None
        self.deltas = Deltas(exchange, passes) if op is Adasum else None

    def reduce(self, gradients, variables):
        """A step's gradients, ready to be applied; with ``sums`` only if is_exchanged() says so."""
        gradients, variables = list(gradients), list(variables)
        return self.sums.add(gradients, variables) if self.sums else self.exchange(gradients, variables)


def _methods_for(optimizer, op):
    """Methods by name."""
    if hasattr(optimizer, "_distributed"):
        raise ValueError("this is a DistributedOptimizer already")
    if not hasattr(optimizer, "apply_gradients"):
        raise ValueError(f"{type(optimizer).__name__} is no optimizer of TensorFlow or Keras")
    computes = [each for each in ("compute_gradients", "_compute_gradients") if hasattr(optimizer, each)][:1]
    if not computes:
        return {"apply": _apply}
    if op is Adasum:
        return {"apply_gradients": _apply_gradients}
    methods = {computes[0]: _computing(computes[0]), "apply_gradients": _apply_gradients}
    if isinstance(optimizer, tf.keras.optimizers.Optimizer):
        methods.setdefault("_compute_gradients", _compute_gradients)
    if hasattr(optimizer, "get_gradients"):
        methods["get_gradients"] = _get_gradients
    return methods


def _register_local_var(self, var):
    """Makes the gradient of ``var`` stay this rank's own."""
    self._distributed.exchange.add_local(var)


def _computing(name):
    """The method ``name``, with gradients of all ranks."""
    def compute_gradients(self, *args, **kwargs):
        """As in the optimizer, with gradients of all ranks."""
        pairs = list(getattr(self._base, name)(self, *args, **kwargs))
        variables = [variable for _, variable in pairs]
        return list(zip(self._distributed.reduce([gradient for gradient, _ in pairs], variables), variables))

    return compute_gradients


def _compute_gradients(self, loss, var_list, grad_loss=None, tape=None):  # pylint: disable=unused-argument
    """compute_gradients() in the form of Horovod's optimizers for each Keras. ``grad_loss``: of older ones only."""
    return self.compute_gradients(loss, var_list, tape=tape)


def _get_gradients(self, loss, params):
    """As in the optimizer, with gradients of all ranks. Keras 2 uses it to train models in sessions."""
    return self._distributed.reduce(self._base.get_gradients(self, loss, params), params)


def _apply_gradients(self, grads_and_vars, *args, **kwargs):
    """As in the optimizers of Keras 2."""
    pairs = list(grads_and_vars)
    variables = [variable for _, variable in pairs]
    distributed = self._distributed

    def apply():
        return self._base.apply_gradients(self, pairs, *args, **kwargs)

    if distributed.deltas:
        distributed.deltas.step(variables, apply)
        return self.iterations
    if distributed.sums:
        _apply_if_exchanged(self, variables, apply)
        return self.iterations
    return apply()


def _apply(self, grads, trainable_variables=None):
    """As in the optimizers of Keras 3."""
    variables = list(self._trainable_variables if trainable_variables is None else trainable_variables)
    distributed = self._distributed
    if distributed.deltas:
        self.build(variables)
        distributed.deltas.step(variables, lambda: self._base.apply(self, grads, variables))
        return
    reduced = distributed.reduce(grads, variables)
    if distributed.sums:
        _apply_if_exchanged(self, variables, lambda: self._base.apply(self, reduced, variables))
        return
    self._base.apply(self, reduced, variables)


def _apply_if_exchanged(self, variables, apply):
    """Calls ``apply`` only in steps whose gradients are those of all ranks."""
    with tf.init_scope():  # variables cannot be made within a condition
        if hasattr(self, "build") and not getattr(self, "built", False):
            self.build(variables)

    def count():
        self.iterations.assign_add(1)
        return tf.constant(0)

    def step():
        apply()
        return tf.constant(0)

    tf.cond(self._distributed.sums.is_exchanged(), step, count)
