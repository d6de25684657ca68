"""Checks on each rank for operations on numpy arrays: run by run_checks.py."""

import array
import gc
import random
import threading

import numpy as np

import tony.collective as hvd
from tony.collective._arrays import Arrays

INTEGERS = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64)
FLOATS = (np.float16, np.float32, np.float64)


def expect(actual, expected):
    """The same type, shape and values."""
    expected = np.asarray(expected)
    assert actual.dtype == expected.dtype, f"{actual.dtype} instead of {expected.dtype}"
    assert actual.shape == expected.shape, f"shape {actual.shape} instead of {expected.shape}"
    np.testing.assert_array_equal(actual, expected)


def expect_error(kind, text, function, *args, **kwargs):
    """It raises ``kind`` with a sentence that has ``text``."""
    try:
        result = function(*args, **kwargs)
    except kind as error:
        assert text in str(error), f"'{error}' does not have '{text}'"
        return error
    raise AssertionError(f"{result} instead of {kind.__name__} with '{text}'")


def everybody(make):
    """make(rank) of all ranks."""
    return [make(rank) for rank in range(hvd.size())]


def mine(dtype, rank=None, count=37):
    """A rank's numbers: small, none of them 0."""
    rank = hvd.rank() if rank is None else rank
    return (np.arange(count) % 3 + 1 + rank % 2).astype(dtype)


def check_allreduce_of_each_type_and_op():
    ops = {"Sum": np.add, "Product": np.multiply, "Min": np.minimum, "Max": np.maximum}
    for dtype in INTEGERS + FLOATS:
        all_of_them = np.stack(everybody(lambda rank, dtype=dtype: mine(dtype, rank)))
        for name, function in ops.items():
            result = hvd.allreduce(mine(dtype), op=getattr(hvd, name), name=f"{name}.{np.dtype(dtype).name}")
            expect(result, function.reduce(all_of_them, axis=0, dtype=dtype))


def check_memory_that_ranks_share():
    rank, size = hvd.rank(), hvd.size()
    total = sum(range(1, size + 1))
    for count in (0, 1, 1000, 1 << 20):
        given = hvd.empty((2, count), np.float32)
        assert given.shape == (2, count) and given.dtype == np.float32 and given.flags.writeable
        given[...] = rank + 1
        assert hvd.allreduce_(given, op=hvd.Sum) is given
        expect(given, np.full((2, count), total, np.float32))
        # From one to another, with a factor; also when it is so on one rank alone.
        given[...] = 4
        part = given if rank == 0 else np.array(given)
        expect(hvd.allreduce(part, op=hvd.Average, prescale_factor=0.5), np.full((2, count), 2, np.float32))
    scalar = hvd.empty((), np.int64)
    scalar[...] = 1
    expect(hvd.allreduce(scalar, op=hvd.Sum), np.int64(size))
    expect_error(ValueError, "negative", hvd.empty, -1)
    # A part of one, which outlives it.
    row = hvd.empty((3, 100))[1]
    gc.collect()
    row[...] = 1
    hvd.allreduce_(row, op=hvd.Sum)
    expect(row, np.full(100, float(size)))


def check_bool():
    given = np.array([False, hvd.rank() == 0, True])
    expect(hvd.allreduce(given, op=hvd.Max), [False, True, True])
    expect(hvd.allreduce(given, op=hvd.Min), [False, hvd.size() == 1, True])


def check_average_is_the_default():
    result = hvd.allreduce(np.full(5, hvd.rank(), np.float64))
    expect(result, np.full(5, (hvd.size() - 1) / 2))
    expect(hvd.allreduce(np.full(3, 7, np.int32)), np.full(3, 7, np.int32))
    expect(hvd.allreduce(np.ones(3, np.float32), average=False), np.full(3, hvd.size(), np.float32))
    expect_error(ValueError, "supersedes", hvd.allreduce, np.ones(3), average=True, op=hvd.Sum)


def check_factors():
    result = hvd.allreduce(np.ones(4), op=hvd.Sum, prescale_factor=0.5, postscale_factor=3)
    expect(result, np.full(4, 1.5 * hvd.size()))


def check_in_place_and_not():
    given = np.full(10, hvd.rank() + 1.0)
    kept = given.copy()
    result = hvd.allreduce(given, op=hvd.Sum, name="both")
    expect(given, kept)
    assert hvd.allreduce_(given, op=hvd.Sum, name="both") is given
    expect(given, result)


def check_other_layouts():
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (base[::2, 1::3], base.T, base[::-1], base[:, :0], np.float32(3), np.zeros((), np.float32),
                 np.zeros((0, 5), np.float32)):
        expect(hvd.allreduce(view, op=hvd.Sum), np.asarray(view) * np.float32(hvd.size()))
    strided = base.copy()
    hvd.allreduce_(strided[:, ::2], op=hvd.Sum)
    expected = base.copy()
    expected[:, ::2] *= hvd.size()
    expect(strided, expected)
    scalar = np.array(2.0)
    assert hvd.allreduce_(scalar, op=hvd.Sum) is scalar and scalar == 2 * hvd.size()


class Exchanged:
    """Memory that is known by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def check_dlpack():
    values = np.arange(1 << 16, dtype=np.float32)
    assert Arrays.pointer(Arrays.host(Exchanged(values))) == Arrays.pointer(values), "it is read where it lies"
    expect(hvd.allreduce(Exchanged(values), op=hvd.Sum), values * np.float32(hvd.size()))
    expect(hvd.allreduce(Exchanged(values[::-3]), op=hvd.Max), values[::-3])
    gathered = hvd.allgather(Exchanged(values[:hvd.rank() + 1]))
    expect(gathered, np.concatenate([values[:rank + 1] for rank in range(hvd.size())]))
    place = values.copy()
    if np.from_dlpack(values).flags.writeable:  # before 2.1 numpy does not ask whether that is allowed
        exchanged = Exchanged(place)
        assert hvd.allreduce_(exchanged, op=hvd.Sum) is exchanged
        expect(place, values * np.float32(hvd.size()))
    else:
        expect_error(ValueError, "cannot be changed in place", hvd.allreduce_, Exchanged(place))


def check_large():
    count = (1 << 20) + 3
    result = hvd.allreduce(np.full(count, hvd.rank(), np.float32), op=hvd.Sum)
    expect(result, np.full(count, sum(range(hvd.size())), np.float32))


def check_not_a_number_passes_through():
    given = np.array([np.nan, np.inf, 1.0])
    result = hvd.allreduce(given if hvd.rank() == 0 else np.ones(3), op=hvd.Max)
    assert np.isnan(result[0]) and np.isinf(result[1]) and result[2] == 1, result


def check_buffers_without_numpy():
    values = array.array("d", [1, 2, 3])
    assert hvd.allreduce_(values, op=hvd.Sum) is values
    assert list(values) == [hvd.size() * value for value in (1, 2, 3)]
    expect(hvd.allreduce([1.0, 2.0], op=hvd.Max), [1.0, 2.0])


def check_any_order_of_submission():
    order = list(range(60))
    random.Random(hvd.rank()).shuffle(order)
    handles = {number: hvd.allreduce_async(np.full(number * 50, number, np.float32), op=hvd.Sum, name=f"o.{number}")
               for number in order}
    hvd.barrier()
    for number in range(60):
        result = hvd.synchronize(handles[number])
        assert hvd.poll(handles[number])
        expect(result, np.full(number * 50, number * hvd.size(), np.float32))


def check_many_threads():
    failed = []

    def submit(thread):
        try:
            for number in range(20):
                name = f"thread.{thread}.{number}"
                expect(hvd.allreduce(np.full(9, thread), op=hvd.Sum, name=name), np.full(9, thread * hvd.size()))
        except Exception as error:  # pylint: disable=broad-except
            failed.append(error)

    threads = [threading.Thread(target=submit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed


def check_groups():
    given = [np.full(number + 1, hvd.rank(), np.float32) for number in range(5)]
    total = sum(range(hvd.size()))
    results = hvd.grouped_allreduce(given, op=hvd.Sum, name="group")
    for number, result in enumerate(results):
        expect(result, np.full(number + 1, total, np.float32))
    assert all(a is b for a, b in zip(hvd.grouped_allreduce_(given, op=hvd.Sum, name="group"), given))
    expect(given[4], results[4])


def check_compression():
    given = np.linspace(0, 1, 10, dtype=np.float32)
    result = hvd.allreduce(given, op=hvd.Sum, compression=hvd.Compression.fp16)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, hvd.size() * given, rtol=2e-3)
    expect(hvd.allreduce(np.arange(3), op=hvd.Max, compression=hvd.Compression.fp16), np.arange(3))


def check_allgather():
    rows = np.concatenate(everybody(lambda rank: np.full((rank + 1, 3), rank, np.int16)))
    result = hvd.allgather(np.full((hvd.rank() + 1, 3), hvd.rank(), np.int16))
    gc.collect()
    expect(result, rows)
    result[0] = 5  # its memory is the caller's
    expect(hvd.allgather(np.zeros((0, 2))), np.zeros((0, 2)))
    for number, result in enumerate(hvd.grouped_allgather([np.full(2, hvd.rank()), np.full(1, hvd.rank())])):
        expect(result, np.concatenate(everybody(lambda rank, number=number: np.full(2 - number, rank))))


def check_broadcast():
    root = hvd.size() - 1
    given = np.full((2, 3), hvd.rank(), np.float64)
    result = hvd.broadcast(given, root)
    expect(result, np.full((2, 3), root, np.float64))
    assert given[0, 0] == hvd.rank() and not np.shares_memory(result, given)
    assert hvd.broadcast_(given, root) is given
    expect(given, result)
    text = "there is no root rank" if hvd.size() == 1 else f"root rank {hvd.size()}"
    expect_error(hvd.HorovodInternalError, text, hvd.broadcast, given, hvd.size(), "rootless")


def check_reducescatter():
    rows = 2 * hvd.size() + 1
    given = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
    counts = [3] + [2] * (hvd.size() - 1)
    first = sum(counts[:hvd.rank()])
    mine_of_it = given[first:first + counts[hvd.rank()]]
    expect(hvd.reducescatter(given), mine_of_it)
    expect(hvd.reducescatter(given, op=hvd.Sum), mine_of_it * np.float32(hvd.size()))
    for result in hvd.grouped_reducescatter([given, given], op=hvd.Max):
        expect(result, mine_of_it)


def check_alltoall():
    size, rank = hvd.size(), hvd.rank()
    expect(hvd.alltoall(np.arange(2 * size) + 100 * rank),
           np.concatenate(everybody(lambda other: np.arange(2 * rank, 2 * rank + 2) + 100 * other)))
    splits = [to + 1 for to in range(size)]
    result, received = hvd.alltoall(np.full((sum(splits), 2), rank), splits=splits)
    expect(result, np.concatenate(everybody(lambda other: np.full((rank + 1, 2), other))))
    expect(received, np.full(size, rank + 1, np.int32))
    expect_error(ValueError, "numbers for", hvd.alltoall, np.ones(3), splits=[1] * (size + 1))
    if size > 1:
        expect_error(hvd.HorovodInternalError, "cannot be split evenly", hvd.alltoall, np.ones(size + 1), name="odd")


def check_adasum():
    same = np.array([3.0, 4.0])
    np.testing.assert_allclose(hvd.allreduce(same, op=hvd.Adasum), same)
    orthogonal = np.zeros(hvd.size())
    orthogonal[hvd.rank()] = 2
    np.testing.assert_allclose(hvd.allreduce(orthogonal, op=hvd.Adasum), np.full(hvd.size(), 2.0))


def check_objects():
    root = hvd.size() - 1
    thing = {"rank": hvd.rank(), "text": "x" * (1000 * hvd.rank())}
    assert hvd.broadcast_object(thing, root)["rank"] == root
    assert [each["rank"] for each in hvd.allgather_object(thing)] == list(range(hvd.size()))
    assert hvd.broadcast_object(None, root, name="nothing") is None


def check_what_does_not_fit_is_refused_here():
    expect_error(ValueError, "complex64 is not supported", hvd.allreduce, np.ones(3, np.complex64))
    expect_error(ValueError, "in place", hvd.allreduce_, [1.0])
    constant = np.ones(3)
    constant.flags.writeable = False
    expect_error(ValueError, "in place", hvd.allreduce_, constant)
    expect_error(ValueError, "process_set", hvd.allreduce, np.ones(3), process_set=7)
    expect_error(ValueError, "list of process ranks", hvd.ProcessSet, 0)
    expect_error(ValueError, "op is 5", hvd.allreduce, np.ones(3), op=5)


def check_disagreements_are_told_on_all_ranks():
    last = hvd.size() - 1
    if last == 0:
        return
    differs = hvd.rank() == last
    for what, given, options in (
            ("float64[5]", np.ones(5 if differs else 4), {}),
            ("float32[4]", np.ones(4, np.float32 if differs else np.float64), {}),
            ("max", np.ones(4), {"op": hvd.Max if differs else hvd.Sum}),
            ("prescale factor 2", np.ones(4), {"prescale_factor": 2.0 if differs else 1.0})):
        error = expect_error(hvd.HorovodInternalError, "tensor 'allreduce.weights'", hvd.allreduce, given,
                             name="weights", **options)
        assert error.code == "INVALID_ARGUMENT", error.code
        assert f"rank {last} {what}" in str(error) and "rank 0 submits" in str(error), error
    expect(hvd.allreduce(np.ones(4), op=hvd.Sum, name="weights"), np.full(4, float(hvd.size())))


def check_a_name_that_is_on_its_way_is_refused():
    if hvd.size() == 1:
        return
    if hvd.rank() > 0:
        hvd.barrier()
        expect(hvd.allreduce(np.ones(2), op=hvd.Sum, name="twice"), np.full(2, float(hvd.size())))
        return
    first = hvd.allreduce_async(np.ones(2), op=hvd.Sum, name="twice")
    assert not hvd.poll(first)
    expect_error(hvd.HorovodInternalError, "'allreduce.twice' is on its way already", hvd.allreduce, np.ones(2),
                 name="twice")
    hvd.barrier()
    expect(hvd.synchronize(first), np.full(2, float(hvd.size())))
    expect(hvd.synchronize(first), np.full(2, float(hvd.size())))


def check_uneven_data():
    for batch in range(hvd.rank() + 1):
        expect(hvd.allreduce(np.ones(3), op=hvd.Sum), np.full(3, float(hvd.size() - batch)))
    assert hvd.join() == hvd.size() - 1
    # The numbering of unnamed operations begins again, though ranks have used different numbers.
    expect(hvd.allreduce(np.ones(3), op=hvd.Sum), np.full(3, float(hvd.size())))


def check_init_twice_does_nothing():
    rank = hvd.rank()
    hvd.init()
    assert hvd.is_initialized() and hvd.rank() == rank
