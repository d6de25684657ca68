"""TensorFlow's C API for adding operations. tensorflow/c/kernels.h and tensorflow/c/ops.h of its package describe each
function."""

import ctypes
import functools
import os

import tensorflow as tf

_POINTER, _INT, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
_DIMENSIONS = ctypes.POINTER(ctypes.c_int64)

# void* create(TF_OpKernelConstruction*)
Create = ctypes.CFUNCTYPE(_POINTER, _POINTER)
# void compute(void* kernel, TF_OpKernelContext*, TF_AsyncOpKernelDoneCallback*)
Compute = ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _POINTER)

_FUNCTIONS = {
    "NewStatus": (_POINTER, []),
    "SetStatus": (None, [_POINTER, _INT, ctypes.c_char_p]),
    "GetCode": (_INT, [_POINTER]),
    "Message": (ctypes.c_char_p, [_POINTER]),
    "DeleteStatus": (None, [_POINTER]),
    "AllocateTensor": (_POINTER, [_INT, _DIMENSIONS, _INT, _SIZE]),
    "DeleteTensor": (None, [_POINTER]),
    "TensorType": (_INT, [_POINTER]),
    "TensorData": (_POINTER, [_POINTER]),
    "NumDims": (_INT, [_POINTER]),
    "Dim": (ctypes.c_int64, [_POINTER, _INT]),
    "NumInputs": (_INT, [_POINTER]),
    "GetInput": (None, [_POINTER, _INT, ctypes.POINTER(_POINTER), _POINTER]),
    "SetOutput": (None, [_POINTER, _INT, _POINTER, _POINTER]),
    "OpKernelContext_Failure": (None, [_POINTER, _POINTER]),
    "OpKernelConstruction_Failure": (None, [_POINTER, _POINTER]),
    "OpKernelConstruction_GetAttrInt64": (None, [_POINTER, ctypes.c_char_p, _DIMENSIONS, _POINTER]),
    "RunAsyncOpKernelDoneCallback": (None, [_POINTER]),
    "NewOpDefinitionBuilder": (_POINTER, [ctypes.c_char_p]),
    "OpDefinitionBuilderAddAttr": (None, [_POINTER, ctypes.c_char_p]),
    "OpDefinitionBuilderAddInput": (None, [_POINTER, ctypes.c_char_p]),
    "OpDefinitionBuilderAddOutput": (None, [_POINTER, ctypes.c_char_p]),
    "OpDefinitionBuilderSetIsStateful": (None, [_POINTER, ctypes.c_bool]),
    "OpDefinitionBuilderSetShapeInferenceFunction": (None, [_POINTER, _POINTER]),
    "RegisterOpDefinition": (None, [_POINTER, _POINTER]),
    "NewAsyncKernelBuilder": (_POINTER, [ctypes.c_char_p, ctypes.c_char_p, Create, Compute, _POINTER]),
    "RegisterKernelBuilder": (None, [ctypes.c_char_p, _POINTER, _POINTER]),
}


class CApi:
    """The functions by their names without ``TF_``. They run without Python's lock. Thread safe."""

    def __init__(self, path):
        loaded = ctypes.CDLL(path)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(loaded, "TF_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        # A shape inference function, of which only the address is needed.
        self.unknown_shape = ctypes.cast(loaded.TF_ShapeInferenceContextSetUnknownShape, _POINTER)

    def checked(self, function, *arguments):
        """Calls function(*arguments, status). RuntimeError: it has failed."""
        status = self.NewStatus()
        try:
            function(*arguments, status)
            if self.GetCode(status) != 0:
                raise RuntimeError(self.Message(status).decode("utf-8", "replace"))
        finally:
            self.DeleteStatus(status)

    def fail(self, function, context, code, message):
        """Calls function(context, status). The status has ``message`` and ``code``, one of tf.errors'."""
        status = self.NewStatus()
        self.SetStatus(status, code, message.encode("utf-8", "replace"))
        function(context, status)
        self.DeleteStatus(status)


@functools.lru_cache(maxsize=None)
def c_api():
    """The C API of the loaded TensorFlow. NotImplementedError: its version has no C API for kernels."""
    folder = tf.sysconfig.get_lib()
    for name in ("libtensorflow_framework.so.2", "libtensorflow_framework.2.dylib", "libtensorflow_cc.so.2"):
        try:
            return CApi(os.path.join(folder, name))
        except (OSError, AttributeError):
            continue
    raise NotImplementedError(f"TensorFlow {tf.__version__} has no C API for asynchronous kernels in {folder}: in "
                              "graphs tony.collective needs a newer one, 2.15 for instance")


class _Function(ctypes.Structure):
    """std::function<void()> of libstdc++: std_function.h, _Function_base."""

    _fields_ = [("functor", ctypes.c_char * 16), ("manager", _POINTER), ("invoker", _POINTER)]


_Manager = ctypes.CFUNCTYPE(ctypes.c_bool, _POINTER, _POINTER, _INT)
_DESTROY = 3  # _Manager_operation


class _Symbol(ctypes.Structure):
    """Dl_info"""

    _fields_ = [("file", ctypes.c_char_p), ("base", _POINTER), ("name", ctypes.c_char_p), ("address", _POINTER)]


@functools.lru_cache(maxsize=64)
def _is_tensorflows(address):
    """Whether ``address`` lies in the code of TensorFlow's libraries."""
    found = _Symbol()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = [_POINTER, ctypes.POINTER(_Symbol)]
    return dladdr(address, ctypes.byref(found)) != 0 and b"tensorflow" in os.path.basename(found.file or b"")


class Done:
    """The completion callback of a kernel, to be called once. Making this object takes it away from TensorFlow. Not
    thread safe.

    TensorFlow passes the address of a std::function, and destroys that when the kernel's compute function returns. For
    an asynchronous kernel that is too early. So the function is moved to memory that lives longer, as its move
    constructor does it: byte by byte, and the source becomes empty.
    """

    __slots__ = ("_function",)

    def __init__(self, address):
        """``address``: of TF_AsyncOpKernelDoneCallback. NotImplementedError: the memory there does not look like a
        std::function, and was not changed."""
        given = _Function.from_address(address)
        if not (given.manager and _is_tensorflows(given.manager) and _is_tensorflows(given.invoker)):
            raise NotImplementedError(f"TensorFlow {tf.__version__}'s asynchronous kernels are not as those that "
                                      "tony.collective knows")
        self._function = _Function.from_buffer_copy(given)
        given.manager = given.invoker = None

    def run(self):
        """Tells TensorFlow that the kernel is done. Whatever waits for the kernel may continue in this thread."""
        function = self._function
        address = ctypes.addressof(function)
        c_api().RunAsyncOpKernelDoneCallback(address)
        _Manager(function.manager)(address, address, _DESTROY)
