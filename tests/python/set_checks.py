"""Checks on each of four ranks for process sets: run by run_checks.py."""

import ctypes
import gc

import numpy as np

import tony.collective as hvd
from array_checks import expect, expect_error
from tony.collective import _handles, _library, _submission

SETS = [hvd.ProcessSet([0, 1]), hvd.ProcessSet([3, 1, 2]), hvd.ProcessSet([2])]


def floats(value, count=5):
    """A vector of one value."""
    return np.full(count, float(value))


def check_adding_all():
    assert [each.process_set_id for each in SETS] == [None] * 3 and SETS[1].size() is None and SETS[1].rank() is None
    for each in SETS:
        assert hvd.add_process_set(each) is each
    assert [each.process_set_id for each in SETS] == [1, 2, 3]
    assert SETS[1].ranks == [1, 2, 3] and SETS[1].size() == 3
    assert SETS[1].included() is (hvd.rank() > 0)
    if hvd.rank() > 0:
        assert SETS[1].rank() == hvd.rank() - 1
    assert hvd.get_process_set_ids_and_ranks() == {0: [0, 1, 2, 3], 1: [0, 1], 2: [1, 2, 3], 3: [2]}
    assert hvd.number_of_process_sets() == 4 and hvd.process_set_included(1) is (hvd.rank() < 2)
    assert hvd.global_process_set.ranks == [0, 1, 2, 3] and hvd.global_process_set.size() == 4
    assert hvd.global_process_set.rank() == hvd.rank() and hvd.global_process_set.included()


def check_each_operation():
    for each in SETS:
        if not each.included():
            continue
        ranks, own, size = each.ranks, each.rank(), each.size()
        options = {"name": "x", "process_set": each}  # the same name in all sets
        expect(hvd.allreduce(floats(hvd.rank()), **options), floats(sum(ranks) / size))
        expect(hvd.allreduce(floats(1), op=hvd.Sum, process_set=each), floats(size))
        given = floats(1)
        assert hvd.allreduce_(given, op=hvd.Sum, **options) is given and given[0] == size
        expect(hvd.grouped_allreduce([floats(1), floats(2, 3)], op=hvd.Sum, **options)[1], floats(2 * size, 3))
        expect(hvd.allgather(floats(hvd.rank(), 2), **options), np.repeat(np.array(ranks, float), 2))
        expect(hvd.grouped_allgather([floats(hvd.rank(), 1), floats(0)], **options)[0], np.array(ranks, float))
        # The root is a rank of the job.
        expect(hvd.broadcast(floats(hvd.rank()), ranks[-1], **options), floats(ranks[-1]))
        expect(hvd.reducescatter(floats(1, size), op=hvd.Sum, **options), floats(size, 1))
        expect(hvd.grouped_reducescatter([floats(1, size)], op=hvd.Sum, **options)[0], floats(size, 1))
        expect(hvd.alltoall(np.full(size, hvd.rank()), **options), np.array(ranks))
        made, received = hvd.alltoall(np.full(size, own), [1] * size, **options)
        expect(made, np.arange(size))
        expect(received, np.ones(size, np.int32))
        expect_error(ValueError, f"4 numbers for {size} ranks" if size != 4 else "", hvd.alltoall, floats(1, 4),
                     splits=[1] * 4, process_set=each)
        assert hvd.broadcast_object(hvd.rank(), ranks[0], process_set=each) == ranks[0]
        assert hvd.allgather_object(hvd.rank(), process_set=each) == ranks
        hvd.barrier(each)


def check_at_the_same_time_in_all():
    handles = []
    for round_ in range(20):
        for each in SETS + [hvd.global_process_set]:
            if each.included():
                handles.append((each, hvd.allreduce_async(floats(round_), op=hvd.Sum, process_set=each), round_))
    # Each rank in another order.
    for each, handle, round_ in sorted(handles, key=lambda one: (one[2] * 7 + hvd.rank() * 3) % 5):
        expect(handle.wait(), floats(round_ * each.size()))


def check_who_does_not_belong_is_told():
    outside = [each for each in SETS if not each.included()]
    for each in outside:
        text = f"rank {hvd.rank()} does not belong to process set {each.process_set_id}"
        for function, arguments in ((hvd.allreduce, (floats(1),)), (hvd.grouped_allreduce, ([floats(1)],)),
                                    (hvd.allgather, (floats(1),)), (hvd.broadcast, (floats(1), 0)),
                                    (hvd.reducescatter, (floats(1),)), (hvd.alltoall, (floats(1),)),
                                    (hvd.broadcast_object, (1,)), (hvd.allgather_object, (1,)), (hvd.barrier, ())):
            expect_error(ValueError, text, function, *arguments, process_set=each)
        expect_error(ValueError, text, each.rank)
    expect_error(ValueError, "is not registered", hvd.allreduce, floats(1), process_set=hvd.ProcessSet([0]))
    expect_error(ValueError, "No known process set with id 77", hvd.process_set_included, 77)
    if SETS[0].included():
        expect_error(hvd.HorovodInternalError, "there is no root rank 3 in process set 1", hvd.broadcast, floats(1), 3,
                     process_set=SETS[0])


def check_ranks_that_disagree():
    expect_error(hvd.HorovodInternalError, "rank 0 submits ranks [0, 1], rank 3 ranks [0, 2]", hvd.add_process_set,
                 [0, 2] if hvd.rank() == 3 else [0, 1])
    expect_error(hvd.HorovodInternalError, "it is to have rank 9, and there are 4 ranks", hvd.add_process_set, [9])
    expect_error(hvd.HorovodInternalError, "it is to have no ranks", hvd.add_process_set, [])
    expect_error(hvd.HorovodInternalError, "it is to have rank 1 twice", hvd.add_process_set, [1, 1])
    expect_error(ValueError, "list of process ranks", hvd.add_process_set, ["a"])
    size = 2 if hvd.rank() == 0 else 3
    expect_error(hvd.HorovodInternalError, f"group 'grouped_allreduce.g' of {size}", hvd.grouped_allreduce,
                 [floats(1)] * size, name="g")
    expect(hvd.grouped_allreduce([floats(1)] * 2, name="g")[1], floats(1))


def check_a_refused_group_leaves_nothing_behind():
    if hvd.rank() == 0:
        first = hvd.allreduce_async(floats(1), name="r.1", op=hvd.Sum)
        # "grouped" names its tensors allreduce.…; through the library, so that one of them is on its way.
        tensors = (_library.Tensor * 2)(*[_library.Tensor(
            name, _library.TYPES["float64"], 1, (ctypes.c_int64 * 1)(5), 0) for name in (b"new", b"allreduce.r.1")])
        data = floats(1)
        pointers = (ctypes.c_void_p * 2)(data.ctypes.data, data.ctypes.data)
        before = len(_handles._in_flight)  # pylint: disable=protected-access
        expect_error(hvd.HorovodInternalError, "on its way already", _submission.submit_group,
                     _library.library().grouped_allgather, (b"g", 2, tensors, pointers), 2, lambda _: None)
        assert len(_handles._in_flight) == before  # pylint: disable=protected-access
    hvd.barrier()
    if hvd.rank() > 0:
        first = hvd.allreduce_async(floats(1), name="r.1", op=hvd.Sum)
    expect(first.wait(), floats(4))


def check_memory_is_held_when_a_submission_is_interrupted():
    if hvd.rank() > 1:
        return
    given, kept = floats(1), []

    library = _library.library()
    own = library.allreduce

    def interrupted(*arguments):
        kept.append(own(*arguments))
        raise KeyboardInterrupt

    library.allreduce = interrupted
    before = len(_handles._in_flight)  # pylint: disable=protected-access
    try:
        hvd.allreduce_async(given, op=hvd.Sum, name="interrupted", process_set=SETS[0])
        raise AssertionError("nothing was raised")
    except KeyboardInterrupt:
        pass
    finally:
        library.allreduce = own
    gc.collect()
    # A handle keeps alive what the library reads and writes.
    assert len(_handles._in_flight) == before + 1  # pylint: disable=protected-access
    assert library.wait(kept[0], 60000) == _library.OK


def check_removing():
    same = hvd.add_process_set([1, 0])
    assert same.process_set_id == SETS[0].process_set_id
    assert hvd.remove_process_set(SETS[0]) is True
    assert SETS[0].process_set_id is None and same.process_set_id is None
    assert hvd.remove_process_set(hvd.global_process_set) is False
    expect_error(ValueError, "is not registered", hvd.remove_process_set, SETS[0])
    expect_error(ValueError, "is not registered", hvd.allreduce, floats(1), process_set=same)
    assert sorted(hvd.get_process_set_ids_and_ranks()) == [0, 2, 3]
    assert hvd.add_process_set(SETS[0]).process_set_id == 4
    if SETS[0].included():
        expect(hvd.allreduce(floats(1), op=hvd.Sum, process_set=SETS[0]), floats(2))


def check_given_to_init():
    hvd.barrier()
    hvd.shutdown()
    pair = hvd.ProcessSet([0, 3])
    hvd.init(process_sets=[pair, [1, 2]])
    assert SETS[1].process_set_id is None
    assert hvd.get_process_set_ids_and_ranks() == {0: [0, 1, 2, 3], 1: [0, 3], 2: [1, 2]}
    mine = pair if pair.included() else hvd.process_set_by_id(2)
    expect(hvd.allreduce(floats(hvd.rank()), op=hvd.Sum, process_set=mine), floats(3))
