"""Under the name of the module that they have in Horovod; use tony.collective.tensorflow itself."""

from . import allgather_object, broadcast_, broadcast_object, broadcast_object_fn, broadcast_variables
