"""Under the name of the module that it has in Horovod; use tony.collective.torch itself."""

from . import DistributedOptimizer
