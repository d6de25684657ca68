"""Compression of tensors for the transfer."""


class Compressor:
    """The interface of a user's own class for ``compression=``."""

    @staticmethod
    def compress(tensor):
        """(the tensor to send, the context for ``decompress``)"""
        raise NotImplementedError

    @staticmethod
    def decompress(tensor, ctx):
        """The tensor as it was before ``compress``."""
        raise NotImplementedError


class NoneCompressor(Compressor):
    """Sends tensors as they are."""

    @staticmethod
    def compress(tensor):
        """(the tensor to send, the context for ``decompress``)"""
        return tensor, None

    @staticmethod
    def decompress(tensor, context):  # pylint: disable=unused-argument
        """The tensor as it was before ``compress``."""
        return tensor


class _Cast(Compressor):
    """Sends floating-point tensors as another type, and converts the result back."""

    type_name = ""

    @classmethod
    def compress(cls, tensor):
        """(the tensor to send, the context for ``decompress``)"""
        if not is_floating(tensor):
            return tensor, None
        return cast(tensor, cls.type_name), tensor.dtype

    @staticmethod
    def decompress(tensor, context):
        """The tensor as it was before ``compress``."""
        return tensor if context is None else cast(tensor, context)


class FP16Compressor(_Cast):
    """Sends floating-point tensors as float16: half of float32's bytes, 11 bits of each value, up to 65504."""

    type_name = "float16"


class BF16Compressor(_Cast):
    """Sends floating-point tensors as bfloat16: half of float32's bytes, 8 bits of each value, float32's range."""

    type_name = "bfloat16"


class Compression:
    """Optional compression for allreduce."""

    none = NoneCompressor
    fp16 = FP16Compressor
    bf16 = BF16Compressor


def is_floating(tensor):
    """Whether a tensor of PyTorch, TensorFlow or numpy has a floating-point type."""
    if hasattr(tensor, "is_floating_point"):
        return tensor.is_floating_point()
    if hasattr(tensor.dtype, "is_floating"):
        return tensor.dtype.is_floating
    return tensor.dtype.kind == "f" or tensor.dtype.name == "bfloat16"


def cast(tensor, dtype):
    """``tensor`` converted to ``dtype``: the framework's own type, or one of the names above."""
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
