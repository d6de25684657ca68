"""Horovod's questions about its build, answered for what this machine has."""

from ._library import library


def mpi_threads_supported():
    """False: MPI is not used."""
    return False


def mpi_enabled():
    """False: MPI is not used."""
    return False


def mpi_built():
    """False: MPI is not used."""
    return False


def gloo_enabled():
    """False: tony's own library connects the ranks, which meet as with Gloo."""
    return False


def gloo_built():
    """False, like gloo_enabled()."""
    return False


def nccl_built():
    """NCCL's version, such as 22809, if this process can load one that is new enough (docs/gpu.md); otherwise 0."""
    return max(0, library().nccl_version())


def ddl_built():
    """False."""
    return False


def ccl_built():
    """False."""
    return False


def cuda_built():
    """Whether this process sees a GPU, through NVIDIA's driver."""
    return library().gpus() > 0


def rocm_built():
    """False."""
    return False
