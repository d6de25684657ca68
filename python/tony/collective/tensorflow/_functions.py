"""Functions that give all ranks the same variables and objects, and nodes that ask for the ranks."""

import numpy
import tensorflow as tf

from .. import _collectives, _objects, _process
from .._process_sets import global_process_set, process_set_by_id, process_set_included
from ._calls import check_member, run, unique_name
from ._node import add_node, nodes_of
from ._ranks import number


def _tensor_variable(variable):
    """TensorFlow's variable inside a variable of Keras 3."""
    value = getattr(variable, "value", None)
    return value if isinstance(value, tf.Variable) else variable


def _broadcast_all(variables, root_rank, name, process_set):
    """Assigns the root's values, and returns them."""
    variables = [_tensor_variable(variable) for variable in variables]
    name = unique_name(name)
    labels = {f"broadcast.{name}.{at}": variable.name for at, variable in enumerate(variables)}

    def submit(operations, given):
        return [operations.broadcast_async(tensor, root_rank, f"{name}.{at}", process_set)
                for at, tensor in enumerate(given)]

    values = [tf.convert_to_tensor(variable) for variable in variables]
    if not values:
        return [], []
    values = run(submit, values, [(value.dtype, value.shape) for value in values], f"broadcast.{name}", labels)
    return values, [variable.assign(value) for variable, value in zip(variables, values)]


def broadcast_variables(variables, root_rank, process_set=global_process_set,
                        inplace=False):  # pylint: disable=unused-argument
    """Assigns the values of rank ``root_rank`` to the variables of all ranks.

    Arguments:
        variables: tf.Variable, the same number on all ranks; they are matched by their order.
        root_rank: the rank whose values are sent.
        inplace: for compatibility with Horovod.

    Returns: None; in a graph of TensorFlow 1 the operation.

    Errors: as for allreduce(); a variable's shape or type differs among ranks; a rank is gone.
    """
    check_member(process_set)
    _, assigned = _broadcast_all(list(variables), root_rank, "variables", process_set)
    # A tf.function runs it in program order.
    return None if tf.executing_eagerly() or tf.inside_function() else tf.group(*assigned)


def broadcast_(variables, root_rank, name=None, process_set=global_process_set):
    """Like broadcast_variables(). Returns the list of new values."""
    check_member(process_set)
    values, assigned = _broadcast_all(list(variables), root_rank, name or "variables_", process_set)
    with tf.control_dependencies([] if tf.executing_eagerly() else assigned):
        return [tf.identity(value) for value in values]


def broadcast_global_variables(root_rank):
    """Gives all ranks all variables of a graph of TensorFlow 1. RuntimeError: there is no such graph. Eager execution
    has no list of all variables; use broadcast_variables()."""
    if tf.executing_eagerly():
        raise RuntimeError("hvd.broadcast_global_variables() does not support eager execution. Please use "
                           "`hvd.broadcast_variables(<model/optimizer variables>)` instead.")
    return broadcast_variables(tf.compat.v1.global_variables(), root_rank)


class BroadcastGlobalVariablesHook(tf.compat.v1.train.SessionRunHook):
    """Gives all ranks the variables of rank ``root_rank`` when a session has begun. For the ``hooks`` of
    tf.compat.v1.train.MonitoredTrainingSession.

    Errors: as for broadcast_variables().
    """

    def __init__(self, root_rank, device=""):  # pylint: disable=unused-argument
        """``device``: for compatibility with Horovod."""
        super().__init__()
        self.root_rank = root_rank
        self._broadcast = None

    def begin(self):
        """The last moment at which operations can be added to the graph."""
        self._broadcast = broadcast_global_variables(self.root_rank)

    def after_create_session(self, session, coord):  # pylint: disable=unused-argument
        """The variables have been initialized, or restored."""
        session.run(self._broadcast)


def broadcast_object(obj, root_rank=0, session=None, name=None,
                     process_set=global_process_set):  # pylint: disable=unused-argument
    """Gives all ranks the object of rank ``root_rank``, by pickling it. ``session``: for compatibility with Horovod.

    Returns: the object; on rank ``root_rank`` ``obj`` itself. HorovodInternalError: as for allreduce().
    """
    return _objects.broadcast_object(obj, root_rank, name, process_set)


def broadcast_object_fn(root_rank=0, session=None, name=None,
                        process_set=global_process_set):  # pylint: disable=unused-argument
    """A function of the object that calls broadcast_object() with these arguments."""
    return lambda obj: _objects.broadcast_object(obj, root_rank, name, process_set)


def allgather_object(obj, session=None, name=None,
                     process_set=global_process_set):  # pylint: disable=unused-argument
    """Gives all ranks the objects of all ranks, by pickling them. ``session``: for compatibility with Horovod.

    Returns: a list, by rank. HorovodInternalError: as for allreduce().
    """
    return _objects.allgather_object(obj, name, process_set)


def join():
    """Waits until all ranks have called it. This rank has no more data; until then it takes part in the others'
    allreduces with zeros. No other operation is possible meanwhile.

    Returns: the last rank that has called it, a tensor of int32.
    """
    if tf.executing_eagerly():
        return tf.constant(_collectives.join(), tf.int32)
    graph = tf.compat.v1.get_default_graph()
    # No other operation is possible meanwhile, so it starts after all earlier operations of the program.
    with tf.control_dependencies(nodes_of(graph)):
        return tf.ensure_shape(add_node(lambda _: lambda: [numpy.array(_collectives.join(), numpy.int32)], [],
                                        [tf.int32], "join")[0], ())


def size_op(process_set_id=0, name=None):
    """The number of ranks in the process set with this number, when the graph is run: a tensor of int32.

    ValueError: there is no such set; in a graph tf.errors.InvalidArgumentError.
    """
    return number(lambda: process_set_by_id(process_set_id).size(), name)


def process_set_included_op(process_set_id=0, name=None):
    """1 if this rank belongs to the process set with this number, otherwise 0, when the graph is run: a tensor of
    int32.

    ValueError: as for size_op().
    """
    return number(lambda: int(process_set_included(process_set_id)), name)


def rank_op(name=None):
    """rank(), when the graph is run: a tensor of int32."""
    return number(_process.rank, name)


def local_size_op(name=None):
    """local_size(), when the graph is run: a tensor of int32."""
    return number(_process.local_size, name)


def local_rank_op(name=None):
    """local_rank(), when the graph is run: a tensor of int32."""
    return number(_process.local_rank, name)
