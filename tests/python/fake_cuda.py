"""PyTorch's tensors, streams and events of a GPU, as far as tony.collective.torch uses them, on the double of CUDA's
driver (TONY_CUDA_LIBRARY): its memory is this process's, and its streams are threads."""

import ctypes
import os
import types
import unittest.mock

import torch

STREAM_NON_BLOCKING, EVENT_DISABLE_TIMING, PRIORITY = 1, 2, -5
HostFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Driver:
    """Calls of the driver, in the context of the first GPU."""

    def __init__(self):
        self._library = ctypes.CDLL(os.environ["TONY_CUDA_LIBRARY"])
        self.call("cuInit", 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 100)
        self.call("cuCtxPushCurrent_v2", context)

    def call(self, name, *arguments):
        result = getattr(self._library, name)(*arguments)
        assert result == 0, f"{name}: {result}"

    def made(self, name, *arguments):
        """The object that a function makes; the function's first argument is its address."""
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle.value


class Stream:
    """The current one."""

    def __init__(self, driver):
        self._driver = driver
        self.cuda_stream = driver.made("cuStreamCreateWithPriority", STREAM_NON_BLOCKING, PRIORITY)
        self._called = []

    def give(self, function):
        """Calls it in the stream's order, from another thread."""
        called = HostFunction(lambda _: function())
        self._called.append(called)
        self._driver.call("cuLaunchHostFunc", ctypes.c_void_p(self.cuda_stream), called, None)


class Event:
    """torch.cuda.Event."""

    def __init__(self):
        self.cuda_event = CUDA.driver.made("cuEventCreate", EVENT_DISABLE_TIMING)

    def record(self, stream):
        CUDA.driver.call("cuEventRecord", ctypes.c_void_p(self.cuda_event), ctypes.c_void_p(stream.cuda_stream))


class GpuTensor:
    """Values of a tensor of the CPU's in memory of the GPU."""

    layout = torch.strided
    device = types.SimpleNamespace(type="cuda", index=0)
    requires_grad = False

    def __init__(self, values):
        self.dtype, self.shape = values.dtype, tuple(values.shape)
        self._bytes = values.numel() * values.element_size()
        self._address = CUDA.driver.made("cuMemAlloc_v2", ctypes.c_size_t(max(1, self._bytes)))
        self.fill(values)

    @classmethod
    def __torch_function__(cls, function, kinds, arguments=(), options=None):
        assert function is torch.empty_like, function
        return cls(torch.zeros(arguments[0].shape, dtype=arguments[0].dtype))

    def fill(self, values):
        """At once, whatever streams do."""
        ctypes.memmove(self._address, values.contiguous().data_ptr(), self._bytes)

    def cpu(self):
        values = torch.empty(self.shape, dtype=self.dtype)
        ctypes.memmove(values.data_ptr(), self._address, self._bytes)
        return values

    def detach(self):
        return self

    def contiguous(self):
        return self

    def to(self, device):
        assert device is self.device
        return self

    def copy_(self, values):
        self.fill(values.cpu())

    def data_ptr(self):
        return self._address

    def element_size(self):
        return torch.empty(0, dtype=self.dtype).element_size()


class Wrapped:
    """The result of torch.as_tensor() for GPU memory; it reads the memory when it is asked."""

    def __init__(self, memory, device):
        assert device is GpuTensor.device
        interface = memory.__cuda_array_interface__
        assert interface["typestr"] == "|u1" and interface["version"] == 3
        self._memory, self._dtype, self._shape = memory, torch.uint8, interface["shape"]

    def view(self, dtype):
        self._dtype = dtype
        return self

    def reshape(self, shape):
        self._shape = shape
        return self

    def cpu(self):
        address, _ = self._memory.__cuda_array_interface__["data"]
        size = self._memory.__cuda_array_interface__["shape"][0]
        return torch.frombuffer(bytearray(ctypes.string_at(address, size)), dtype=self._dtype).reshape(self._shape)


class Cuda:
    """The driver and its current stream."""

    def __init__(self):
        self.driver = Driver()
        self.stream = Stream(self.driver)


CUDA = None


def pretend():
    """From here on torch.cuda is the double."""
    global CUDA  # pylint: disable=global-statement
    CUDA = Cuda()
    as_tensor = torch.as_tensor

    def as_tensor_of(value, device=None, **options):
        if hasattr(value, "__cuda_array_interface__"):
            return Wrapped(value, device)
        return as_tensor(value, device=device, **options)

    for target, name, value in ((torch.cuda, "Event", Event), (torch, "as_tensor", as_tensor_of),
                                (torch.cuda, "current_stream", lambda device: CUDA.stream)):
        unittest.mock.patch.object(target, name, value).start()
    return CUDA
