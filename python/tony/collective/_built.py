"""What Horovod's programs ask about how it was built; here about what there is."""

from ._library import library


def mpi_threads_supported():
    """False: MPI has no part here."""
    return False


def mpi_enabled():
    """False: MPI has no part here."""
    return False


def mpi_built():
    """False: MPI has no part here."""
    return False


def gloo_enabled():
    """False: ranks are connected by tony's own library, which meets like Gloo."""
    return False


def gloo_built():
    """False, like gloo_enabled()."""
    return False


def nccl_built():
    """NCCL's version, such as 22809, where this process can load one that is new enough (docs/gpu.md); else 0."""
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
