"""Under the name of the module that it has in Horovod; use tony.collective.tensorflow itself."""

from . import SyncBatchNormalization
