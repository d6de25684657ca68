"""Sets of ranks that take part in operations."""

import ctypes
import operator

from . import _process
from ._library import library
from ._submission import full_name, submit
from ._surface import surface
from .exceptions import InvalidArgumentError


class ProcessSet:
    """Some of the job's ranks, for the ``process_set`` of operations. ``init()`` or ``add_process_set()`` registers it.

    ``ranks``: a sorted list. ``process_set_id``: the library's number of the set; None while it is not registered.
    """

    process_set_id = None
    ranks = None

    def __init__(self, ranks):
        """``ranks``: numbers of the job's ranks, in any order. ValueError: they are invalid."""
        try:
            self.ranks = sorted(operator.index(rank) for rank in ranks)
        except TypeError as error:
            raise ValueError(f"ProcessSet should be initialized with a list of process ranks, not {ranks!r}") from error

    def included(self):
        """Whether this process's rank belongs to the set. None: it is the set of all ranks, before ``init()``."""
        return None if self.ranks is None else _process.rank() in self.ranks

    def rank(self):
        """This process's number within the set, from 0, as used for allgather's results. None: the set is not
        registered.

        An operation's ``root_rank`` is not such a number, but a rank of the job as hvd.rank() returns it. ValueError:
        this rank does not belong to the set.
        """
        if self.process_set_id is None:
            return None
        _check_included(self)
        return self.ranks.index(_process.rank())

    def size(self):
        """The number of ranks in the set. None: the set is not registered."""
        return None if self.process_set_id is None else len(self.ranks)

    def __str__(self):
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks})"


class _GlobalProcessSet(ProcessSet):
    """All ranks of the job: the set for operations without a ``process_set``."""

    process_set_id = 0

    def __init__(self):  # pylint: disable=super-init-not-called
        """Its ranks are known after init()."""

    def size(self):
        return _process.size()

    def rank(self):
        return _process.rank()


#: All ranks.
global_process_set = _GlobalProcessSet()

# The registered ProcessSets by the library's number. Sets with the same ranks have the same number.
_registered = {0: [global_process_set]}


def set_id(process_set):
    """The library's number of a set to which this rank belongs. ValueError: it is no set, is not registered, or this
    rank does not belong to it. NotInitializedError: before ``init()``."""
    if process_set is global_process_set:
        return 0
    _check_included(check_registered(process_set))
    return process_set.process_set_id


def check_registered(process_set):
    """Returns ``process_set``. ValueError: it is no process set, or not registered. NotInitializedError: before
    ``init()``."""
    if not isinstance(process_set, ProcessSet):
        raise ValueError(f"process_set is {process_set!r}: it is hvd.global_process_set or a hvd.ProcessSet")
    _process.rank()  # for its NotInitializedError, here and below
    if process_set.process_set_id not in _registered:
        raise ValueError(f"the process set of ranks {process_set.ranks} is not registered: give it to hvd.init() or "
                         "hvd.add_process_set()")
    return process_set


def _check_included(process_set):
    if not process_set.included():
        raise InvalidArgumentError(f"rank {_process.rank()} does not belong to process set "
                                   f"{process_set.process_set_id}, which has the ranks {process_set.ranks}")


@surface
def add_process_set(process_set):
    """Registers a process set. All ranks call it in the same order, even those outside of the set.

    ``process_set``: a ProcessSet or a list of ranks.

    Returns: the ProcessSet. Sets with the same ranks have the same number.

    HorovodInternalError: the ranks do not agree on the set's members; a member does not exist or occurs twice, or the
    set is empty; there is no memory for the set. ValueError: it is no list of ranks.
    """
    if not isinstance(process_set, ProcessSet):
        process_set = ProcessSet(process_set)
    _process.rank()
    ranks = process_set.ranks
    name = full_name("process_set.add", None).encode()
    handle = submit(library().add_process_set, (name, (ctypes.c_int * len(ranks))(*ranks), len(ranks)),
                    lambda numbers: library().check(library().added_process_set(numbers[0])))
    number = handle.wait()
    if process_set is not global_process_set:
        process_set.process_set_id = number
        _registered.setdefault(number, []).append(process_set)
    return process_set


@surface
def remove_process_set(process_set):
    """Removes a process set and all others with the same ranks. All ranks call it.

    Returns: True; False for the set of all ranks, which stays.

    HorovodInternalError: the ranks name different sets, or a rank is lost. ValueError: it is not registered.
    """
    if not isinstance(process_set, ProcessSet) or process_set.process_set_id is None:
        raise ValueError(f"{process_set} is not registered")
    number = process_set.process_set_id
    if number == 0:
        return False
    submit(library().remove_process_set, (full_name("process_set.remove", None).encode(), number),
           lambda _: None).wait()
    for each in {process_set, *_registered.pop(number, [])}:
        each.process_set_id = None
    return True


def process_set_included(process_set_id=0):
    """Whether this process's rank belongs to the set with this number. ValueError: there is no such set."""
    return process_set_by_id(process_set_id).included()


def process_set_by_id(process_set_id):
    """A registered ProcessSet. ValueError: there is none with this number."""
    _process.rank()
    if process_set_id not in _registered:
        raise ValueError(f"No known process set with id {process_set_id}")
    return _registered[process_set_id][0]


def get_process_set_ids_and_ranks():
    """A dictionary of all registered sets: the list of a set's ranks by the set's number."""
    _process.rank()
    return {number: list(sets[0].ranks) for number, sets in sorted(_registered.items())}


def number_of_process_sets():
    """The number of registered sets, including that of all ranks."""
    _process.rank()
    return len(_registered)


def checked(process_sets):
    """The argument ``process_sets`` of init() as a list of ProcessSets. ValueError: it is invalid."""
    # With "dynamic", Horovod allows sets to be added after init(). Here they always may be.
    if process_sets is None or isinstance(process_sets, str) and process_sets.lower() == "dynamic":
        return []
    return [each if isinstance(each, ProcessSet) else ProcessSet(each) for each in process_sets]


def start(process_sets):
    """Called when the ranks have met: only ``process_sets`` are registered from now on."""
    for number in [number for number in _registered if number != 0]:
        for each in _registered.pop(number):
            each.process_set_id = None
    global_process_set.ranks = list(range(_process.size()))
    for each in process_sets:
        add_process_set(each)
