"""Under the name of the module that they have in Horovod; use tony.collective.torch itself."""

from . import allgather_object, broadcast_object, broadcast_optimizer_state, broadcast_parameters
