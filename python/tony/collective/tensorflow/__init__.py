"""Horovod's operations, gradient tape and optimizer for TensorFlow 2.

    import tensorflow as tf
    import tony.collective.tensorflow as hvd    # or tony.collective.tensorflow.keras, for model.fit()

    hvd.init()
    with tf.GradientTape() as tape:
        loss = loss_of(model(images, training=True), labels)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    hvd.broadcast_variables(model.variables, root_rank=0)       # after the first step, when all variables exist
    hvd.broadcast_variables(optimizer.variables, root_rank=0)

CPU tensors are read in place. In a graph each operation is one node, which calls back into Python and blocks none of
TensorFlow's threads while it waits. XLA (``jit_compile=True``) cannot compile such a node. Gradients flow through the
operations.
"""

from .. import (Adasum, Average, Compression, HorovodInternalError, Max, Min, NotInitializedError, ProcessSet, Product,
                Sum, add_process_set, barrier, ccl_built, counters, cross_rank, cross_size, cuda_built, ddl_built,
                get_process_set_ids_and_ranks, global_process_set, gloo_built, gloo_enabled, init, is_homogeneous,
                is_initialized, local_rank, local_size, mpi_built, mpi_enabled, mpi_threads_supported, nccl_built,
                number_of_process_sets, process_set_by_id, process_set_included, rank, remove_process_set, rocm_built,
                shutdown, size, start_timeline, stop_timeline)
from . import elastic
from ._functions import (BroadcastGlobalVariablesHook, allgather_object, broadcast_, broadcast_global_variables,
                         broadcast_object, broadcast_object_fn, broadcast_variables, join, local_rank_op,
                         local_size_op, process_set_included_op, rank_op, size_op)
from ._operations import (allgather, allreduce, alltoall, broadcast, grouped_allgather, grouped_allreduce,
                          grouped_reducescatter, reducescatter)
from ._optimizer import DistributedOptimizer, PartialDistributedOptimizer
from ._sync_batch_norm import SyncBatchNormalization
from ._tape import DistributedGradientTape, PartialDistributedGradientTape

__all__ = [name for name in dir() if not name.startswith("_")]

# Not in __all__, but Horovod's package has these, and some programs use them.
from . import compression, functions, mpi_ops, util  # noqa: E402  pylint: disable=wrong-import-position
_executing_eagerly = util._executing_eagerly
