"""A graph node for collective operations, which blocks none of TensorFlow's threads while it waits.

A tf.numpy_function would not do: it waits in a thread of TensorFlow's pool, which has as many threads as the machine
has cores. If a graph has more operations than that, and the ranks begin them in different orders, as executors may,
each rank's threads wait for operations that another rank cannot begin. That is a deadlock.

So the node is an asynchronous kernel, like Horovod's. Its operation is registered through TensorFlow's C API:

 1. TensorFlow runs the kernel once the node's inputs are there. The kernel submits, which never waits, and returns.
 2. A thread of our own waits. There is always one more thread than waiting nodes.
 3. When the operation is done, that thread passes the results to TensorFlow.

So everything that can be submitted is submitted, however few threads TensorFlow has and in whatever order operations
come. No operation depends on anything but its inputs. In a tf.function, automatic control dependencies would order the
nodes because they are stateful: the first would have to finish before the second begins. The nodes are exempt from that
("run independently"). Still all of them run and finish before the function, the branch of a tf.cond or the round of a
tf.while_loop ends.

Proof that every operation ends, by induction over an order of operations that respects their dependencies: the first
unfinished one has its inputs on all ranks, so it is submitted on all ranks, so it will finish or fail.

A loop may run a node again before it is done (parallel_iterations). The second run waits for the first, because its
name is in use. It waits here, and not in a thread of TensorFlow.
"""

import collections
import ctypes
import itertools
import math
import os
import queue
import threading
import weakref

import numpy
import tensorflow as tf

from .. import _library
from ._c_api import Compute, Create, Done, c_api
from ._errors import code_of

_OPERATION = "TonyCollective"
_registering = threading.Lock()
_callbacks = []  # functions for TensorFlow, which live as long as the process
_nodes = weakref.WeakValueDictionary()  # by token
_tokens = itertools.count(1)


def add_node(start, tensors, types, name):
    """Adds a node to the default graph.

    Arguments:
        start: called as ``start(arrays)`` when the node is run, with its inputs as numpy arrays; must not wait. Returns
            a function that waits, and then returns the list of results: arrays, preferably of tensor_array().
        tensors: the node's inputs, tf.Tensor.
        types: the tf.DType of each result.
        name: the name by which the ranks match the node. Nodes of a function with the same name run one after the
            other, in program order, because two operations with one name cannot be in progress. In a session's graph
            names must be different.

    Returns: a list of tf.Tensor of unknown shape.

    NotImplementedError: this TensorFlow does not support such nodes. When the node is run, exceptions of ``start`` and
    of the returned function become TensorFlow's, as in Horovod: tf.errors.FailedPreconditionError if ranks do not agree
    or before init(), InvalidArgumentError for another ValueError, and UnknownError for anything else.
    """
    _register()
    token = next(_tokens)
    _nodes[token] = node = _Node(start, types)
    graph = tf.compat.v1.get_default_graph()
    _keep(graph, node)
    if not hasattr(graph, "_tony_last"):
        graph._tony_last = {}
    attributes = {"token": tf.compat.v1.AttrValue(i=token), "Tin": _types([tensor.dtype for tensor in tensors]),
                  "Tout": _types(types)}
    # Not in a session's graph: a session runs only the operations that it is asked for.
    last = graph._tony_last.get(name) if is_function(graph) else None
    with graph.control_dependencies([] if last is None else [last]):
        operation = graph.create_op(_OPERATION, list(tensors), list(types), attrs=attributes, name=_OPERATION)
    graph._tony_last[name] = operation
    manager = getattr(graph, "experimental_acd_manager", None)  # the manager of automatic control dependencies
    if manager is not None:
        manager.run_independently(operation)
    return list(operation.outputs)


def is_function(graph):
    """Whether ``graph`` belongs to a function, a branch or a loop, and not to a session."""
    return hasattr(graph, "outer_graph")


def nodes_of(graph):
    """The operations that add_node() has made in ``graph``."""
    return [operation for operation in graph.get_operations() if operation.type == _OPERATION]


def tensor_array(shape, dtype):
    """An uninitialized array in TensorFlow's memory, which TensorFlow takes as a result without a copy."""
    api, dtype = c_api(), numpy.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    tensor = api.AllocateTensor(tf.as_dtype(dtype).as_datatype_enum, (ctypes.c_int64 * len(shape))(*shape), len(shape),
                                size)
    if not tensor:
        raise MemoryError(f"TensorFlow has no memory for {size} bytes")
    return _view(tensor, shape, dtype)


class _TensorArray(numpy.ndarray):
    """An array in the memory of a TF_Tensor, which lives as long as the array and its views."""

    tensor = None  # for views, which have another shape or type


def _view(tensor, shape, dtype):
    """An array of a whole TF_Tensor, which is deleted with the array."""
    api = c_api()
    size = math.prod(shape) * dtype.itemsize
    # A tensor without elements gets a dummy byte.
    buffer = (ctypes.c_char * size).from_address(api.TensorData(tensor)) if size else ctypes.create_string_buffer(1)
    # At the end of the process the memory is freed anyway.
    weakref.finalize(buffer, api.DeleteTensor, tensor).atexit = False
    array = numpy.frombuffer(buffer, numpy.uint8)[:size].view(dtype).reshape(shape).view(_TensorArray)
    array.tensor = tensor
    return array


def _types(types):
    return tf.compat.v1.AttrValue(list=tf.compat.v1.AttrValue.ListValue(type=[each.as_datatype_enum for each in types]))


def _keep(graph, node):
    """Keeps the node alive as long as the outermost graph, which contains all others as functions."""
    while getattr(graph, "outer_graph", None) is not None:
        graph = graph.outer_graph
    if not hasattr(graph, "_tony_nodes"):
        graph._tony_nodes = []
    graph._tony_nodes.append(node)


def _register():
    """Registers the operation with TensorFlow, once."""
    with _registering:
        if _callbacks:
            return
        api = c_api()
        operation = api.NewOpDefinitionBuilder(_OPERATION.encode())
        for attribute in (b"token: int", b"Tin: list(type) >= 0", b"Tout: list(type) >= 1"):
            api.OpDefinitionBuilderAddAttr(operation, attribute)
        api.OpDefinitionBuilderAddInput(operation, b"input: Tin")
        api.OpDefinitionBuilderAddOutput(operation, b"output: Tout")
        # A stateful operation is never left out, merged with an equal one, or run while the graph is optimized.
        api.OpDefinitionBuilderSetIsStateful(operation, True)
        api.OpDefinitionBuilderSetShapeInferenceFunction(operation, api.unknown_shape)
        api.checked(api.RegisterOpDefinition, operation)
        create, compute = Create(_create), Compute(_compute)
        kernel = api.NewAsyncKernelBuilder(_OPERATION.encode(), b"CPU", create, compute, None)
        api.checked(api.RegisterKernelBuilder, _OPERATION.encode(), kernel)
        _callbacks.extend((create, compute))


def _create(construction):
    """Returns the token as the kernel's own pointer."""
    api, token = c_api(), ctypes.c_int64()
    try:
        api.checked(api.OpKernelConstruction_GetAttrInt64, construction, b"token", ctypes.byref(token))
    except RuntimeError as error:
        api.fail(api.OpKernelConstruction_Failure, construction, tf.errors.INTERNAL, str(error))
    return token.value


def _compute(token, context, done):
    try:
        called = Done(done)
    except Exception as error:  # pylint: disable=broad-except
        _fail(context, error)
        c_api().RunAsyncOpKernelDoneCallback(done)
        return
    node = _nodes.get(token)
    if node is None:
        _fail(context, RuntimeError("this graph is of another process: its collective operations are not here"))
        called.run()
        return
    node.run(context, called)


def _fail(context, error):
    """Fails the node's run with TensorFlow's counterpart of a Python exception."""
    api = c_api()
    api.fail(api.OpKernelContext_Failure, context, code_of(error), f"{type(error).__name__}: {error}")


class _Node:
    """The runs of a node, one after the other. Thread safe."""

    def __init__(self, start, types):
        self._start, self._types = start, list(types)
        self._lock = threading.Lock()
        self._runs = collections.deque()  # (context, done); the first one is in progress

    def run(self, context, done):
        """Begins a run, at once or when the last run has ended; does not wait."""
        with self._lock:
            self._runs.append((context, done))
            if len(self._runs) > 1:
                return
        self._begin()

    def _begin(self):
        context = self._runs[0][0]
        try:
            wait = self._start(_inputs(context))
        except BaseException as error:  # pylint: disable=broad-except
            self._end(error)
            return
        _threads.run(lambda: self._finish(context, wait))

    def _finish(self, context, wait):
        failed = None
        try:
            self._set_outputs(context, wait())
        except BaseException as error:  # pylint: disable=broad-except
            failed = error
        self._end(failed)

    def _set_outputs(self, context, results):
        api = c_api()
        if len(results) != len(self._types):
            raise RuntimeError(f"{len(results)} results instead of {len(self._types)}")
        for at, (result, dtype) in enumerate(zip(results, self._types)):
            if tf.as_dtype(result.dtype) != dtype:
                raise RuntimeError(f"result {at} is of {result.dtype} instead of {dtype.name}")
            if getattr(result, "tensor", None) is None:
                array = tensor_array(result.shape, result.dtype)
                array[...] = result
                result = array
            api.checked(api.SetOutput, context, at, result.tensor)

    def _end(self, failed):
        with self._lock:
            context, done = self._runs.popleft()
            more = bool(self._runs)
        if failed is not None:
            _fail(context, failed)
        if more:
            _threads.run(self._begin)
        done.run()


def _inputs(context):
    """The node's inputs as arrays in TensorFlow's memory. ValueError: no operation supports an input's type."""
    api, arrays = c_api(), []
    for at in range(api.NumInputs(context)):
        tensor = ctypes.c_void_p()
        api.checked(api.GetInput, context, at, ctypes.byref(tensor))
        tensor = tensor.value
        dtype = tf.as_dtype(api.TensorType(tensor))
        if dtype.name not in _library.TYPES:
            api.DeleteTensor(tensor)
            _library.type_code(dtype.name)
        shape = tuple(api.Dim(tensor, each) for each in range(api.NumDims(tensor)))
        arrays.append(_view(tensor, shape, numpy.dtype(dtype.as_numpy_dtype)))
    return arrays


class _Threads:
    """As many threads as there are simultaneous tasks, and no more; no task waits for another. Thread safe."""

    def __init__(self):
        self._lock = threading.Lock()
        self._tasks = queue.SimpleQueue()
        self._free = 0  # idle threads for which there is no task in the queue

    def run(self, task):
        """Calls ``task()`` in one of the threads."""
        with self._lock:
            if self._free == 0:
                threading.Thread(target=self._work, name="tony.collective.tensorflow", daemon=True).start()
            else:
                self._free -= 1
        self._tasks.put(task)

    def _work(self):
        while True:
            self._tasks.get()()
            with self._lock:
                self._free += 1


_threads = _Threads()


def _after_fork():
    global _threads  # pylint: disable=global-statement
    _threads = _Threads()  # a forked child does not have the parent's threads


os.register_at_fork(after_in_child=_after_fork)
try:
    _register()  # at import, so that a saved graph with such nodes can be loaded; its nodes fail when they are run
except NotImplementedError:
    pass  # add_node() raises it again
