"""What is done with tensors before they are sent, so that fewer bytes are."""


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


class NoneCompressor(Compressor):
    """Sends tensors as they are."""

    @staticmethod
    def compress(tensor):
        """(what is sent, what ``decompress`` needs to know)"""
        return tensor, None

    @staticmethod
    def decompress(tensor, context):  # pylint: disable=unused-argument
        """A tensor as it was before ``compress``."""
        return tensor


class _Cast(Compressor):
    """Sends floating-point tensors as another type, which they come back from."""

    type_name = ""

    @classmethod
    def compress(cls, tensor):
        """(what is sent, what ``decompress`` needs to know)"""
        if not is_floating(tensor):
            return tensor, None
        return cast(tensor, cls.type_name), tensor.dtype

    @staticmethod
    def decompress(tensor, context):
        """A tensor as it was before ``compress``."""
        return tensor if context is None else cast(tensor, context)


class FP16Compressor(_Cast):
    """Sends floating-point tensors as float16: half of float32's bytes, 11 bits of each value, up to 65504."""

    type_name = "float16"


class BF16Compressor(_Cast):
    """Sends floating-point tensors as bfloat16: half of float32's bytes, 8 bits of each value, float32's range."""

    type_name = "bfloat16"


class Compression:
    """Optional compression of what allreduce sends."""

    none = NoneCompressor
    fp16 = FP16Compressor
    bf16 = BF16Compressor


def is_floating(tensor):
    """Whether a tensor of PyTorch's, TensorFlow's or numpy's has a floating-point type."""
    if hasattr(tensor, "is_floating_point"):
        return tensor.is_floating_point()
    if hasattr(tensor.dtype, "is_floating"):
        return tensor.dtype.is_floating
    return tensor.dtype.kind == "f" or tensor.dtype.name == "bfloat16"


def cast(tensor, dtype):
    """``tensor`` with another type, which is the framework's own or one of the names above."""
    if hasattr(tensor, "is_floating_point"):
        if isinstance(dtype, str):
            import torch
            dtype = getattr(torch, dtype)
        return tensor.to(dtype)
    if hasattr(tensor.dtype, "is_floating"):
        import tensorflow
        return tensorflow.cast(tensor, dtype)
    if dtype == "bfloat16":
        from ._arrays import bfloat16
        dtype = bfloat16()
    return tensor.astype(dtype, copy=False)
