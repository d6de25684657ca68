"""Under the name of the module that they have in Horovod; use tony.collective.torch itself."""

from ..compression import Compression, FP16Compressor, NoneCompressor


class Compressor:
    """What a class of the user's own for ``compression=`` has to have."""

    @staticmethod
    def compress(tensor):
        """(what is sent, what ``decompress`` needs to know)"""
        raise NotImplementedError

    @staticmethod
    def decompress(tensor, ctx):
        """A tensor as it was before ``compress``."""
        raise NotImplementedError
