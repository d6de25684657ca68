"""DistributedOptimizer() with the arguments of Horovod's packages for Keras. Their order differs from that of Horovod's
package for TensorFlow, and between the two."""

import functools
import inspect

from .. import _optimizer

_BEGIN = ("optimizer", "name", "device_dense", "device_sparse", "compression", "sparse_as_dense",
          "gradient_predivide_factor", "op")


def _with_order(function, names, **more):
    """``function``, which takes DistributedOptimizer()'s arguments, with ``names`` first in this order; the others are
    keyword arguments. ``more``: defaults of additional arguments."""
    known = {**inspect.signature(_optimizer.DistributedOptimizer).parameters, **{
        name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in more.items()}}
    positional = [known.pop(name).replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in known.values()]
    signature = inspect.Signature(positional + named)

    @functools.wraps(function)
    def ordered(*args, **kwargs):
        return function(**signature.bind(*args, **kwargs).arguments)

    ordered.__signature__ = signature
    return ordered


#: As in horovod.tensorflow.keras.
DistributedOptimizer = _with_order(_optimizer.DistributedOptimizer, (
    *_BEGIN, "backward_passes_per_step", "average_aggregated_gradients", "num_groups", "groups", "process_set",
    "scale_local_gradients"))
#: As in horovod.keras.
KerasDistributedOptimizer = _with_order(_optimizer.DistributedOptimizer, (*_BEGIN, "num_groups", "groups"))
#: As in horovod.keras, and in no other package of Horovod.
PartialDistributedOptimizer = _with_order(_optimizer.PartialDistributedOptimizer, (
    *_BEGIN, "groups", "process_set", "local_layers", "scale_local_gradients"), local_layers=None)
