"""Lets jax.distributed.initialize() find the other processes of a tony job.

    import jax
    import tony.jax

    jax.distributed.initialize()

JAX reads the coordinator's address from its environment, but not the number of processes and the id of this one. It asks
the launchers that it knows for them. Importing this module adds tony to them, before Slurm and others. Outside of a
job with tony.application.framework=jax it changes nothing.
"""

import os

try:
    from jax._src.clusters import ClusterEnv
except ImportError as error:
    raise ImportError(
        "tony.jax needs JAX 0.4.2 or later, with its detection of launchers. With another version leave tony.jax out and call "
        "jax.distributed.initialize(num_processes=int(os.environ['JAX_NUM_PROCESSES']), "
        "process_id=int(os.environ['JAX_PROCESS_ID']))") from error


class TonyCluster(ClusterEnv):
    """The variables that tony sets for each process of a job."""

    name = "tony"

    @classmethod
    def is_env_present(cls):
        """Whether this is a process of such a job."""
        return "JAX_NUM_PROCESSES" in os.environ and "JAX_PROCESS_ID" in os.environ

    # The arguments, a timeout and another port, differ between versions of JAX.
    @classmethod
    def get_coordinator_address(cls, *_arguments, **_keywords):
        """The address of process 0, "host:port"."""
        return os.environ["JAX_COORDINATOR_ADDRESS"]

    @classmethod
    def get_process_count(cls):
        """The number of processes."""
        return int(os.environ["JAX_NUM_PROCESSES"])

    @classmethod
    def get_process_id(cls):
        """The id of this process, from 0 on."""
        return int(os.environ["JAX_PROCESS_ID"])


# JAX asks the launchers in the order in which they were defined. A tony job may itself run inside of a Slurm allocation,
# whose numbers are not the job's.
_launchers = ClusterEnv._cluster_types  # pylint: disable=protected-access
_launchers.insert(0, _launchers.pop())
