"""Runs collective operations at once, or as one node of a graph when that is run."""

import functools
import itertools
import re

import tensorflow as tf

from .._process_sets import set_id
from ..exceptions import HorovodInternalError, InvalidArgumentError
from ._errors import OwnFault, of_tensorflow
from ._node import add_node, is_function
from ._tensors import eager, graph


def run(submit, tensors, outputs, name, labels=None):
    """Submits operations and waits for all of them: now, or in a tf.function when its graph is run.

    All operations of one call run together, so they are fused and their order does not matter. So do all nodes of a
    graph, unless one needs another's result or has the same name; see _node.py.

    Arguments:
        submit: called as ``submit(operations, tensors)`` with a Collectives and its tensors; returns handles.
        tensors: the operations' tf.Tensor.
        outputs: (type, shape) of each result, in the order of handles; for a group, and for alltoall, of each tensor. A
            shape may have None where only the run shows it.
        name: the common name of the operations, with their kind.
        labels: the program's names of the tensors, by their full names, for errors.

    Returns: a list of tf.Tensor.

    tf.errors.UnknownError; FailedPreconditionError if the ranks do not agree; InvalidArgumentError if that is this
    rank's own fault. In eager mode these are HorovodInternalErrors, too. In a graph they are TensorFlow's alone, with
    the same text.
    """
    if tf.executing_eagerly():
        try:
            return _results(submit(eager, tensors), labels)
        except HorovodInternalError as error:
            raise of_tensorflow(error) from None

    def start(arrays):
        return functools.partial(_results, submit(graph, arrays), labels)

    results = add_node(start, tensors, [dtype for dtype, _ in outputs], name)
    for result, (_, shape) in zip(results, outputs):
        result.set_shape(shape)
    return results


def _results(handles, labels):
    results, failed = [], None
    # Waits for all handles even after a failure, because operations in progress use the tensors.
    for handle in handles:
        try:
            result = handle.wait()
            results += result if isinstance(result, (list, tuple)) else [result]
        except HorovodInternalError as error:
            failed = failed or error
    if failed is None:
        return results
    message = str(failed)
    for name, label in (labels or {}).items():
        message = message.replace(f"'{name}'", f"'{name}' ({label})")
    failed.args = (message,)
    raise failed


def check_member(process_set):
    """tf.errors.InvalidArgumentError, which is a ValueError here: this rank does not belong to the set. ValueError: it
    is no set, or not registered."""
    try:
        set_id(process_set)
    except InvalidArgumentError as error:
        raise of_tensorflow(OwnFault(str(error))) from None


def wire_name(name, tensor):
    """``name`` if there is one. In a graph, otherwise, the names of the function and of the tensor, because nobody
    knows how often its nodes are run. In a session's graph the name is unique."""
    if tf.executing_eagerly():
        return name
    if name is None:
        # The number at the end of a branch's or a loop's name differs among ranks.
        function = re.sub(r"_\d+$", "", getattr(tf.compat.v1.get_default_graph(), "name", ""))
        name = f"{function}/{tensor.name}" if function else tensor.name
    return unique_name(name)


def unique_name(name):
    """``name``, with a number appended if a session's graph has that name already.

    A session runs its nodes in any order, so two nodes of one name could be matched with the wrong nodes of other
    ranks.
    """
    graph = tf.compat.v1.get_default_graph()
    if tf.executing_eagerly() or is_function(graph):
        return name
    if not hasattr(graph, "_tony_names"):
        graph._tony_names = set()
    names = graph._tony_names
    unique = next(each for each in itertools.chain([name], map(f"{name}_{{}}".format, itertools.count(1)))
                  if each not in names)
    names.add(unique)
    return unique
