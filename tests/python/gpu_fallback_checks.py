"""What holds for tensors of GPUs where NCCL cannot be used: run by run_checks.py.

CHECK_WARNING: a part of its warning. CHECK_DEVICES, CHECK_NCCL_VERSION: what the libraries' doubles are to have."""

import ctypes
import os
import warnings

import torch

import tony.collective.torch as hvd
from torch_checks import expect


class FakeGpu(ctypes.Structure):
    """The beginning of the doubles' struct of this name: tests/collective/gpu/fake/fake_gpu.h."""

    _fields_ = [*((name, ctypes.c_int) for name in ("devices", "driver_version", "init_result", "module_result",
                                                    "query_result")),
                ("memory", ctypes.c_size_t), ("nccl_version", ctypes.c_int)]


def prepare():
    """Before init()."""
    fake = ctypes.CDLL(os.environ["TONY_FAKE_GPU"]).tony_fake_gpu
    fake.restype = ctypes.POINTER(FakeGpu)
    found = fake().contents
    assert (found.devices, found.memory, found.nccl_version) == (4, 1 << 40, 22809), "another struct"
    found.devices = int(os.environ.get("CHECK_DEVICES", found.devices))
    found.nccl_version = int(os.environ.get("CHECK_NCCL_VERSION", found.nccl_version))


prepare()


class GpuTensor:
    """As much of one as goes through the host's memory."""

    layout = torch.strided
    device = torch.device("cuda", 0)
    dtype = torch.float32

    def __init__(self, values):
        self.values = values

    def detach(self):
        return self

    def cpu(self):
        return self.values.clone()

    def copy_(self, values):
        self.values = values.clone()

    def data_ptr(self):
        raise AssertionError("nobody can read this memory")


def check_through_the_host_with_one_warning():
    wanted = os.environ["CHECK_WARNING"]
    given = GpuTensor(torch.ones(3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in range(3):
            assert hvd.allreduce_(given, op=hvd.Sum) is given
            expect(given.values, torch.full((3,), float(hvd.size() ** (step + 1))))
    texts = [str(each.message) for each in caught]
    assert len(texts) == (1 if wanted else 0), texts
    assert not wanted or (wanted in texts[0] and "through the host's memory" in texts[0]), texts


def check_what_is_said_to_be_there():
    wanted = os.environ["CHECK_WARNING"]
    assert hvd.nccl_built() == (0 if "NCCL" in wanted else 22809)
    assert hvd.cuda_built() is ("driver" not in wanted)
