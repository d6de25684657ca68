"""SyncBatchNorm, and gradients that some ranks do not have: what holds on each rank, run by run_checks.py."""

import torch

import tony.collective.torch as hvd
from array_checks import expect_error, everybody
from torch_checks import expect_same_everywhere

WIDE = torch.float64
CHANNELS = 5


def rows_of(counts):
    """This rank's part of a batch of which each rank has as many rows."""
    first = sum(counts[:hvd.rank()])
    return slice(first, first + counts[hvd.rank()])


def expect_close(actual, expected, what, tolerance=1e-10):
    """Within ``tolerance`` of each other, in float64."""
    difference = (actual.to(WIDE) - expected.to(WIDE)).abs().max().item() if expected.numel() else 0.0
    assert actual.shape == expected.shape and difference <= tolerance, f"{what}: off by {difference}"


def compare_with_one_process(counts, shape, steps=3, tolerance=1e-10, dtype=WIDE, **options):
    """Trains a layer with ``counts[rank]`` rows on each rank, and one with all rows; all of both is to be the same."""
    torch.manual_seed(7)
    kinds = (torch.nn.BatchNorm1d, torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d)
    kind = kinds[len(shape)]
    alone, mine = kind(CHANNELS, **options).to(dtype), hvd.SyncBatchNorm(CHANNELS, **options).to(dtype)
    if alone.affine:
        torch.nn.init.uniform_(alone.weight)
        torch.nn.init.uniform_(alone.bias)
    mine.load_state_dict(alone.state_dict())
    own = rows_of(counts)
    for step in range(steps):
        # Far from zero: a variance that was made of squares would be wrong.
        whole = (torch.randn(sum(counts), CHANNELS, *shape, dtype=dtype) + 1000 * step).requires_grad_()
        factors = torch.randn(sum(counts), CHANNELS, *shape, dtype=dtype)
        part = whole.detach()[own].clone().requires_grad_()
        expected, actual = alone(whole), mine(part)
        expect_close(actual, expected[own], "outputs", tolerance)
        (expected * factors).sum().backward()
        (actual * factors[own]).sum().backward()
        expect_close(part.grad, whole.grad[own], "gradients of inputs", tolerance)
        for name, parameter in mine.named_parameters():
            total = hvd.allreduce(parameter.grad, op=hvd.Sum)
            expect_close(total, getattr(alone, name).grad, f"gradient of {name}", tolerance)
            parameter.grad = getattr(alone, name).grad = None
        for name, buffer in mine.named_buffers():
            expect_close(buffer, getattr(alone, name), name, tolerance)
    mine.eval()
    alone.eval()
    probe = torch.randn(sum(counts), CHANNELS, *shape, dtype=dtype)
    expect_close(mine(probe[own]), alone(probe)[own], "outputs of evaluation", tolerance)


def check_batch_norm_is_that_of_one_process():
    for shape in ((), (4,), (3, 2), (2, 2, 2)):
        compare_with_one_process([4] * hvd.size(), shape)


def check_batches_of_different_sizes():
    compare_with_one_process([2 + 3 * rank for rank in range(hvd.size())], (3,))
    # Some have nothing at all.
    compare_with_one_process([0 if rank % 2 else 6 for rank in range(hvd.size())], (2, 2))
    compare_with_one_process([6 if rank == hvd.size() - 1 else 0 for rank in range(hvd.size())], ())


def check_options_of_batch_norm():
    counts = [3 + rank for rank in range(hvd.size())]
    compare_with_one_process(counts, (2,), momentum=None)
    compare_with_one_process(counts, (2,), momentum=0.5, eps=0.1)
    compare_with_one_process(counts, (2,), affine=False)
    compare_with_one_process(counts, (2,), track_running_stats=False)


def check_batch_norm_of_other_types():
    layer = hvd.SyncBatchNorm(CHANNELS)
    given = torch.arange(2.0 * CHANNELS).reshape(2, CHANNELS) * (hvd.rank() + 1)
    whole = torch.cat(everybody(lambda rank: torch.arange(2.0 * CHANNELS).reshape(2, CHANNELS) * (rank + 1)))
    expected = torch.nn.BatchNorm1d(CHANNELS)(whole)[2 * hvd.rank():2 * hvd.rank() + 2]
    expect_close(layer(given), expected, "float32", 1e-4)
    half = given.bfloat16().requires_grad_()
    if hvd.size() > 1:
        result = layer(half)
        assert result.dtype == torch.bfloat16
        expect_close(result, expected, "bfloat16", 0.1)
        result.float().sum().backward()
        assert half.grad.dtype == torch.bfloat16


def check_inputs_that_are_none():
    layer = hvd.SyncBatchNorm(CHANNELS)
    expect_error(ValueError, "at least 2D", layer, torch.ones(CHANNELS))
    if hvd.size() > 1:
        expect_error(ValueError, "more than 1 value per channel", layer,
                     torch.ones(1 if hvd.rank() == 0 else 0, CHANNELS))


def check_a_model_with_batch_norm_trains_as_that_of_one_process():
    def model_of(norm):
        torch.manual_seed(3)
        return torch.nn.Sequential(torch.nn.Linear(4, CHANNELS), norm(CHANNELS), torch.nn.ReLU(),
                                   torch.nn.Linear(CHANNELS, 2)).to(WIDE)

    alone, mine = model_of(torch.nn.BatchNorm1d), model_of(hvd.SyncBatchNorm)
    counts = [4] * hvd.size()
    optimizers = (torch.optim.SGD(alone.parameters(), lr=0.1),
                  hvd.DistributedOptimizer(torch.optim.SGD(mine.parameters(), lr=0.1), mine.named_parameters()))
    for _ in range(5):
        x, y = torch.randn(sum(counts), 4, dtype=WIDE), torch.randn(sum(counts), 2, dtype=WIDE)
        for model, optimizer, rows in ((alone, optimizers[0], slice(None)), (mine, optimizers[1], rows_of(counts))):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x[rows]), y[rows]).backward()
            optimizer.step()
    expect_same_everywhere(mine)
    for (name, parameter), expected in zip(mine.named_parameters(), alone.parameters()):
        expect_close(parameter, expected, name)


# Gradients


class Words(torch.nn.Module):
    """Two tables, of which a step uses the given ones."""

    def __init__(self):
        super().__init__()
        self.sparse = torch.nn.Embedding(8, 2, sparse=True)
        self.dense = torch.nn.Linear(2, 1, bias=False)
        self.never = torch.nn.Parameter(torch.ones(2))
        for parameter in (self.sparse.weight, self.dense.weight):
            torch.nn.init.zeros_(parameter)

    def forward(self, word, dense):
        """A number."""
        total = torch.zeros(())
        if word is not None:
            total = total + self.sparse(torch.tensor([word])).sum()
        if dense:
            total = total + self.dense(torch.ones(2)).sum()
        return total


def train_words(choose, steps=4, **options):
    """``choose(step, rank)``: which word, and whether the dense one. Compares with the sums by hand."""
    model = Words()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0), model.named_parameters(),
                                         op=hvd.Sum, **options)
    table, line = torch.zeros(8, 2), torch.zeros(1, 2)
    for step in range(steps):
        optimizer.zero_grad()
        total = model(*choose(step, hvd.rank()))
        if total.requires_grad:
            total.backward()
        optimizer.step()
        for word, dense in everybody(lambda rank, step=step: choose(step, rank)):
            if word is not None:
                table[word] -= 1
            line -= 1 if dense else 0
        assert torch.equal(model.sparse.weight.data, table), f"step {step}: {model.sparse.weight.data}"
        assert torch.equal(model.dense.weight.data, line), f"step {step}: {model.dense.weight.data}"
    assert torch.equal(model.never.data, torch.ones(2))


def check_a_rank_without_a_sparse_gradient():
    # One rank has none from the first step on, then another one; in one step nobody has, in one all.
    def choose(step, rank):
        has = {0: rank == 0, 1: rank != 0, 2: False, 3: True}[step]
        return (rank + step if has else None), True

    train_words(choose)
    train_words(choose, sparse_as_dense=True)


def check_a_rank_without_a_dense_gradient():
    train_words(lambda step, rank: (rank, rank == step % hvd.size()))
    train_words(lambda step, rank: (None, rank != 0))


def check_a_rank_without_any_gradient():
    train_words(lambda step, rank: (5, True) if rank == step % hvd.size() else (None, False))


def check_a_sparse_gradient_that_comes_late():
    train_words(lambda step, rank: (rank if step > 1 and rank == hvd.size() - 1 else None, True))


def check_kinds_after_a_rank_has_joined():
    if hvd.size() > 1:
        train_words(lambda step, rank: (rank, True), steps=2)
        hvd.join()
        train_words(lambda step, rank: (rank if rank == 0 else None, True), steps=2)
