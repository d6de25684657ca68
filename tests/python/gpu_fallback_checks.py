"""What holds for tensors of GPUs where NCCL cannot be used: run by run_checks.py.

CHECK_WARNING: a part of its warning."""

import os
import warnings

import torch

import tony.collective.torch as hvd
from torch_checks import expect


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
