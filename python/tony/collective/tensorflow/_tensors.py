"""TensorFlow's tensors for Collectives. Class Arrays in _arrays.py describes the functions without a docstring."""

import ctypes

import numpy
import tensorflow as tf

from .._arrays import Arrays
from .._collectives import Collectives
from ._node import tensor_array


class _Host:
    """A CPU tensor, and its memory as a numpy array."""

    __slots__ = ("tensor", "array", "shape")

    def __init__(self, tensor, array, shape):
        self.tensor, self.array, self.shape = tensor, array, shape

    @classmethod
    def of(cls, value):
        """The host tensor of a user's value: the same memory, except for GPU tensors and for scalars."""
        tensor = tf.convert_to_tensor(value)
        array = numpy.ascontiguousarray(tensor)
        return cls(tensor, array, tuple(tensor.shape))

    @classmethod
    def empty(cls, shape, dtype):
        """A new uninitialized tensor. ``dtype``: numpy's."""
        # numpy gets a copy of a scalar tensor, but the memory of any other one. So a scalar is made as a vector of one
        # element, and returned() reshapes it.
        with tf.device("CPU:0"):
            tensor = tf.raw_ops.Empty(shape=shape or (1,), dtype=tf.as_dtype(dtype))
        return cls(tensor, numpy.asarray(tensor), shape)


class EagerTensors:
    """Eager tensors. An operation reads its arguments in place and writes its result straight into the memory of the
    tensor that it returns."""

    @staticmethod
    def host(value):  # pylint: disable=missing-function-docstring
        return _Host.of(value)

    @staticmethod
    def type_code(host):  # pylint: disable=missing-function-docstring
        return Arrays.type_code(host.array)

    @staticmethod
    def item_bytes(host):  # pylint: disable=missing-function-docstring
        return host.array.itemsize

    @staticmethod
    def pointer(host):  # pylint: disable=missing-function-docstring
        return Arrays.pointer(host.array)

    @staticmethod
    def empty_like(host):  # pylint: disable=missing-function-docstring
        return _Host.empty(host.shape, host.array.dtype)

    @staticmethod
    def copy(value):  # pylint: disable=missing-function-docstring
        # Tensors are immutable, so the same one can be returned.
        return tf.convert_to_tensor(value)

    @staticmethod
    def returned(original, host, in_place):  # pylint: disable=missing-function-docstring,unused-argument
        return _placed(original, tf.reshape(host.tensor, ()) if host.shape == () else host.tensor)

    @staticmethod
    def made(output, host, original):  # pylint: disable=missing-function-docstring
        new = _Host.empty(output.shape, host.array.dtype)
        if output.buffer is not None:
            ctypes.memmove(Arrays.pointer(new.array), output.buffer, ctypes.sizeof(output.buffer))
        return _placed(original, new.tensor)

    @staticmethod
    def integers(splits):  # pylint: disable=missing-function-docstring
        return Arrays.integers(numpy.asarray(splits))

    @staticmethod
    def splits(numbers, original):  # pylint: disable=missing-function-docstring,unused-argument
        return tf.constant(numbers, tf.int32)


def _placed(original, tensor):
    """``tensor`` on the device of ``original``."""
    device = getattr(original, "device", "")
    if "GPU" not in device:
        return tensor
    with tf.device(device):
        return tf.identity(tensor)


class GraphArrays(Arrays):
    """The numpy arrays that a graph node receives and returns: in TensorFlow's memory, without a copy."""

    @staticmethod
    def empty_like(host):
        return tensor_array(host.shape, host.dtype)

    @staticmethod
    def copy(value):
        copied = tensor_array(value.shape, value.dtype)
        copied[...] = value
        return copied

    @staticmethod
    def made(output, host, original):
        new = tensor_array(output.shape, host.dtype)
        if output.buffer is not None:
            ctypes.memmove(Arrays.pointer(new), output.buffer, ctypes.sizeof(output.buffer))
        return new


eager = Collectives(EagerTensors)
graph = Collectives(GraphArrays)
