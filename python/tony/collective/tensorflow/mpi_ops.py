"""The operations under the name of the module that they have in Horovod; use tony.collective.tensorflow itself."""

from . import (Adasum, Average, Max, Min, ProcessSet, Product, Sum, add_process_set, allgather, alltoall, broadcast,
               broadcast_, ccl_built, cross_rank, cross_size, cuda_built, ddl_built, global_process_set, gloo_built,
               gloo_enabled, grouped_allgather, init, is_homogeneous, is_initialized, join, local_rank, local_rank_op,
               local_size, local_size_op, mpi_built, mpi_enabled, mpi_threads_supported, nccl_built,
               process_set_included_op, rank, rank_op, remove_process_set, rocm_built, shutdown, size, size_op,
               start_timeline, stop_timeline)
