"""Horovod's callbacks for tf.keras."""

import tensorflow as tf

from ._callbacks import best_model_checkpoint_for, classes_for

BroadcastGlobalVariablesCallback, MetricAverageCallback, LearningRateScheduleCallback, LearningRateWarmupCallback = (
    classes_for(tf.keras, __name__))
BestModelCheckpoint = best_model_checkpoint_for(tf.keras, __name__)
