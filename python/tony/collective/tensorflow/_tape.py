"""A gradient tape that returns the gradients of all ranks."""

import tensorflow as tf

from .._process_sets import check_registered, global_process_set
from .._reduce_ops import Average
from ..compression import Compression
from ._classes import with_methods
from ._gradients import Exchange, check_options


def DistributedGradientTape(gradtape, device_dense="", device_sparse="", compression=Compression.none,
                            sparse_as_dense=False, op=Average, gradient_predivide_factor=1.0, num_groups=0, groups=None,
                            process_set=global_process_set,
                            scale_local_gradients=True):  # pylint: disable=invalid-name,unused-argument
    """Wraps a tf.GradientTape, so that ``gradient()`` returns averages among all ranks.

        with tf.GradientTape() as tape:
            loss = loss_of(model(images, training=True), labels)
        tape = hvd.DistributedGradientTape(tape)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

    All gradients of one call are sent together. Gradients do not flow through the exchange. The result also has
    ``register_local_source(variable)``, which makes the variable's gradient stay this rank's own.

    Arguments:
        compression: Compression.none, .fp16 or .bf16, for sending gradients.
        sparse_as_dense: sends tf.IndexedSlices as dense gradients; otherwise their indices and values are gathered.
        op: Average, Sum or Adasum.
        gradient_predivide_factor: the part of an average's division that is done before the sum, against overflows;
            with op=Average only.
        num_groups: like ``groups``, with an integer.
        groups: gradients that are sent together: either the number of groups into which all are divided, or lists of
            variables. A gradient in no list is sent by itself.
        process_set: the ranks whose gradients are averaged; those of other ranks stay their own.
        scale_local_gradients: divides the gradients of local sources by the number of ranks.
        device_dense, device_sparse: for compatibility with Horovod.

    ValueError: an option is invalid.
    """
    check_registered(process_set)
    groups = groups if groups is not None else num_groups or None
    check_options(op, gradient_predivide_factor, groups)
    wrapped = with_methods(gradtape, _METHODS)
    wrapped._exchange = Exchange("DistributedGradientTape", process_set, compression, sparse_as_dense, op,
                                 gradient_predivide_factor, groups, scale_local_gradients)
    return wrapped


def PartialDistributedGradientTape(gradtape, device_dense="", device_sparse="", compression=Compression.none,
                                   sparse_as_dense=False, op=Average, gradient_predivide_factor=1.0, num_groups=0,
                                   groups=None, process_set=global_process_set, local_layers=None,
                                   scale_local_gradients=True):  # pylint: disable=invalid-name
    """Like DistributedGradientTape(), except that the gradients of ``local_layers`` stay this rank's own: a
    tf.keras.layers.Layer, or a list of them."""
    wrapped = DistributedGradientTape(gradtape, device_dense, device_sparse, compression, sparse_as_dense, op,
                                      gradient_predivide_factor, num_groups, groups, process_set,
                                      scale_local_gradients)
    for variable in variables_of(local_layers):
        wrapped.register_local_source(variable)
    return wrapped


def variables_of(layers):
    """The trainable variables of a layer, of a list of them, or of None. ValueError: it is none of these."""
    layers = [] if layers is None else list(layers) if isinstance(layers, (list, tuple, set)) else [layers]
    if not all(isinstance(layer, tf.Module) or hasattr(layer, "trainable_weights") for layer in layers):
        raise ValueError("All local layers must be of tf.keras.layers.Layer type.")
    return [variable for layer in layers for variable in layer.trainable_weights]


def _register_local_source(self, source):
    """Makes the gradient of ``source`` stay this rank's own."""
    self._exchange.add_local(source)


def _gradient(self, target, sources, output_gradients=None, use_generic_names=False,
              unconnected_gradients=tf.UnconnectedGradients.NONE):  # pylint: disable=unused-argument
    """As in tf.GradientTape, with gradients of all ranks. ``use_generic_names``: for compatibility with Horovod."""
    gradients = self._base.gradient(self, target, sources, output_gradients, unconnected_gradients)
    reduced = self._exchange(tf.nest.flatten(gradients), tf.nest.flatten(sources))
    return tf.nest.pack_sequence_as(sources, reduced)


def _get_local_and_global_gradients(self, target, sources, output_gradients=None, use_generic_names=False):
    """Two lists of (source, gradient): for local sources, and for all others."""
    gradients = self.gradient(target, sources, output_gradients, use_generic_names)
    pairs = list(zip(sources, gradients))
    return ([pair for pair in pairs if self._exchange.is_local(pair[0])],
            [pair for pair in pairs if not self._exchange.is_local(pair[0])])


_METHODS = {"gradient": _gradient, "register_local_source": _register_local_source,
            "get_local_and_global_gradients": _get_local_and_global_gradients}
