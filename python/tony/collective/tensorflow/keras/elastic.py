"""Elastic training with tf.keras: Horovod's interface.

    state = hvd.elastic.KerasState(model, batch=0, epoch=0)

    @hvd.elastic.run
    def train(state):
        state.model.fit(dataset, steps_per_epoch=STEPS // hvd.size(), epochs=EPOCHS - state.epoch, callbacks=[
            hvd.elastic.UpdateEpochStateCallback(state), hvd.elastic.UpdateBatchStateCallback(state),
            hvd.elastic.CommitStateCallback(state, batches_per_commit=10)])

    train(state)
"""

import tensorflow as tf

from ..elastic import HorovodInternalError, HostsUpdatedInterrupt, NoPlaceError, run
from ._elastic import KerasState, elastic_callbacks_for

CommitStateCallback, UpdateBatchStateCallback, UpdateEpochStateCallback = elastic_callbacks_for(tf.keras, __name__)

__all__ = ["CommitStateCallback", "HorovodInternalError", "HostsUpdatedInterrupt", "KerasState", "NoPlaceError",
           "UpdateBatchStateCallback", "UpdateEpochStateCallback", "run"]
