"""Checks of what programs for Horovod rely on besides the operations themselves: run by run_checks.py."""

import importlib
import inspect

import torch

import tony.collective.torch as hvd
from array_checks import everybody, expect_error
from torch_checks import expect


_SCALES = "prescale_factor postscale_factor"
# The arguments of Horovod 0.28.1, https://horovod.readthedocs.io/en/stable/api.html: programs pass
# them by position and by name.
ARGUMENTS = {
    **dict.fromkeys(("allreduce_", "allreduce_async", "allreduce_async_"),
                    f"tensor average name op {_SCALES} process_set"),
    "allreduce": f"tensor average name compression op {_SCALES} process_set",
    **dict.fromkeys(("grouped_allreduce_", "grouped_allreduce_async", "grouped_allreduce_async_"),
                    f"tensors average name op {_SCALES} process_set"),
    "grouped_allreduce": f"tensors average name compression op {_SCALES} process_set",
    **dict.fromkeys(("allgather", "allgather_async"), "tensor name process_set"),
    **dict.fromkeys(("grouped_allgather", "grouped_allgather_async"), "tensors name process_set"),
    **dict.fromkeys(("broadcast", "broadcast_", "broadcast_async", "broadcast_async_"),
                    "tensor root_rank name process_set"),
    **dict.fromkeys(("alltoall", "alltoall_async"), "tensor splits name process_set"),
    "reducescatter": f"tensor name compression op process_set {_SCALES}",
    "reducescatter_async": f"tensor name op process_set {_SCALES}",
    "grouped_reducescatter": f"tensors name compression op process_set {_SCALES}",
    "grouped_reducescatter_async": f"tensors name op process_set {_SCALES}",
    "sparse_allreduce_async": "tensor name op process_set",
    "broadcast_object": "obj root_rank name process_set",
    "allgather_object": "obj name",
    "broadcast_parameters": "params root_rank",
    "broadcast_optimizer_state": "optimizer root_rank model",
    "DistributedOptimizer": "optimizer named_parameters compression backward_passes_per_step op "
                            "gradient_predivide_factor num_groups groups sparse_as_dense process_set",
    "init": "comm process_sets",
    "join": "device",
    "barrier": "process_set",
}


def check_arguments_are_horovods():
    for name, arguments in ARGUMENTS.items():
        arguments = arguments.split()
        ours = list(inspect.signature(getattr(hvd, name)).parameters)
        assert ours[:len(arguments)] == arguments, f"{name}: {ours} instead of {arguments}"


def check_modules_have_horovods_names():
    for name, functions in {
            "mpi_ops": ("allreduce_async_", "sparse_allreduce_async", "Average", "rank", "synchronize", "nccl_built",
                        "is_initialized", "start_timeline", "stop_timeline", "add_process_set", "remove_process_set"),
            "functions": ("broadcast_parameters", "broadcast_optimizer_state", "broadcast_object", "allgather_object"),
            "optimizer": ("DistributedOptimizer",), "compression": ("Compression",)}.items():
        module = importlib.import_module(f"tony.collective.torch.{name}")
        for function in functions:
            assert getattr(module, function) is getattr(hvd, function), function


def check_gradients_flow_through_groups():
    size, rank = hvd.size(), hvd.rank()
    tensors = [torch.ones(rank + 1, 2, requires_grad=True), torch.ones(1, requires_grad=True)]
    rows, ones = hvd.grouped_allgather(tensors)
    expect(rows.detach(), torch.ones(size * (size + 1) // 2, 2))
    # Each rank's rows get the average of what all ranks make of them.
    ((rows * (rank + 1)).sum() + (ones * 3).sum()).backward()
    expect(tensors[0].grad, torch.full((rank + 1, 2), (size + 1) / 2))
    expect(tensors[1].grad, torch.full((1,), 3.0))

    for op, factor in ((hvd.Sum, float(size)), (hvd.Average, 1.0)):
        tensors = [torch.ones(size, 2, requires_grad=True), torch.ones(2 * size, requires_grad=True)]
        first, second = hvd.grouped_reducescatter(tensors, op=op, prescale_factor=2.0)
        expect(second.detach(), torch.full((2,), 2 * factor))
        (first.sum() + second.sum()).backward()
        expect(tensors[0].grad, torch.full((size, 2), 2 * factor))
        expect(tensors[1].grad, torch.full((2 * size,), 2 * factor))


def check_second_gradients_flow():
    size, root = float(hvd.size()), hvd.rank() == 0
    for operation, expected in (
            (lambda x: hvd.allreduce(x, op=hvd.Sum), 6 * size ** 3),
            (lambda x: hvd.grouped_allreduce([x], op=hvd.Sum)[0], 6 * size ** 3),
            (hvd.allgather, 6 / size), (lambda x: hvd.grouped_allgather([x])[0], 6 / size),
            (lambda x: hvd.broadcast(x, 0), 6 / size if root else 0.0),
            (lambda x: hvd.reducescatter(x, op=hvd.Sum), 6 * size ** 3),
            (lambda x: hvd.grouped_reducescatter([x], op=hvd.Sum)[0], 6 * size ** 3),
            (hvd.alltoall, 6.0)):
        x = torch.ones(hvd.size(), requires_grad=True)
        (first,) = torch.autograd.grad((operation(x) ** 3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        assert torch.allclose(second, torch.full_like(x, expected)), f"{second} instead of {expected}"


def check_groups_that_need_no_gradient():
    gathered = hvd.grouped_allgather([torch.ones(1), torch.zeros(2)], name="plain")
    assert isinstance(gathered, list) and not any(each.requires_grad for each in gathered)
    with torch.no_grad():
        scattered = hvd.grouped_reducescatter([torch.ones(hvd.size(), requires_grad=True)], op=hvd.Sum)
    expect(scattered[0], torch.full((1,), float(hvd.size())))


def own_sparse(rank):
    """A place that all ranks have, one that they have each, and this one twice."""
    return torch.sparse_coo_tensor([[4, rank, rank]], torch.tensor([[1.0, 2.0], [1.0, 0.0], [2.0, 0.0]]), (5, 2))


def check_sparse_allreduce():
    total = sum(everybody(lambda rank: own_sparse(rank).to_dense()))
    handles = [hvd.sparse_allreduce_async(own_sparse(hvd.rank()), str(op), op) for op in (hvd.Sum, hvd.Average)]
    # Horovod's handle of it is a function.
    for result in (handles[0](), hvd.synchronize(handles[0])):
        assert result.is_sparse and result.is_coalesced() and hvd.poll(handles[0])
        expect(result.to_dense(), total)
    assert torch.allclose(handles[1]().to_dense(), total / hvd.size())
    nothing = torch.sparse_coo_tensor(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0), (3, 3))
    single = torch.sparse_coo_tensor([[1], [2]], [5.0], (3, 3))
    result = hvd.sparse_allreduce_async(single if hvd.rank() == 0 else nothing, name="uneven", op=hvd.Sum)()
    expect(result.to_dense(), single.to_dense())
    expect_error(ValueError, "Average or Sum", hvd.sparse_allreduce_async, single, "least", hvd.Min)
    expect_error(ValueError, "dense", hvd.sparse_allreduce_async, torch.ones(2), "dense", hvd.Sum)


def check_sets_of_ranks():
    if hvd.size() < 3:
        return
    some = hvd.add_process_set([0, 2])
    if hvd.rank() == 1:
        expect_error(ValueError, "does not belong", hvd.sparse_allreduce_async, own_sparse(1), "some", hvd.Sum, some)
        expect_error(ValueError, "does not belong", hvd.grouped_allgather, [torch.ones(1)], None, some)
    else:
        result = hvd.sparse_allreduce_async(own_sparse(hvd.rank()), "some", hvd.Average, process_set=some)()
        expect(result.to_dense(), (own_sparse(0).to_dense() + own_sparse(2).to_dense()) / 2)
        given = torch.ones(hvd.rank() + 1, requires_grad=True)
        rows, = hvd.grouped_allgather([given], process_set=some)
        assert rows.shape == (4,)
        (rows * (hvd.rank() + 1)).sum().backward()
        expect(given.grad, torch.full((hvd.rank() + 1,), 2.0))
        given = torch.ones(2, requires_grad=True)
        row, = hvd.grouped_reducescatter([given], op=hvd.Sum, process_set=some)
        expect(row.detach(), torch.full((1,), 2.0))
        (row * (hvd.rank() + 1)).sum().backward()
        expect(given.grad, torch.tensor([2.0, 6.0]))
    hvd.remove_process_set(some)


def check_optimizers_for_sparse_gradients():
    weights = []
    for as_dense in (False, True):
        embedding = torch.nn.Embedding(5, 3, sparse=True)
        torch.nn.init.ones_(embedding.weight)
        # list(): https://github.com/pytorch/pytorch/issues/47594
        optimizer = hvd.DistributedOptimizer(torch.optim.SparseAdam(list(embedding.parameters()), lr=0.1),
                                             sparse_as_dense=as_dense)
        for _ in range(2):
            optimizer.zero_grad()
            embedding(torch.tensor([hvd.rank(), 4])).sum().backward()
            optimizer.step()
        weights.append(embedding.weight.data)
    assert torch.allclose(*weights), weights
    # Rows that no rank has used stay as they were, those that one has used do not.
    used = set(range(hvd.size())) | {4}
    for row in range(5):
        assert (weights[0][row] != 1).all() == (row in used), weights[0]


class Halved:
    """A user's own compression, which has nothing to remember."""

    @staticmethod
    def compress(tensor):
        return tensor / 2, None

    @staticmethod
    def decompress(tensor, ctx):
        assert ctx is None
        return tensor * 2


def check_compression_of_ones_own():
    expect(hvd.allreduce(torch.ones(3), op=hvd.Sum, compression=Halved), torch.full((3,), float(hvd.size())))
    for groups in (0, 1):
        linear = torch.nn.Linear(2, 1)
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(linear.parameters(), lr=1.0), linear.named_parameters(),
                                             compression=Halved, groups=groups)
        linear(torch.ones(1, 2) * (hvd.rank() + 1)).sum().backward()
        optimizer.synchronize()
        expect(linear.weight.grad, torch.full((1, 2), (hvd.size() + 1) / 2))


def check_what_is_impossible_is_a_value_error_too():
    size = hvd.size()
    for splits in ([1.0] * size, torch.ones(size)):
        expect_error(ValueError, "splits are integers", hvd.alltoall, torch.ones(size), splits=splits)
    if size == 1:
        return
    for kind in (ValueError, hvd.HorovodInternalError):
        error = expect_error(kind, "cannot be split evenly", hvd.alltoall, torch.ones(size + 1), name=kind.__name__)
        assert error.code == "INVALID_ARGUMENT"
        expect_error(kind, "do not fit", hvd.alltoall, torch.ones(size - 1), torch.ones(size, dtype=torch.int32),
                     name=kind.__name__)
        expect_error(kind, "submits", hvd.allreduce, torch.ones(hvd.rank() + 1), name=kind.__name__)


def check_optimizers_know_their_names():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    for op in (hvd.Average, hvd.Adasum):
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), op=op)
        names = set(optimizer._parameter_names.values())
        assert len(names) == 4 and hvd.allgather_object(names) == [names] * hvd.size()
        named = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters(), op=op)
        assert set(named._parameter_names.values()) == {name for name, _ in model.named_parameters()}
