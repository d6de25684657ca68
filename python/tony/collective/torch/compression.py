"""Under the name of the module that they have in Horovod; use tony.collective.torch itself."""

from ..compression import Compression, Compressor, FP16Compressor, NoneCompressor
