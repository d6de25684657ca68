"""Horovod's optimizer and callbacks for ``import keras`` with TensorFlow as its backend, like
tony.collective.tensorflow.keras. ImportError: Keras 3 uses another backend."""

import keras as _keras

if _keras.backend.backend() != "tensorflow":
    raise ImportError("tony.collective.keras is for Keras on TensorFlow, and this one is on "
                      f"{_keras.backend.backend()}: set KERAS_BACKEND=tensorflow")

# pylint: disable=wrong-import-position
from ..tensorflow import (Adasum, Average, Compression, HorovodInternalError, Max, Min, NotInitializedError, ProcessSet,
                          Product, Sum, SyncBatchNormalization, add_process_set, allgather_object, barrier,
                          broadcast_object, broadcast_variables, ccl_built, counters, cross_rank, cross_size,
                          cuda_built, ddl_built, global_process_set, gloo_built, gloo_enabled, init, is_homogeneous,
                          is_initialized, join, local_rank, local_size, mpi_built, mpi_enabled, mpi_threads_supported,
                          nccl_built, rank, remove_process_set, rocm_built, shutdown, size, start_timeline,
                          stop_timeline)
from ..tensorflow.keras import _model
from ..tensorflow.keras._model import allgather, allreduce, broadcast, broadcast_global_variables, reducescatter
from ..tensorflow.keras._optimizer import KerasDistributedOptimizer as DistributedOptimizer
from ..tensorflow.keras._optimizer import PartialDistributedOptimizer
from . import callbacks, elastic


def load_model(filepath, custom_optimizers=None, custom_objects=None, compression=Compression.none,
               legacy_opts=False):  # pylint: disable=missing-function-docstring,unused-argument
    return _model.load_with(_keras, filepath, custom_optimizers, custom_objects, compression)


load_model.__doc__ = _model.load_model.__doc__

__all__ = [name for name in dir() if not name.startswith("_")]
