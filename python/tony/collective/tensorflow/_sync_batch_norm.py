"""Batch normalization over the batches of all ranks."""

import tensorflow as tf

from .. import _process
from .._reduce_ops import Average
from . import _ranks
from ._operations import allreduce


class SyncBatchNormalization(tf.keras.layers.BatchNormalization):
    """tf.keras.layers.BatchNormalization whose mean and variance in training cover all ranks' batches, which must have
    the same size. ``fused``: only False, because the fused kernels compute the moments of this rank's batch alone.

    Errors: as for allreduce().
    """

    def __init__(self, fused=False, **kwargs):
        if fused in (True, None):
            raise ValueError("SyncBatchNormalization does not support fused=True.")
        if not kwargs.get("name"):
            kwargs["name"] = "sync_batch_normalization"
        if hasattr(tf.keras.layers.BatchNormalization, "_fused_can_be_used"):  # not in Keras 3
            kwargs["fused"] = False
        super().__init__(**kwargs)

    def _moments(self, inputs, *args, **kwargs):
        mean, variance = super()._moments(inputs, *args, **kwargs)
        if _process.size() == 1 and not _ranks.may_change():
            return mean, variance
        # Var[X] = E[X²] - E[X]². Unlike variances, E[X] and E[X²] of batches of one size can be averaged.
        both = allreduce(tf.stack([mean, variance + tf.square(mean)]), op=Average)
        mean, mean_of_squares = tf.unstack(both)
        return mean, mean_of_squares - tf.square(mean)
