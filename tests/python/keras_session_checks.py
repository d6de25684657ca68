"""Checks on each rank for Keras models in sessions of TensorFlow 1: run by run_checks.py."""

import numpy as np
import tensorflow as tf

import tony.collective.tensorflow.keras as hvd
from array_checks import expect_error

tf.compat.v1.disable_eager_execution()
COUNT, EPOCHS = 12, 3
INPUTS = np.random.default_rng(0).normal(size=(COUNT, 5)).astype(np.float32)
TARGETS = INPUTS.sum(axis=1)


def fit(optimizer, rows, callbacks=(), seed=1):
    """A model that is trained with one batch an epoch."""
    tf.keras.utils.set_random_seed(seed)
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="tanh", input_shape=(5,)),
                                 tf.keras.layers.Dense(1)])
    model.compile(optimizer, loss="mse")
    model.fit(INPUTS[rows], TARGETS[rows], batch_size=len(rows), epochs=EPOCHS, shuffle=False, verbose=0,
              callbacks=list(callbacks))
    return model


def sgd():
    return tf.keras.optimizers.legacy.SGD(0.1, momentum=0.9)


def own_rows():
    return np.arange(hvd.rank(), COUNT, hvd.size())


def check_fit_is_that_of_one_process():
    alone = fit(sgd(), np.arange(COUNT))
    together = fit(hvd.DistributedOptimizer(sgd()), own_rows())
    for mine, theirs in zip(together.get_weights(), alone.get_weights()):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)


def check_variables_are_broadcast_after_the_first_batch():
    model = fit(hvd.DistributedOptimizer(sgd()), own_rows(),
                [hvd.callbacks.BroadcastGlobalVariablesCallback(hvd.size() - 1)], seed=hvd.rank())
    mine = [weights.tobytes() for weights in model.get_weights()]
    assert all(mine == other for other in hvd.allgather_object(mine)), "ranks differ"


def check_what_sessions_have_not():
    for name, value in (("backward_passes_per_step", 2), ("op", hvd.Adasum)):
        expect_error(NotImplementedError, name, fit, hvd.DistributedOptimizer(sgd(), **{name: value}), own_rows())
