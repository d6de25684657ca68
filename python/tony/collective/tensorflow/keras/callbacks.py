"""Horovod's callbacks for tf.keras."""

import tensorflow as tf

from . import _callbacks

_Callback = tf.keras.callbacks.Callback


class BroadcastGlobalVariablesCallback(_callbacks.BroadcastGlobalVariables, _Callback):
    __doc__ = _callbacks.BroadcastGlobalVariables.__doc__


class MetricAverageCallback(_callbacks.MetricAverage, _Callback):
    __doc__ = _callbacks.MetricAverage.__doc__


class LearningRateScheduleCallback(_callbacks.LearningRateSchedule, _Callback):
    __doc__ = _callbacks.LearningRateSchedule.__doc__


class LearningRateWarmupCallback(_callbacks.LearningRateWarmup, _Callback):
    __doc__ = _callbacks.LearningRateWarmup.__doc__


class BestModelCheckpoint(tf.keras.callbacks.ModelCheckpoint):
    """tf.keras.callbacks.ModelCheckpoint of the best model, into ``filepath``, which may be set later."""

    def __init__(self, monitor="val_loss", verbose=0, save_weights_only=False, mode="auto", save_freq="epoch",
                 filepath="best.weights.h5"):
        super().__init__(filepath, monitor=monitor, verbose=verbose, save_best_only=True,
                         save_weights_only=save_weights_only, mode=mode, save_freq=save_freq)
