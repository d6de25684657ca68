"""Horovod's optimizer and callbacks for tf.keras.

    import tensorflow as tf
    import tony.collective.tensorflow.keras as hvd

    hvd.init()
    optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size()))
    model.compile(optimizer, loss="sparse_categorical_crossentropy")
    model.fit(images, labels, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0),
                                         hvd.callbacks.MetricAverageCallback()])
"""

from .. import (Adasum, Average, Compression, HorovodInternalError, Max, Min, NotInitializedError, ProcessSet, Product,
                Sum, SyncBatchNormalization, add_process_set, allgather_object, barrier, broadcast_object,
                broadcast_variables, ccl_built, counters, cross_rank, cross_size, cuda_built, ddl_built,
                global_process_set, gloo_built, gloo_enabled, init, is_homogeneous, is_initialized, join, local_rank,
                local_size, mpi_built, mpi_enabled, mpi_threads_supported, nccl_built, rank, remove_process_set,
                rocm_built, shutdown, size, start_timeline, stop_timeline)
from . import callbacks, elastic
from ._model import allgather, allreduce, broadcast, broadcast_global_variables, load_model, reducescatter
from ._optimizer import DistributedOptimizer, PartialDistributedOptimizer

__all__ = [name for name in dir() if not name.startswith("_")]
