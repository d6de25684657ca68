"""Where positional arguments of Horovod's programs for Keras land: run by run_checks.py."""

import inspect

import tensorflow as tf

import tony.collective.keras as hvd_keras
import tony.collective.tensorflow.keras as hvd
from array_checks import expect_error
from tony.collective.tensorflow import DistributedOptimizer

# As Horovod 0.28 has them; a few of which ours has more come behind.
COMMON = {
    "broadcast_global_variables": "root_rank",
    "allreduce": "value name average prescale_factor postscale_factor op compression",
    "allgather": "value name",
    "broadcast": "value root_rank name",
    "reducescatter": "value name op",
    "load_model": "filepath custom_optimizers custom_objects compression legacy_opts"}
BEGIN = "optimizer name device_dense device_sparse compression sparse_as_dense gradient_predivide_factor op "
PARTIAL = BEGIN + "groups process_set local_layers scale_local_gradients"
ARGUMENTS = {
    hvd: {**COMMON, "PartialDistributedOptimizer": PARTIAL, "DistributedOptimizer": BEGIN +
          "backward_passes_per_step average_aggregated_gradients num_groups groups process_set scale_local_gradients"},
    hvd_keras: {**COMMON, "PartialDistributedOptimizer": PARTIAL, "DistributedOptimizer": BEGIN + "num_groups groups"}}


def check_arguments_are_those_of_horovod():
    for package, functions in ARGUMENTS.items():
        for name, arguments in functions.items():
            arguments = arguments.split()
            ours = list(inspect.signature(getattr(package, name)).parameters)
            assert ours[:len(arguments)] == arguments, f"{package.__name__}.{name}: {ours} instead of {arguments}"


def exchange_of(wrapped):
    return wrapped._distributed.exchange


def check_positional_arguments_of_optimizers_land():
    for package in (hvd, hvd_keras):
        for function in (package.DistributedOptimizer, package.PartialDistributedOptimizer):
            exchange = exchange_of(function(tf.keras.optimizers.SGD(1.0), "named", "", "", hvd.Compression.fp16, True,
                                            1.0, hvd.Sum))
            assert exchange.name == "named" and exchange.sparse_as_dense is True
            assert exchange.compression is hvd.Compression.fp16 and exchange.reduction[0] is hvd.Sum
        exchange = exchange_of(package.DistributedOptimizer(tf.keras.optimizers.SGD(1.0), None, "", "",
                                                            hvd.Compression.none, False, 4.0))
        assert exchange.reduction[1] == (0.25, 4.0) and exchange.reduction[0] is hvd.Average
        layer = tf.keras.layers.Dense(1)
        layer.build((None, 2))
        wrapped = package.PartialDistributedOptimizer(
            tf.keras.optimizers.SGD(1.0), None, "", "", hvd.Compression.none, False, 1.0, hvd.Average, None,
            hvd.global_process_set, [layer], False)
        assert all(exchange_of(wrapped).is_local(variable) for variable in layer.trainable_variables)


def check_what_is_no_argument_is_a_type_error():
    for package in (hvd, hvd_keras):
        for options in ({"learning_rate": 1.0}, {"optimizer": None}):
            expect_error(TypeError, "", package.DistributedOptimizer, tf.keras.optimizers.SGD(1.0), **options)
    # Those of Horovod's package for TensorFlow have another order.
    assert list(inspect.signature(DistributedOptimizer).parameters)[2] == "use_locking"
    wrapped = hvd_keras.DistributedOptimizer(tf.keras.optimizers.SGD(1.0), backward_passes_per_step=2, use_locking=True)
    assert wrapped._distributed.sums is not None
