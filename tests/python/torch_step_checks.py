"""Checks of which gradients belong to a step, and which hooks are called for them: run by run_checks.py."""

import threading

import torch

import tony.collective.torch as hvd
from array_checks import expect_error
from torch_checks import expect, expect_same_everywhere
from torch_round_checks import PASSES, add_gradient, line_of


def check_an_optimizer_that_nobody_has_any_more():
    for op in (hvd.Average, hvd.Adasum):
        model, optimizer = line_of(op=op)
        for _ in range(3):
            add_gradient(model, 1)
            optimizer.step()
            optimizer.zero_grad()
            # Another one for the same parameters, as in the next phase of a training, takes the place of this one.
            optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0),
                                                 model.named_parameters())
        expect(model.weight.data, torch.full((1, 2), -3.0))


def check_gradients_are_not_emptied_before_their_step():
    for options in ({}, {"backward_passes_per_step": PASSES}, {"op": hvd.Adasum}):
        model, optimizer = line_of(**options)
        optimizer.zero_grad()
        add_gradient(model, 1)
        if hvd.size() == 1:
            optimizer.zero_grad()  # nothing is on its way
            continue
        expect_error(AssertionError, "called after loss.backward() but before optimizer.step()", optimizer.zero_grad)
        for _ in range(1, options.get("backward_passes_per_step", 1)):
            add_gradient(model, 1)
        optimizer.step()
        optimizer.zero_grad()


def check_adasum_is_of_each_step():
    """Whatever the number of backward passes before it."""
    model, optimizer = line_of(op=hvd.Adasum, backward_passes_per_step=PASSES)
    for _ in range(2):
        for _ in range(PASSES):
            add_gradient(model, hvd.rank() + 1)
        if hvd.size() > 1:
            expect_error(AssertionError, "more than backward_passes_per_step times", add_gradient, model, 1)
        optimizer.step()
        optimizer.zero_grad()
        expect_same_everywhere(model)
        assert model.weight[0][0] < -1


def check_adasum_of_a_closure_that_is_called_several_times():
    model = torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    optimizer = hvd.DistributedOptimizer(torch.optim.LBFGS(model.parameters(), max_iter=5), op=hvd.Adasum)

    def closure():
        optimizer.zero_grad()
        loss = ((model(torch.eye(2)) - 3.0) ** 2).sum()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    assert closure() < 1e-3
    expect_same_everywhere(model)


class Counts(dict):
    """Calls ``meanwhile`` once, behind the first change."""

    meanwhile = None

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()


class Lock:
    """One that says when somebody has to wait for it."""

    def __init__(self, waited_for):
        self._lock, self._waited_for = threading.Lock(), waited_for

    def __enter__(self):
        if not self._lock.acquire(blocking=False):
            self._waited_for.set()
            self._lock.acquire()

    def __exit__(self, *_):
        self._lock.release()


def check_a_group_of_two_devices_is_submitted_once():
    """PyTorch has a thread for each device, which may count the last gradients of a group at the same time."""
    model = torch.nn.Linear(1, 1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0), num_groups=1)
    if hvd.size() == 1:
        return
    exchange, submitted, goes_on = optimizer._exchange, [], threading.Event()
    exchange._submit, exchange._counting, exchange._left = submitted.append, Lock(goes_on), Counts(exchange._left)

    def count_other():
        exchange._on_gradient(model.bias)
        goes_on.set()

    thread = threading.Thread(target=count_other)

    def meanwhile():
        thread.start()
        goes_on.wait()

    exchange._left.meanwhile = meanwhile
    exchange._on_gradient(model.weight)
    thread.join()
    assert len(submitted) == 1, submitted


def check_hooks_of_steps_are_called_once():
    for op in (hvd.Average, hvd.Adasum):
        model, optimizer = line_of(op=op)
        if not hasattr(optimizer, "register_step_post_hook"):
            return  # older than PyTorch 2.0
        called = []
        optimizer.register_step_pre_hook(lambda *_, called=called: called.append("before"))
        optimizer.register_step_post_hook(lambda *_, called=called: called.append("after"))
        for loads in range(3):
            if loads:
                optimizer.load_state_dict(optimizer.state_dict())
            add_gradient(model, 1)
            optimizer.step()
            optimizer.zero_grad()
            assert called == ["before", "after"], called
            called.clear()


def check_what_an_optimizer_was_made_with():
    _, optimizer = line_of(backward_passes_per_step=PASSES, gradient_predivide_factor=2.0)
    assert (optimizer.backward_passes_per_step, optimizer.gradient_predivide_factor) == (PASSES, 2.0)
    assert optimizer.op is hvd.Average and not optimizer.sparse_as_dense
    assert optimizer.process_set is hvd.global_process_set
    for op in (hvd.Average, hvd.Adasum):
        _, optimizer = line_of(op=op)
        optimizer.set_backward_passes_per_step(PASSES + 1)
        assert optimizer.backward_passes_per_step == PASSES + 1
