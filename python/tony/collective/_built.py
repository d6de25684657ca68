"""What Horovod's programs ask about how it was built."""


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
    """0: tensors of GPUs go through the host's memory."""
    return 0


def ddl_built():
    """False."""
    return False


def ccl_built():
    """False."""
    return False


def cuda_built():
    """False."""
    return False


def rocm_built():
    """False."""
    return False
