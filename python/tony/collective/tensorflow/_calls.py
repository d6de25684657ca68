"""Collective operations at once, or as one node of a graph that does them when it is run."""

import functools
import re

import tensorflow as tf

from ..exceptions import HorovodInternalError
from ._node import add_node
from ._tensors import eager, graph


def run(submit, tensors, outputs, name, labels=None):
    """Submits operations and waits for all of them: now, or in a tf.function when its graph is run.

    All that is submitted in one call is under way together, so it is fused and its order does not matter. So are all
    nodes of a graph, unless one needs another's result or has the same name: see _node.py.

    Arguments:
        submit: called as ``submit(operations, tensors)`` with a Collectives and what it takes as tensors; returns
            handles.
        tensors: tf.Tensor, of the operations.
        outputs: (type, shape) of each result, in the order of handles; of a group, and of alltoall, of each tensor. A
            shape may have None where only the run shows it.
        name: of all that is submitted, with the operation's kind.
        labels: by full names of tensors, what the program calls them: for errors.

    Returns: a list of tf.Tensor.

    HorovodInternalError: at once. In a graph it is TensorFlow's tf.errors.UnknownError, or FailedPreconditionError
    where the ranks do not agree, with the same text.
    """
    if tf.executing_eagerly():
        return _results(submit(eager, tensors), labels)

    def start(arrays):
        return functools.partial(_results, submit(graph, arrays), labels)

    results = add_node(start, tensors, [dtype for dtype, _ in outputs], name)
    for result, (_, shape) in zip(results, outputs):
        result.set_shape(shape)
    return results


def _results(handles, labels):
    results, failed = [], None
    # To the end, also after a failure: what is on its way uses the tensors.
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


def wire_name(name, tensor):
    """A name, where there is none: in a graph that of the function and of the tensor, as nobody knows how often its
    nodes are run."""
    if name is not None or tf.executing_eagerly():
        return name
    # The number at the end of a branch's or a loop's name is not the same on all ranks.
    function = re.sub(r"_\d+$", "", getattr(tf.compat.v1.get_default_graph(), "name", ""))
    return f"{function}/{tensor.name}" if function else tensor.name
