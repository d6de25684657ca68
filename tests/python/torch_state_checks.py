"""Checks of an optimizer's state when it is loaded, or when the ranks meet again: run by run_checks.py."""

import copy

import torch

import tony.collective.torch as hvd
from tony.collective.torch.elastic import TorchState
from torch_checks import expect_same_everywhere, loss_of, model_of, own_rows

RATE = 0.5


def scheduled(op=hvd.Average):
    """(model, wrapped optimizer, scheduler that was made before it was wrapped); the ranks' learning rates differ."""
    model = model_of()
    original = torch.optim.SGD(model.parameters(), lr=RATE + hvd.rank(), momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(original, 1, gamma=0.5)
    wrapped = hvd.DistributedOptimizer(original, model.named_parameters(), op=op)
    assert wrapped.param_groups is original.param_groups and wrapped.state is original.state
    return model, wrapped, scheduler, original


def train(model, optimizer, scheduler, steps=2):
    """The learning rate before and after each step, on this rank."""
    rates = [optimizer.param_groups[0]["lr"]]
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model, own_rows(), step).backward()
        optimizer.step()
        scheduler.step()
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


def expect_scheduled(model, optimizer, scheduler):
    """All ranks continue with the same learning rate, which the scheduler sets, from the same weights."""
    rates = train(model, optimizer, scheduler)
    assert rates == [rates[0], rates[0] / 2, rates[0] / 4], rates
    assert hvd.allgather_object(rates) == [rates] * hvd.size()
    expect_same_everywhere(model)


def check_a_scheduler_that_was_made_before_wrapping():
    for op in (hvd.Average, hvd.Adasum):
        for of_original in (False, True):
            model, optimizer, scheduler, original = scheduled(op)
            hvd.broadcast_optimizer_state(original if of_original else optimizer, root_rank=0)
            assert optimizer.param_groups[0]["lr"] == RATE
            expect_scheduled(model, optimizer, scheduler)
            assert optimizer.state is original.state and optimizer.param_groups is original.param_groups


def check_a_checkpoint_is_loaded_in_place():
    for op in (hvd.Average, hvd.Adasum):
        model, optimizer, scheduler, original = scheduled(op)
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        train(model, optimizer, scheduler)
        saved = copy.deepcopy(optimizer.state_dict())
        train(model, optimizer, scheduler)
        optimizer.load_state_dict(saved)
        assert optimizer.param_groups[0]["lr"] == saved["param_groups"][0]["lr"]
        assert original.state_dict()["param_groups"] == saved["param_groups"]
        momenta = [each["momentum_buffer"] for each in saved["state"].values()]
        assert momenta and all(map(torch.equal, momenta, (each["momentum_buffer"] for each in original.state.values())))
        expect_scheduled(model, optimizer, scheduler)
        # A state's own entries.
        optimizer.load_state_dict(optimizer.state_dict())
        assert len(original.state) == len(momenta)


def check_a_scheduler_and_elastic_states():
    model, optimizer, scheduler, _ = scheduled()
    state = TorchState(model=model, optimizer=optimizer)
    state.sync()
    expect_scheduled(model, optimizer, scheduler)
    state.save()
    train(model, optimizer, scheduler)
    state.restore()
    expect_scheduled(model, optimizer, scheduler)


class Holder:
    """No optimizer of torch.optim, but it has a state."""

    def __init__(self, state):
        self.state_dict = lambda: state
        self.loaded = None

    def load_state_dict(self, state):
        self.loaded = state


def check_whatever_has_a_state_dictionary():
    holder = Holder({"state": {}, "param_groups": [{"lr": torch.tensor(float(hvd.rank()))}]})
    hvd.broadcast_optimizer_state(holder, root_rank=0)
    if hvd.rank() > 0:
        assert holder.loaded["param_groups"][0]["lr"] == 0


class Sharp(torch.optim.Optimizer):
    """Has another one for its groups, as SAM."""

    def __init__(self, params, **options):
        super().__init__(params, options)
        self.base_optimizer = torch.optim.SGD(self.param_groups, **options)
        self.param_groups = self.base_optimizer.param_groups

    def step(self, closure=None):
        return self.base_optimizer.step(closure)

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.base_optimizer.param_groups = self.param_groups


class Ahead(Sharp):
    """Has the groups of another one, as Lookahead."""

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups


class Listed(Sharp):
    """Makes a new list of the same groups."""

    def load_state_dict(self, state_dict):
        for group, loaded in zip(self.param_groups, state_dict["param_groups"]):
            group["lr"] = loaded["lr"]
        self.param_groups = list(self.param_groups)


class Delegating(torch.optim.Optimizer):
    """Has nothing of its own."""

    param_groups = property(lambda self: self.base_optimizer.param_groups)
    state = property(lambda self: self.base_optimizer.state)

    def __init__(self, params, **options):  # pylint: disable=super-init-not-called  # it would set what it has not
        self.defaults = options
        self.base_optimizer = torch.optim.SGD(params, **options)

    def step(self, closure=None):
        return self.base_optimizer.step(closure)

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)


def check_optimizers_that_are_made_of_others():
    for kind in (Sharp, Ahead, Listed, Delegating):
        model = model_of()
        original = kind(model.parameters(), lr=RATE + hvd.rank())
        scheduler = torch.optim.lr_scheduler.StepLR(original, 1, gamma=0.5)
        optimizer = hvd.DistributedOptimizer(original, model.named_parameters())
        for loads in (hvd.broadcast_optimizer_state, lambda optimizer, _: optimizer.load_state_dict(
                copy.deepcopy(optimizer.state_dict()))):
            loads(optimizer, 0)
            assert optimizer.param_groups is original.param_groups and optimizer.param_groups[0]["params"]
            expect_scheduled(model, optimizer, scheduler)
            assert optimizer.base_optimizer.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]


def check_a_state_of_another_type_than_its_parameter():
    third = torch.tensor(1 / 3)
    model = model_of().to(torch.bfloat16)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=RATE), model.named_parameters())
    if hvd.rank() == 0:
        for p in model.parameters():
            optimizer.state[p] = {"step": 3, "exact": third.clone(), "parts": [{"exact": third.clone()}], "count": 5}
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    for p in model.parameters():
        state = optimizer.state[p]
        for value in (state["exact"], state["parts"][0]["exact"]):
            assert value.dtype == torch.float32 and torch.equal(value, third), value
        assert (state["step"], state["count"]) == (3, 5)
