"""Checks on each of four ranks for process sets with PyTorch: run by run_checks.py."""

import torch

import tony.collective.torch as hvd
from array_checks import expect_error
from torch_checks import ROWS, STEPS, batch_of, expect, model_of, sgd

PAIR = hvd.ProcessSet([1, 3])


def check_adding():
    hvd.add_process_set(PAIR)
    assert PAIR.process_set_id == 1 and PAIR.size() == 2


def check_gradients_flow_within_the_set():
    if not PAIR.included():
        x = torch.ones(2, requires_grad=True)
        expect_error(ValueError, "does not belong to process set 1", hvd.allreduce, x, process_set=PAIR)
        expect_error(ValueError, "does not belong to process set 1", hvd.broadcast_parameters, [x], 1, PAIR)
        return
    own = PAIR.rank()
    options = {"process_set": PAIR}
    x = torch.ones(3, requires_grad=True)
    hvd.allreduce(x, op=hvd.Sum, **options).sum().backward()
    expect(x.grad, torch.full((3,), 2.0))
    x = torch.ones(3, requires_grad=True)
    sum(y.sum() for y in hvd.grouped_allreduce([x, 2 * x], op=hvd.Sum, **options)).backward()
    expect(x.grad, torch.full((3,), 6.0))
    x = torch.ones(own + 1, 2, requires_grad=True)
    (hvd.allgather(x, **options) * (own + 1)).sum().backward()
    expect(x.grad, torch.full((own + 1, 2), 1.5))
    x = torch.ones(2, requires_grad=True)
    hvd.broadcast(x, 3, **options).sum().backward()
    expect(x.grad, torch.full((2,), 1.0 if hvd.rank() == 3 else 0.0))
    x = torch.ones(2, 2, requires_grad=True)
    hvd.reducescatter(x, op=hvd.Sum, **options).sum().backward()
    expect(x.grad, torch.full((2, 2), 2.0))
    x = torch.ones(2, requires_grad=True)
    (hvd.alltoall(x, **options) * (own + 1)).sum().backward()
    expect(x.grad, torch.arange(1.0, 3))


def train(rows, make):
    """A model after STEPS steps; ``make`` wraps its optimizer, ``rows`` of each batch are this rank's."""
    model = model_of()
    optimizer = make(sgd(model), model)
    for step in range(STEPS):
        optimizer.zero_grad()
        x, y = (part[rows] for part in batch_of(step))
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return [parameter.detach().clone() for parameter in model.parameters()]


def check_training_in_a_set_is_that_of_one_process():
    alone = train(slice(0, ROWS), lambda optimizer, model: optimizer)
    own_half = slice(0, ROWS // 2) if hvd.rank() == 1 else slice(ROWS // 2, ROWS)
    # A rank outside trains on as it would without.
    rows = own_half if PAIR.included() else slice(0, ROWS)
    for options in ({}, {"num_groups": 2}):
        together = train(rows, lambda optimizer, model, options=options: hvd.DistributedOptimizer(
            optimizer, named_parameters=model.named_parameters(), process_set=PAIR, **options))
        for mine, other in zip(together, alone):
            assert (mine - other).abs().max().item() <= 1e-5


def check_sparse_gradients_are_averaged_within_the_set():
    torch.manual_seed(1)
    embedding = torch.nn.Embedding(6, 2, sparse=True)
    before = embedding.weight.detach().clone()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(embedding.parameters(), lr=1.0),
                                         named_parameters=embedding.named_parameters(), process_set=PAIR)
    embedding(torch.tensor([hvd.rank()])).sum().backward()
    optimizer.step()
    wanted = before.clone()
    for rank in PAIR.ranks if PAIR.included() else [hvd.rank()]:
        wanted[rank] -= 0.5 if PAIR.included() else 1.0
    expect(embedding.weight.detach(), wanted)


def check_adasum_within_the_set():
    model = torch.nn.Linear(2, 1, bias=False)
    model.weight.data.zero_()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0),
                                         named_parameters=model.named_parameters(), op=hvd.Adasum, process_set=PAIR)
    # Orthogonal in the set: they are added.
    x = torch.tensor([[1.0, 0.0]]) if hvd.rank() == 1 else torch.tensor([[0.0, 1.0]])
    model(x).sum().backward()
    optimizer.step()
    expect(model.weight.detach(), torch.tensor([[-1.0, -1.0]]) if PAIR.included() else -x)


def check_state_is_broadcast_within_the_set():
    if not PAIR.included():
        return
    model = torch.nn.Linear(2, 1)
    torch.nn.init.constant_(model.weight, float(hvd.rank()))
    hvd.broadcast_parameters(model.state_dict(), root_rank=3, process_set=PAIR)
    expect(model.weight.detach(), torch.full((1, 2), 3.0))
    optimizer = torch.optim.SGD(model.parameters(), lr=float(hvd.rank()), momentum=0.5)
    hvd.broadcast_optimizer_state(optimizer, root_rank=1, process_set=PAIR)
    assert optimizer.param_groups[0]["lr"] == 1.0
