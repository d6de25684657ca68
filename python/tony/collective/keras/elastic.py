"""Elastic training with ``import keras``, as in tony.collective.tensorflow.keras.elastic."""

import keras

from ..tensorflow.elastic import HorovodInternalError, HostsUpdatedInterrupt, NoPlaceError, run
from ..tensorflow.keras._elastic import KerasState, elastic_callbacks_for

CommitStateCallback, UpdateBatchStateCallback, UpdateEpochStateCallback = elastic_callbacks_for(keras, __name__)

__all__ = ["CommitStateCallback", "HorovodInternalError", "HostsUpdatedInterrupt", "KerasState", "NoPlaceError",
           "UpdateBatchStateCallback", "UpdateEpochStateCallback", "run"]
