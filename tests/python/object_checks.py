"""Checks on each rank for Python objects that are copied, pickled, or cannot be: run by run_checks.py."""

import copy
import importlib.util
import pickle
import sys
import unittest.mock

import tony.collective as hvd
from array_checks import expect_error

HAS_CLOUDPICKLE = importlib.util.find_spec("cloudpickle") is not None
WITHOUT = {"cloudpickle": None}  # in sys.modules: as if it were not installed


class Stubborn:
    """No library can pickle it."""

    def __reduce__(self):
        raise OSError("it lives in a file")


def check_copies_of_ops_are_the_ops():
    for op in (hvd.Average, hvd.Sum, hvd.Adasum, hvd.Min, hvd.Max, hvd.Product):
        assert copy.deepcopy(op) is op and copy.copy(op) is op
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(op, protocol)) is op
        assert all(each is op for each in hvd.allgather_object(op))
    assert copy.deepcopy({"op": hvd.Sum})["op"] is hvd.Sum


def check_all_hear_of_what_cannot_be_pickled():
    for root in range(hvd.size()):
        thing = Stubborn() if hvd.rank() == root else None
        for function, arguments in ((hvd.broadcast_object, (thing, root)), (hvd.allgather_object, (thing,))):
            error = expect_error(ValueError, f"rank {root} cannot pickle its object: OSError: it lives in a file",
                                 function, *arguments)
            assert isinstance(error, hvd.HorovodInternalError) and error.code == "INVALID_ARGUMENT"
            assert isinstance(error.__cause__, OSError) == (hvd.rank() == root)
    # All ranks continue.
    assert hvd.broadcast_object(hvd.rank()) == 0
    assert hvd.allgather_object(hvd.rank()) == list(range(hvd.size()))


def check_the_remedy_is_named():
    with unittest.mock.patch.dict(sys.modules, WITHOUT):
        expect_error(ValueError, "if cloudpickle is installed", hvd.broadcast_object, lambda: 3)
        expect_error(ValueError, "if cloudpickle is installed", hvd.allgather_object, lambda: 3)


def check_a_long_reason_is_cut():
    class Verbose:
        """Says more than one wants to read."""

        def __reduce__(self):
            raise OSError("long " * 10000)

    error = expect_error(ValueError, "long long", hvd.broadcast_object, Verbose())
    assert len(str(error)) < 5000


def check_what_cloudpickle_takes():
    if not HAS_CLOUDPICKLE:
        return
    rank = hvd.rank()
    assert hvd.broadcast_object((lambda: 3) if rank == 0 else None)() == 3
    assert [each() for each in hvd.allgather_object(lambda: rank)] == list(range(hvd.size()))


def check_a_rank_without_cloudpickle_says_so():
    if not HAS_CLOUDPICKLE:
        return
    given = (lambda: 3) if hvd.rank() == 0 else None
    if hvd.rank() == 0:
        assert hvd.broadcast_object(given)() == 3
        return
    loaded = [name for name in sys.modules if name.partition(".")[0] == "cloudpickle"]
    with unittest.mock.patch.dict(sys.modules, {**dict.fromkeys(loaded), **WITHOUT}):
        expect_error(ModuleNotFoundError, "not installed here", hvd.broadcast_object, given)
