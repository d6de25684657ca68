"""Values and models of Keras among ranks."""

import tensorflow as tf

from ..._reduce_ops import Average
from ...compression import Compression
from .. import _functions, _operations
from .._optimizer import DistributedOptimizer


def broadcast_global_variables(root_rank):
    """Like tony.collective.tensorflow's function: for graphs of TensorFlow 1 only."""
    return _functions.broadcast_global_variables(root_rank)


def allreduce(value, name=None, average=None, prescale_factor=1.0, postscale_factor=1.0, op=None,
              compression=Compression.none):
    """allreduce() of a value for tf.convert_to_tensor(). Returns a tensor."""
    return _operations.allreduce(tf.convert_to_tensor(value), average, name=name, prescale_factor=prescale_factor,
                                 postscale_factor=postscale_factor, op=op, compression=compression)


def allgather(value, name=None):
    """allgather() of a value for tf.convert_to_tensor(). Returns a tensor."""
    return _operations.allgather(tf.convert_to_tensor(value), name)


def broadcast(value, root_rank, name=None):
    """broadcast() of a value for tf.convert_to_tensor(). Returns a tensor."""
    return _operations.broadcast(tf.convert_to_tensor(value), root_rank, name)


def reducescatter(value, name=None, op=Average):
    """reducescatter() of a value for tf.convert_to_tensor(). Returns a tensor."""
    return _operations.reducescatter(tf.convert_to_tensor(value), op=op, name=name)


def load_with(keras, filepath, custom_optimizers, custom_objects, compression):
    """load_model() for ``keras``."""
    objects = {each.__name__: each for each in custom_optimizers or []}
    model = keras.models.load_model(filepath, custom_objects={**objects, **(custom_objects or {})})
    if getattr(model, "optimizer", None) is not None:
        model.optimizer = DistributedOptimizer(model.optimizer, compression=compression)
    return model


def load_model(filepath, custom_optimizers=None, custom_objects=None, compression=Compression.none,
               legacy_opts=False):  # pylint: disable=unused-argument
    """Loads a model that Keras has saved. Its optimizer becomes a DistributedOptimizer with the saved state.

    Arguments:
        filepath: the model's path.
        custom_optimizers: classes of optimizers that are not Keras's own.
        custom_objects: other objects that Keras does not know, by name.
        compression: Compression.none, .fp16 or .bf16, for sending gradients.
        legacy_opts: for compatibility with Horovod.

    Returns: the model. ValueError, OSError: as in Keras.
    """
    return load_with(tf.keras, filepath, custom_optimizers, custom_objects, compression)
