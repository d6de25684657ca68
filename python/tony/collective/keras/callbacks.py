"""Horovod's callbacks for ``import keras``."""

import keras

from ..tensorflow.keras._callbacks import best_model_checkpoint_for, classes_for

BroadcastGlobalVariablesCallback, MetricAverageCallback, LearningRateScheduleCallback, LearningRateWarmupCallback = (
    classes_for(keras, __name__))
BestModelCheckpoint = best_model_checkpoint_for(keras, __name__)
