"""DistributedOptimizer() with its positional arguments in the order of horovod.tensorflow.keras, and in that of
horovod.keras. The two orders differ from each other and from that of horovod.tensorflow."""

import functools
import inspect

from .. import _optimizer

_BEGIN = ("optimizer", "name", "device_dense", "device_sparse", "compression", "sparse_as_dense",
          "gradient_predivide_factor", "op")


def _with_order(function, names, **more):
    """Returns ``function``, which has DistributedOptimizer()'s arguments, with another signature: ``names`` are
    positional arguments in this order, and all others are keyword-only. ``more``: further arguments of ``function``,
    with their defaults."""
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
