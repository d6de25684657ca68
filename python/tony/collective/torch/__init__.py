"""Horovod's operations and optimizer for PyTorch.

    import torch
    import tony.collective.torch as hvd

    hvd.init()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)

CPU tensors are exchanged in place, without a copy, and so are GPU tensors if NCCL is there. Gradients flow through
allreduce, allgather, reducescatter, their grouped forms, broadcast and alltoall.
"""

from .. import (Adasum, Average, Compression, HorovodInternalError, HostsUpdatedInterrupt, Max, Min,
                NotInitializedError, ProcessSet, Product, Sum, add_process_set, allgather_object, barrier,
                broadcast_object, ccl_built, counters, cross_rank, cross_size, cuda_built, ddl_built,
                get_process_set_ids_and_ranks, global_process_set, gloo_built, gloo_enabled, init, is_homogeneous,
                is_initialized, join, local_rank, local_size, mpi_built, mpi_enabled, mpi_threads_supported,
                nccl_built, number_of_process_sets, poll, process_set_by_id, process_set_included, rank,
                remove_process_set, rocm_built, shutdown, size, start_timeline, stop_timeline, synchronize)
from . import elastic
from ._differentiable import allgather, allreduce, alltoall, broadcast, grouped_allreduce, plain, reducescatter
from ._differentiable_groups import grouped_allgather, grouped_reducescatter
from ._functions import broadcast_optimizer_state, broadcast_parameters, empty
from ._optimizer import DistributedOptimizer
from ._sparse import sparse_allreduce_async
from .sync_batch_norm import SyncBatchNorm

allgather_async = plain.allgather_async
allreduce_ = plain.allreduce_
allreduce_async = plain.allreduce_async
allreduce_async_ = plain.allreduce_async_
alltoall_async = plain.alltoall_async
broadcast_ = plain.broadcast_
broadcast_async = plain.broadcast_async
broadcast_async_ = plain.broadcast_async_
grouped_allgather_async = plain.grouped_allgather_async
grouped_allreduce_ = plain.grouped_allreduce_
grouped_allreduce_async = plain.grouped_allreduce_async
grouped_allreduce_async_ = plain.grouped_allreduce_async_
grouped_reducescatter_async = plain.grouped_reducescatter_async
reducescatter_async = plain.reducescatter_async

__all__ = [name for name in dir() if not name.startswith("_") and name not in ("plain", "sync_batch_norm")]
