"""The number of ranks and this rank's number, for graphs. In an elastic job a graph outlives the round in which it was
made."""

import os

import numpy
import tensorflow as tf

from .. import _process


def may_change():
    """Whether the current call belongs to a graph that may later run with other ranks."""
    return os.environ.get("HOROVOD_ELASTIC") == "1" and not tf.executing_eagerly()


def size(process_set):
    """The number of ranks in the set, or a tensor of int32 if that may change."""
    return number(process_set.size) if may_change() else process_set.size()


def rank(process_set):
    """This rank's number in the set, or a tensor of int32 if that may change."""
    return number(process_set.rank) if may_change() else process_set.rank()


def is_rank(which):
    """Whether this is the rank ``which`` of the job: a bool, or a tensor of it."""
    return tf.equal(number(_process.rank), which) if may_change() else _process.rank() == which


def number(function, name=None):
    """The result of ``function`` when it is called now, or when the graph is run: a tensor of int32."""
    if tf.executing_eagerly():
        return tf.constant(function(), tf.int32)
    result = tf.numpy_function(lambda: numpy.int32(function()), [], tf.int32, name=name)
    result.set_shape(())
    return result
