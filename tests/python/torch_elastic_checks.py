"""Elastic training with PyTorch without a change of ranks: what holds on each rank, run by run_checks.py."""

import threading

import torch

import tony.collective.torch as hvd
from tony.collective.torch.elastic import ElasticSampler, TorchState
from array_checks import expect_error
from torch_checks import expect_same_everywhere, loss_of, model_of, own_rows, sgd

SAMPLES = 23


def shares_of(sampler):
    """All ranks' samples in one list, after it was seen that all have as many."""
    shares = hvd.allgather_object(list(sampler))
    assert all(len(share) == len(sampler) for share in shares), shares
    return [sample for share in shares for sample in share]


def check_samples_are_divided():
    for shuffle in (True, False):
        sampler = ElasticSampler(range(SAMPLES), shuffle=shuffle, seed=5)
        everything = shares_of(sampler)
        assert set(everything) == set(range(SAMPLES))
        # Some come twice, so that all have as many.
        assert len(everything) == -(-SAMPLES // hvd.size()) * hvd.size()
        mine = list(sampler)
        assert mine == list(sampler)
        sampler.set_epoch(1)
        assert shuffle == (mine != list(sampler)), mine
    loader = torch.utils.data.DataLoader(range(SAMPLES), sampler=ElasticSampler(range(SAMPLES)), batch_size=2)
    assert sum(len(batch) for batch in loader) == len(loader.sampler)


def check_an_epoch_goes_on_where_it_was():
    sampler = ElasticSampler(range(SAMPLES), seed=5)
    first = [share[:4] for share in hvd.allgather_object(list(sampler))]
    for number in range(2):
        sampler.record_batch(number, 2)
    resumed = ElasticSampler(range(SAMPLES), seed=5)
    resumed.load_state_dict(sampler.state_dict())
    done = {sample for share in first for sample in share}
    rest = set(shares_of(resumed))
    assert not done & rest and done | rest == set(range(SAMPLES)), (done, rest)
    # Another number of ranks would divide the same rest.
    assert rest == set(resumed.remaining_indices)


def check_an_epoch_that_is_almost_over():
    sampler = ElasticSampler(range(SAMPLES))
    sampler.load_state_dict({"epoch": 0, "processed_num": SAMPLES - 1})
    assert len(set(shares_of(sampler))) == 1 and len(sampler) == 1
    sampler.load_state_dict({"epoch": 0, "processed_num": SAMPLES + 1})
    assert len(sampler) == 0 and not shares_of(sampler)


def state_of(**options):
    """The state of a model that differs among ranks."""
    model = model_of(seed=hvd.rank() + 1)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1 * (hvd.rank() + 1), momentum=0.9), model.named_parameters())
    return TorchState(model=model, optimizer=optimizer, sampler=ElasticSampler(range(SAMPLES)), **options)


def train_step(state, number):
    """One of all ranks'."""
    state.optimizer.zero_grad()
    loss_of(state.model, own_rows(), number).backward()
    state.optimizer.step()


def check_all_get_what_rank_0_has():
    state = state_of(step=hvd.rank(), nothing=None)
    if hvd.rank() == 0:
        state.sampler.record_batch(0, 3)
    state.sync()
    expect_same_everywhere(state.model)
    assert state.step == 0 and state.nothing is None
    assert state.optimizer.param_groups[0]["lr"] == 0.1
    assert state.sampler.processed_num == 3 * hvd.size()
    # restore() returns to the values that sync() has sent.
    before = [p.detach().clone() for p in state.model.parameters()]
    train_step(state, 0)
    assert not torch.equal(before[0], state.model[0].weight)
    state.step, state.sampler.epoch = 5, 5
    state.restore()
    assert all(map(torch.equal, before, state.model.parameters()))
    assert state.step == 0 and state.sampler.epoch == 0


def check_what_was_saved_is_restored():
    state = state_of(history=[0])
    state.sync()
    train_step(state, 0)
    state.history.append(1)
    state.save()
    saved = [p.detach().clone() for p in state.model.parameters()]
    after = []
    for _ in range(2):
        # The same steps from the same state, momentum included, have the same result.
        train_step(state, 1)
        train_step(state, 2)
        state.history.append(2)
        after.append([p.detach().clone() for p in state.model.parameters()])
        state.restore()
        assert state.history == [0, 1], state.history
        assert all(map(torch.equal, saved, state.model.parameters()))
    assert all(map(torch.equal, *after))


def check_another_model_takes_its_place():
    state = state_of()
    state.model = model_of(seed=99)
    weight = state.model[0].weight.detach().clone()
    with torch.no_grad():
        state.model[0].weight.zero_()
    state.restore()
    assert torch.equal(state.model[0].weight, weight)
    expect_error(AttributeError, "optimiser", lambda: state.optimiser)


def check_a_failed_step_can_be_repeated():
    state = state_of(runs=0)

    @hvd.elastic.run
    def train(state):
        failed = state.runs_of_this_process = getattr(state, "runs_of_this_process", 0) + 1
        loss_of(state.model, own_rows(), 0).backward()
        if failed == 1:
            # Gradients are on their way. It is not an elastic job: all start over, with the same number of ranks.
            raise hvd.HorovodInternalError("a rank was lost", "ABORTED")
        state.optimizer.step()
        return failed

    assert train(state) == 2
    expect_same_everywhere(state.model)


def check_a_state_of_ones_own():
    class Own(TorchState):
        """Has attributes before it is a TorchState."""

        def __init__(self, model, scale):
            self.scale = scale
            super().__init__(model=model, step=hvd.rank())

    state = Own(model_of(seed=hvd.rank() + 1), 3)
    state.sync()
    expect_same_everywhere(state.model)
    assert state.scale == 3 and state.step == 0


def check_optimizer_without_wrapper():
    model = model_of()
    state = TorchState(model=model, optimizer=sgd(model))
    state.sync()
    state.commit()
    assert state.optimizer.param_groups[0]["momentum"] == 0.9


def check_what_was_committed_outlives_a_sync_that_fails():
    state = state_of(thing=0)
    state.sync()
    committed = [p.detach().clone() for p in state.model.parameters()]
    train_step(state, 0)
    state.sampler.record_batch(0, 3)
    state.thing = threading.Lock()  # so that objects, which come last, fail
    expect_error(hvd.HorovodInternalError, "cannot pickle", state.sync)
    state.restore()
    assert all(map(torch.equal, committed, state.model.parameters()))
    assert state.sampler.processed_num == 0 and state.thing == 0


def check_what_nobody_waits_for_is_not_written_to_what_is_restored():
    state = state_of(committed=None)

    @hvd.elastic.run
    def train(state):
        weight = state.model[0].weight.data
        if state.committed is not None:
            return torch.equal(weight, state.committed)
        state.committed = weight.clone()
        state.commit()
        # The result comes from elsewhere, as this is not contiguous.
        handle = hvd.allreduce_async_(weight.t(), op=hvd.Sum, prescale_factor=3.0)
        while not hvd.poll(handle):
            pass
        raise hvd.HorovodInternalError("a rank was lost", "ABORTED")

    assert train(state)
