"""Checks of GPU tensors in one rank, with the fakes of CUDA's driver and NCCL: run by run_checks.py."""

import threading
import warnings

import torch

import fake_cuda
import tony.collective.torch as hvd
from array_checks import expect_error
from torch_checks import expect

warnings.simplefilter("error")
CUDA = fake_cuda.pretend()
DEADLINE_SECONDS = 60


def streamed():
    """Waits until the current stream has done what it was given."""
    done = threading.Event()
    CUDA.stream.give(done.set)
    assert done.wait(DEADLINE_SECONDS)


def check_what_is_said_to_be_there():
    assert hvd.nccl_built() == 22809
    assert hvd.cuda_built() is True


def check_each_operation():
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.uint8):
        values = torch.arange(6).to(dtype).reshape(3, 2)
        given = fake_cuda.GpuTensor(values)
        for result in (hvd.allreduce(given, op=hvd.Sum), hvd.allreduce_(given, op=hvd.Max), hvd.broadcast_(given, 0),
                       hvd.allgather(given), hvd.reducescatter(given, op=hvd.Sum), hvd.alltoall(given),
                       *hvd.grouped_allreduce([given, given], op=hvd.Sum), *hvd.grouped_allgather([given])):
            streamed()
            assert isinstance(result, (fake_cuda.GpuTensor, fake_cuda.Wrapped))
            expect(result.cpu(), values)
    made, received = hvd.alltoall(given, splits=[3])
    streamed()
    expect(made.cpu(), values)
    expect(received, torch.tensor([3], dtype=torch.int32))


def check_what_nccl_does_not_have_goes_through_the_host():
    given = fake_cuda.GpuTensor(torch.tensor([1.0, 2.0]))
    assert hvd.allreduce_(given, op=hvd.Adasum) is given
    expect(given.cpu(), torch.tensor([1.0, 2.0]))
    short = fake_cuda.GpuTensor(torch.tensor([1, 2], dtype=torch.int16))
    hvd.allreduce_(short, op=hvd.Sum)
    expect(short.cpu(), torch.tensor([1, 2], dtype=torch.int16))


def check_the_host_waits_for_no_stream():
    computed = threading.Event()
    gradient = fake_cuda.GpuTensor(torch.zeros(4))
    seen = []

    def backward():
        assert computed.wait(DEADLINE_SECONDS)
        gradient.fill(torch.full((4,), 3.0))

    CUDA.stream.give(backward)
    handle = hvd.allreduce_async_(gradient, op=hvd.Sum)
    # Returns although what computes it has not ended; what comes next on the stream is after the reduction.
    assert hvd.synchronize(handle) is gradient
    CUDA.stream.give(lambda: seen.append(gradient.cpu()))
    assert not seen
    computed.set()
    streamed()
    expect(seen[0], torch.full((4,), 3.0))


def check_poll_is_about_the_gpu():
    computed = threading.Event()
    gradient = fake_cuda.GpuTensor(torch.zeros(4))
    CUDA.stream.give(lambda: computed.wait(DEADLINE_SECONDS))
    handle = hvd.allreduce_async_(gradient, op=hvd.Sum)
    assert not hvd.poll(handle)
    computed.set()
    hvd.synchronize(handle)
    streamed()


def check_memory_of_no_gpu_is_an_error():
    class Elsewhere(fake_cuda.GpuTensor):
        """Says that it is a GPU's."""

        def data_ptr(self):
            return HOST.data_ptr()

    expect_error(hvd.HorovodInternalError, "memory is of no GPU that the driver knows", hvd.allreduce,
                 Elsewhere(torch.zeros(2)), op=hvd.Sum)


HOST = torch.zeros(2)
