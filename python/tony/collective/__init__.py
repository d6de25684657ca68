"""Collective operations among the ranks of a job, by name, with Horovod's interface.

    import tony.collective as hvd          # for numpy, the buffer protocol and DLPack
    import tony.collective.torch as hvd    # for PyTorch

    hvd.init()
    total = hvd.allreduce(numpy.ones(4), op=hvd.Sum, name="ones")   # [size, size, size, size] on each rank

Each rank is a process; docs/collective.md says how ranks are started. Tensors that all ranks submit under one name
belong together, in whatever order they are submitted. numpy is needed only if arrays are passed.
"""

from . import elastic
from ._built import (ccl_built, cuda_built, ddl_built, gloo_built, gloo_enabled, mpi_built, mpi_enabled,
                     mpi_threads_supported, nccl_built, rocm_built)
from ._collectives import barrier, join
from ._handles import poll, synchronize
from ._objects import allgather_object, broadcast_object
from ._process import (cross_rank, cross_size, is_homogeneous, is_initialized, local_rank, local_size, rank, shutdown,
                       size)
from ._process_sets import (ProcessSet, add_process_set, get_process_set_ids_and_ranks, global_process_set,
                            number_of_process_sets, process_set_by_id, process_set_included, remove_process_set)
from ._reduce_ops import Adasum, Average, Max, Min, Product, Sum
from ._start import init
from ._watch import counters, start_timeline, stop_timeline
from .compression import Compression
from .exceptions import HorovodInternalError, HostsUpdatedInterrupt, NotInitializedError

_COMMON = [name for name in dir() if not name.startswith("_") and name not in ("compression", "exceptions")]
_ARRAYS = ["allgather", "allgather_async", "allreduce", "allreduce_", "allreduce_async", "allreduce_async_",
           "alltoall", "alltoall_async", "broadcast", "broadcast_", "broadcast_async", "broadcast_async_", "empty",
           "grouped_allgather", "grouped_allgather_async", "grouped_allreduce", "grouped_allreduce_",
           "grouped_allreduce_async", "grouped_allreduce_async_", "grouped_reducescatter",
           "grouped_reducescatter_async", "reducescatter", "reducescatter_async"]
__all__ = [*_COMMON, *_ARRAYS]


def __getattr__(name):
    """Operations on arrays, which need numpy, when they are first asked for."""
    if name not in _ARRAYS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ._arrays import Arrays, empty
    from ._collectives import Collectives
    operations = Collectives(Arrays)
    globals().update((each, getattr(operations, each)) for each in _ARRAYS if each != "empty")
    globals()["empty"] = empty
    return globals()[name]


def __dir__():
    return sorted({*globals(), *_ARRAYS})
