"""Checks of what remains of an unfinished step when the ranks meet again, and when they join: run by run_checks.py."""

import torch

import tony.collective.torch as hvd
from tony.collective import elastic
from tony.collective.torch.elastic import TorchState
from array_checks import expect_error
from torch_checks import expect

PASSES = 2


def line_of(**options):
    """(model of two weights, its optimizer)"""
    model = torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    return model, hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0), model.named_parameters(),
                                           **options)


def add_gradient(model, value):
    model(torch.full((1, 2), float(value))).sum().backward()


def begin_round():
    """Called by all ranks: none leaves before all have submitted their tensors."""
    hvd.barrier()
    elastic.begin_round()


def check_passes_of_the_round_before_are_forgotten():
    model, optimizer = line_of(backward_passes_per_step=PASSES)
    state = TorchState(model=model, optimizer=optimizer)
    state.sync()
    if hvd.size() == 1:
        return  # a rank alone sums up nothing
    # As where the others have come just now.
    if hvd.rank() == 0:
        add_gradient(model, 7)
    begin_round()
    assert model.weight.grad is None
    state.on_reset()
    state.sync()
    for _ in range(PASSES):
        add_gradient(model, 1)
    optimizer.step()
    expect(model.weight.data, torch.full((1, 2), -float(PASSES)))


def check_gradients_of_a_failed_step_are_forgotten():
    for restores in (True, False):
        model, optimizer = line_of()
        state = TorchState(model=model, optimizer=optimizer)
        if hvd.size() == 1:
            return
        add_gradient(model, 7)
        hvd.barrier()
        hvd.shutdown()
        expect_error(hvd.HorovodInternalError, "", optimizer.step)
        if restores:
            state.restore()
        elastic.begin_round()
        state.sync()
        add_gradient(model, 1)
        optimizer.step()
        expect(model.weight.data, torch.full((1, 2), -1.0))
        # This step has come to its end, so that its gradients are the program's.
        begin_round()
        expect(model.weight.grad, torch.ones(1, 2))


def check_gradients_on_their_way_are_forgotten_with_the_round():
    model, optimizer = line_of()
    add_gradient(model, 7)
    begin_round()
    optimizer.zero_grad()
    add_gradient(model, 1)
    optimizer.step()
    expect(model.weight.data, torch.full((1, 2), -1.0))


def check_passes_of_adasum_are_forgotten():
    model, optimizer = line_of(op=hvd.Adasum, backward_passes_per_step=PASSES)
    state = TorchState(model=model, optimizer=optimizer)
    if hvd.size() == 1:
        return
    for restores in (True, False):
        if hvd.rank() == 0:
            add_gradient(model, 7)
        if restores:
            state.restore()
        begin_round()
        assert model.weight.grad is None
    for _ in range(PASSES):
        add_gradient(model, 1)
    optimizer.step()
    # All have made the same step.
    expect(model.weight.data, torch.full((1, 2), -float(PASSES)))


def check_gradients_on_their_way_outlive_a_join():
    model, optimizer = line_of()
    add_gradient(model, hvd.rank())
    hvd.join()
    optimizer.step()
    expect(model.weight.data, torch.full((1, 2), -(hvd.size() - 1) / 2))
