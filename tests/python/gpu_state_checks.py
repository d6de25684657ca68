"""Optimizers whose state lies on each rank's GPU, with the doubles of CUDA's driver and NCCL: run by run_checks.py."""

import torch

import fake_cuda
import tony.collective.torch as hvd
from tony.collective.torch.elastic import TorchState
from torch_checks import expect

fake_cuda.pretend()


class OfGpu(torch.Tensor):
    """Says that it lies on the GPU, and is given to others only as what cpu() returns."""

    device = torch.device("cuda", 0)
    __torch_function__ = torch._C._disabled_torch_function_impl

    def detach(self):
        return self

    def contiguous(self):
        return self

    def data_ptr(self):
        raise AssertionError("nobody can read this memory")

    def cpu(self):
        return torch.Tensor._make_subclass(torch.Tensor, self)

    def to(self, place):
        return self if place in (self.device, self.dtype) else self.cpu().to(place)

    def __deepcopy__(self, memo):
        return of_gpu(self.cpu().clone())


def of_gpu(values):
    return values.as_subclass(OfGpu)


def optimizer_with_state(make):
    """One that has made a step, with a state on the GPU where it is rank 0's."""
    parameter = torch.nn.Parameter(torch.zeros(3))
    optimizer = make([parameter])
    if hvd.rank() == 0:
        parameter.grad = torch.arange(1.0, 4.0)
        optimizer.step()
        for values in optimizer.state.values():
            values.update((key, of_gpu(value)) for key, value in values.items() if isinstance(value, torch.Tensor))
    return hvd.DistributedOptimizer(optimizer)


def expect_momenta(optimizer, key, factor):
    (values,) = optimizer.state_dict()["state"].values()
    assert isinstance(values[key], OfGpu) == (hvd.rank() == 0)
    expect(values[key].cpu(), factor * torch.arange(1.0, 4.0))


def check_a_state_of_the_gpu_is_given_to_all():
    for make, key, factor in ((lambda each: torch.optim.SGD(each, lr=0.1, momentum=0.9), "momentum_buffer", 1),
                              (lambda each: torch.optim.Adam(each, betas=(0.5, 0.5)), "exp_avg", 0.5)):
        optimizer = optimizer_with_state(make)
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        expect_momenta(optimizer, key, factor)
        optimizer = optimizer_with_state(make)
        TorchState(optimizer=optimizer).sync()
        expect_momenta(optimizer, key, factor)
