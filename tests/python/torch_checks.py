"""Checks on each rank for PyTorch's tensors: run by run_checks.py."""

import ctypes
import warnings

import torch

import tony.collective.torch as hvd
from array_checks import expect_error, everybody
from tony.collective import _library

TYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
         torch.float64)


def expect(actual, expected):
    """The same type, shape and values."""
    assert actual.dtype == expected.dtype, f"{actual.dtype} instead of {expected.dtype}"
    assert actual.shape == expected.shape, f"{actual.shape} instead of {expected.shape}"
    assert torch.equal(actual, expected), f"{actual} instead of {expected}"


def check_allreduce_of_each_type():
    for dtype in TYPES:
        given = torch.arange(10).to(dtype) + hvd.rank()
        total = sum(everybody(lambda rank, dtype=dtype: torch.arange(10).to(dtype) + rank))
        expect(hvd.allreduce(given, op=hvd.Sum), total.to(dtype))
        handle = hvd.allreduce_async_(given, op=hvd.Max)
        assert hvd.synchronize(handle) is given
        expect(given, torch.arange(10).to(dtype) + (hvd.size() - 1))
    expect(hvd.allreduce(torch.tensor([True, hvd.rank() == 0]), op=hvd.Min), torch.tensor([True, hvd.size() == 1]))


def given_to_library(function, call):
    """The arguments that call() passes to the library's ``function``, as a list, with the contents of arrays."""
    lib, given = _library.library(), []
    original = getattr(lib, function)

    def watched(*arguments):
        for each in arguments:
            given.extend(each if isinstance(each, ctypes.Array) else [each])
        return original(*arguments)

    setattr(lib, function, watched)
    try:
        call()
    finally:
        setattr(lib, function, original)
    return given


def check_memory_is_used_as_it_is():
    given = torch.ones(12 * 7)  # rows for any of the numbers of ranks
    for function, call, times in (
            ("allreduce", lambda: hvd.allreduce_(given, op=hvd.Sum), 2),  # in and out
            ("allreduce", lambda: hvd.allreduce(given), 1),
            ("grouped_allreduce", lambda: hvd.grouped_allreduce_([torch.ones(2), given]), 2),
            ("broadcast", lambda: hvd.broadcast_(given, 0), 1),
            ("allgather", lambda: hvd.allgather(given), 1),
            ("reducescatter", lambda: hvd.reducescatter(given), 1),
            ("alltoall", lambda: hvd.alltoall(given), 1)):
        assert given_to_library(function, call).count(given.data_ptr()) == times, function
    parameter = torch.nn.Parameter(torch.full((3,), float(hvd.rank())))
    assert hvd.broadcast_(parameter, 0) is parameter
    expect(parameter.data, torch.zeros(3))


def check_memory_that_ranks_share():
    for shape in ((1 << 18,), (3, 5), (0, 2), ()):
        given = hvd.empty(*shape) if shape else hvd.empty(())
        assert given.shape == torch.Size(shape) and given.dtype == torch.float32
        given.fill_(hvd.rank() + 1)
        address = given.data_ptr()
        assert hvd.allreduce_(given, op=hvd.Average) is given
        assert given.data_ptr() == address
        expect(given, torch.full(shape, (hvd.size() + 1) / 2))
    assert hvd.empty(2, 3, dtype=torch.bfloat16).element_size() == 2


def check_other_layouts():
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    for view in (base.t(), base[::2, 1::2], base[1], torch.tensor(3.0), torch.zeros(0), torch.zeros(2, 0),
                 torch.ones(1).expand(5)):
        expect(hvd.allreduce(view, op=hvd.Sum), view * hvd.size())
    strided = base.clone()
    hvd.allreduce_(strided[:, ::2], op=hvd.Sum)
    expect(strided[:, ::2], base[:, ::2] * hvd.size())
    expect(strided[:, 1::2], base[:, 1::2])
    expect_error(ValueError, "sparse", hvd.allreduce, torch.eye(2).to_sparse())
    expect_error(ValueError, "complex64", hvd.allreduce, torch.ones(2, dtype=torch.complex64))


def check_new_tensors():
    rank, size = hvd.rank(), hvd.size()
    rows = torch.cat(everybody(lambda other: torch.full((other + 1, 2), other, dtype=torch.bfloat16)))
    expect(hvd.allgather(torch.full((rank + 1, 2), rank, dtype=torch.bfloat16)), rows)
    expect(hvd.allgather(torch.zeros(0, 3)), torch.zeros(0, 3))
    expect(hvd.broadcast(torch.full((2,), float(rank)), size - 1), torch.full((2,), float(size - 1)))
    expect(hvd.reducescatter(torch.arange(2 * size), op=hvd.Sum), torch.arange(2 * rank, 2 * rank + 2) * size)
    result, received = hvd.alltoall(torch.full((2 * size,), rank), splits=torch.tensor([2] * size))
    expect(result, torch.cat(everybody(lambda other: torch.tensor([other, other]))))
    expect(received, torch.tensor([2] * size))
    grouped = hvd.grouped_allreduce([torch.ones(2), torch.ones(3)], op=hvd.Sum)
    expect(grouped[1], torch.full((3,), float(size)))


def check_compression():
    given = torch.linspace(0, 1, 7)
    for compression in (hvd.Compression.fp16, hvd.Compression.bf16):
        result = hvd.allreduce(given, compression=compression)
        assert result.dtype == torch.float32 and torch.allclose(result, given, rtol=1e-2)


def check_gradients_flow():
    size, rank = hvd.size(), hvd.rank()
    x = torch.ones(3, requires_grad=True)
    hvd.allreduce(x, op=hvd.Sum).sum().backward()
    expect(x.grad, torch.full((3,), float(size)))
    x = torch.ones(3, requires_grad=True)
    sum(y.sum() for y in hvd.grouped_allreduce([x, 2 * x], op=hvd.Sum)).backward()
    expect(x.grad, torch.full((3,), 3.0 * size))
    x = torch.ones(rank + 1, 2, requires_grad=True)
    (hvd.allgather(x) * (rank + 1)).sum().backward()
    expect(x.grad, torch.full((rank + 1, 2), (size + 1) / 2))
    x = torch.ones(2, requires_grad=True)
    hvd.broadcast(x, 0).sum().backward()
    expect(x.grad, torch.full((2,), 1.0 if rank == 0 else 0.0))
    x = torch.ones(size, 2, requires_grad=True)
    hvd.reducescatter(x, op=hvd.Sum).sum().backward()
    expect(x.grad, torch.full((size, 2), float(size)))
    x = torch.ones(size, requires_grad=True)
    (hvd.alltoall(x) * (rank + 1)).sum().backward()
    expect(x.grad, torch.arange(1.0, size + 1))


# The optimizer: ranks with a part of a batch each end with the parameters of one process with all of it.

STEPS, ROWS = 4, 12


def model_of(seed=1):
    """Small, with a parameter that no gradient reaches."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 2))
    model.register_parameter("unused", torch.nn.Parameter(torch.ones(3)))
    return model


def batch_of(step):
    """Rows for all ranks."""
    generator = torch.Generator().manual_seed(step)
    return torch.randn(ROWS, 5, generator=generator), torch.randn(ROWS, 2, generator=generator)


def loss_of(model, rows, step):
    x, y = (part[rows] for part in batch_of(step))
    return torch.nn.functional.mse_loss(model(x), y)


def own_rows():
    count = ROWS // hvd.size()
    return slice(hvd.rank() * count, (hvd.rank() + 1) * count)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def train_alone(make=sgd, scale=1.0):
    """Parameters after STEPS steps with whole batches."""
    model = model_of()
    optimizer = make(model)
    for step in range(STEPS):
        optimizer.zero_grad()
        (scale * loss_of(model, slice(0, ROWS), step)).backward()
        optimizer.step()
    return model


def expect_same_everywhere(model):
    for name, parameter in model.named_parameters():
        copies = hvd.allgather(parameter.data.reshape(1, -1))
        assert all(torch.equal(copies[0], copy) for copy in copies), f"{name} differs among ranks"


def expect_close(model, reference, tolerance=1e-5):
    expect_same_everywhere(model)
    for (name, mine), other in zip(model.named_parameters(), reference.parameters()):
        difference = (mine - other).abs().max().item()
        assert difference <= tolerance, f"{name} differs by {difference} from that of one process"


def train(make=sgd, steps=STEPS, **options):
    """A model of all ranks."""
    model = model_of(seed=hvd.rank() + 1)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = hvd.DistributedOptimizer(make(model), named_parameters=model.named_parameters(), **options)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model, own_rows(), step).backward()
        optimizer.step()
    return model


def check_training_is_that_of_one_process():
    expect_close(train(), train_alone())
    expect_close(train(make=lambda model: torch.optim.Adam(model.parameters())),
                 train_alone(make=lambda model: torch.optim.Adam(model.parameters())), 1e-4)
    expect_close(train(gradient_predivide_factor=2.0), train_alone())
    expect_close(train(op=hvd.Sum), train_alone(scale=hvd.size()))
    expect_close(train(compression=hvd.Compression.fp16), train_alone(), 1e-2)


def check_training_in_groups():
    expect_close(train(groups=2), train_alone())
    expect_close(train(groups=100), train_alone())
    model = model_of()
    parameters = list(model.parameters())
    optimizer = hvd.DistributedOptimizer(sgd(model), groups=[parameters[:2], [parameters[3]]])
    for step in range(STEPS):
        loss_of(model, own_rows(), step).backward()
        optimizer.step()
        optimizer.zero_grad()
    expect_close(model, train_alone())


def check_groups_of_parameters_that_are_not_trained():
    model = model_of()
    model.register_parameter("frozen", torch.nn.Parameter(torch.ones(2), requires_grad=False))
    groups = [[model.frozen, *model[0].parameters()], [model.frozen.detach()], list(model_of()[0].parameters())]
    optimizer = hvd.DistributedOptimizer(sgd(model), model.named_parameters(), groups=groups)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(model, own_rows(), step).backward()
        optimizer.step()
    expect(model.frozen.data, torch.ones(2))
    del model.frozen
    expect_close(model, train_alone())


def check_several_backward_passes():
    model = model_of()
    optimizer = hvd.DistributedOptimizer(sgd(model), model.named_parameters(), backward_passes_per_step=2)
    rows = own_rows()
    middle = (rows.start + rows.stop) // 2 if hvd.size() != 4 else rows.start + 1
    halves = (slice(rows.start, middle), slice(middle, rows.stop))
    for step in range(STEPS):
        optimizer.zero_grad()
        for half in halves:
            share = (half.stop - half.start) / (rows.stop - rows.start)
            (share * loss_of(model, half, step)).backward()
        optimizer.step()
    expect_close(model, train_alone())
    if hvd.size() > 1:
        loss_of(model, rows, 0).backward()
        loss_of(model, rows, 0).backward()
        expect_error(AssertionError, "backward_passes_per_step", loss_of(model, rows, 0).backward)
        optimizer.synchronize()


def check_clipping_between_synchronize_and_step():
    def clipped(model, optimizer, rows, step):
        optimizer.zero_grad()
        loss_of(model, rows, step).backward()
        if hasattr(optimizer, "synchronize"):
            optimizer.synchronize()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)

    model, alone = model_of(), model_of()
    optimizer, plain = hvd.DistributedOptimizer(sgd(model), model.named_parameters()), sgd(alone)
    for step in range(STEPS):
        clipped(model, optimizer, own_rows(), step)
        with optimizer.skip_synchronize():
            optimizer.step()
        clipped(alone, plain, slice(0, ROWS), step)
        plain.step()
    expect_close(model, alone)
    optimizer.synchronize()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        optimizer.step()
    assert any("skip_synchronize" in str(each.message) for each in caught)


def check_zero_grad_before_step_is_refused():
    if hvd.size() == 1:
        return
    model = model_of()
    optimizer = hvd.DistributedOptimizer(sgd(model), model.named_parameters())
    loss_of(model, own_rows(), 0).backward()
    expect_error(AssertionError, "race condition", optimizer.zero_grad)
    optimizer.step()


def check_ranks_that_use_other_parameters():
    first, second = (torch.nn.Parameter(torch.zeros(2)) for _ in range(2))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([first, second], lr=1.0), op=hvd.Sum)
    (first if hvd.rank() == 0 else second).sum().backward()
    optimizer.step()
    expect(first.data, torch.full((2,), -1.0))
    expect(second.data, torch.full((2,), 1.0 - hvd.size()))


def check_sparse_gradients():
    for as_dense in (False, True):
        embedding = torch.nn.Embedding(6, 2, sparse=True)
        torch.nn.init.zeros_(embedding.weight)
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(embedding.parameters(), lr=1.0),
                                             embedding.named_parameters(), sparse_as_dense=as_dense)
        embedding(torch.tensor([hvd.rank(), 5])).sum().backward()
        optimizer.step()
        expected = torch.zeros(6, 2)
        expected[:hvd.size()] = -1 / hvd.size()
        expected[5] = -1
        assert torch.allclose(embedding.weight.data, expected), embedding.weight


def check_optimizer_state():
    model = model_of()
    make = (lambda: torch.optim.Adam(model.parameters(), lr=0.5 if hvd.rank() == 0 else 0.1))
    optimizer = make()
    if hvd.rank() == 0:
        loss_of(model, slice(0, ROWS), 0).backward()
        optimizer.step()
    wrapped = hvd.DistributedOptimizer(optimizer, model.named_parameters())
    hvd.broadcast_optimizer_state(wrapped, root_rank=0)
    state = wrapped.state_dict()
    assert state["param_groups"][0]["lr"] == 0.5, state["param_groups"]
    assert len(state["state"]) == 4, state["state"].keys()
    norm = sum(each["exp_avg"].abs().sum() for each in state["state"].values()).reshape(1)
    norms = hvd.allgather(norm)
    assert norm > 0 and torch.equal(norms, norm.expand(hvd.size()))
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    loss_of(model, own_rows(), 1).backward()
    wrapped.step()
    expect_same_everywhere(model)
    expect_error(ValueError, "LBFGS", hvd.broadcast_optimizer_state, torch.optim.LBFGS(model.parameters()), 0)
    expect_error(ValueError, "invalid params", hvd.broadcast_parameters, 5, 0)


def check_schedulers_and_classes_still_fit():
    model = model_of()
    original = sgd(model)
    optimizer = hvd.DistributedOptimizer(original, model.named_parameters())
    assert isinstance(optimizer, torch.optim.SGD) and type(optimizer).__name__ == "SGD"
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    loss_of(model, own_rows(), 0).backward()
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.05
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.set_backward_passes_per_step(3)


def check_adasum_optimizer():
    model = model_of()
    optimizer = hvd.DistributedOptimizer(sgd(model), model.named_parameters(), op=hvd.Adasum)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(model, slice(0, ROWS), step).backward()
        optimizer.step()
    # All ranks do the same, so that the adaptive sum is what each of them does.
    expect_close(model, train_alone())


def check_options_that_are_none():
    model = model_of()
    for text, options in (
            ("must be > 0", {"backward_passes_per_step": 0}),
            ("op != Average", {"gradient_predivide_factor": 2.0, "op": hvd.Sum}),
            ("sequence of tuples", {"named_parameters": model.parameters()}),
            ("not named", {"named_parameters": list(model.named_parameters())[1:]}),
            ("must be unique", {"named_parameters": [("a", p) for p in model.parameters()]}),
            ("groups should be", {"groups": -1}),
            ("groups should have", {"groups": [[model.unused], [model.unused]]}),
            ("groups should consist", {"groups": [[model.unused, "unused"]]}),
            ("op is", {"op": hvd.Max})):
        expect_error(ValueError, text, hvd.DistributedOptimizer, sgd(model), **options)


def check_what_is_no_tensor():
    expect_error(TypeError, "allreduce takes a torch.Tensor, got a list", hvd.allreduce, [1, 2])
    expect_error(TypeError, "grouped_allreduce takes a torch.Tensor, got an int", hvd.grouped_allreduce, [1, 2])
    expect_error(TypeError, "takes a torch.Tensor, got a list", hvd.broadcast_, [1, 2], 0)
