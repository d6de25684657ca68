"""Reads from the environment which rank this process is, and where it meets the others."""

import datetime
import functools
import hashlib
import hmac
import os
import sys

from . import _rounds
from ._stores import HttpStore, TorchStore
from .exceptions import HorovodInternalError

# Default time limits in seconds: for all ranks to come, and for one rank to do its part of an operation.
_MEET_SECONDS, _OPERATION_SECONDS = 120, 60
# HOROVOD_GLOO_TIMEOUT_SECONDS=0 means no limit. This value is so long that nobody notices it.
_NO_LIMIT_SECONDS = 30 * 24 * 3600


class Place:
    """One rank's place among all: numbers from 0, and ``store``, which is None if there is only one rank.

    Local ranks are numbers within one host. Cross ranks are numbers of the hosts that have this local rank. ``scope``
    names this start of the job; it separates the store's keys of different starts.
    """

    scope = ""

    def __init__(self, rank, size, local=None, cross=None, store=None):
        self.rank, self.size = rank, size
        self.local_rank, self.local_size = local or (rank, size)
        self.cross_rank, self.cross_size = cross or (
            rank // self.local_size, (size + self.local_size - 1) // self.local_size)
        self.store = store


def find_place(environment, start, timeout):
    """The Place of this process. ``start``: the number of earlier calls of init(). ``timeout``: the time for connecting
    to the store, in seconds.

    HorovodInternalError: variables are missing or invalid, or this is one of several tasks of a tony job and has no
    rank.
    """
    scope = _scope(environment, start)
    place = _find_place(environment, scope, timeout)
    place.scope = scope
    return place


def _find_place(environment, scope, timeout):
    if "HOROVOD_RANK" in environment:
        return _horovod_place(environment, scope, timeout)
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return _process_group_place(environment, distributed, scope)
    if all(name in environment for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")):
        return _torchrun_place(environment, scope, timeout)
    _check_alone(environment)
    return Place(0, 1)


def _check_alone(environment):
    """Without this check, each task of the job would be the only rank and silently train alone."""
    tasks = environment.get("TASK_NUM", "")
    if "TONY_CONTAINER_ID" not in environment or not tasks.isdigit() or int(tasks) < 2:
        return
    raise HorovodInternalError(
        f"{environment.get('JOB_NAME')}:{environment.get('TASK_INDEX')} is one of {tasks} tasks, and nothing says "
        "which rank it is: set tony.application.framework to horovod, where tasks of the types chief and worker are "
        "ranks, or to pytorch, where those of the type worker are; a task that is to be the only rank sets "
        "HOROVOD_RANK=0 and HOROVOD_SIZE=1", "FAILED_PRECONDITION")


def secret(environment):
    """The job's secret, which only its ranks know. Empty: there is none, so the ranks have to share memory."""
    key = environment.get("TONY_COLLECTIVE_KEY", "")
    # The digest has a fixed length, whatever the key's.
    return hashlib.sha256(b"tony.collective\0" + key.encode()).digest() if key else b""


def object_key(environment, scope):
    """A key for one purpose and this start of the job. Empty: the job has no key."""
    key = secret(environment)
    return hmac.new(key, b"tony.collective objects\0" + scope.encode(), hashlib.sha256).digest() if key else b""


def wire_mac(environment):
    """Whether TONY_COLLECTIVE_WIRE_MAC asks for a MAC of all data on TCP connections."""
    chosen = environment.get("TONY_COLLECTIVE_WIRE_MAC", "0")
    if chosen not in ("0", "1"):
        raise HorovodInternalError(f"TONY_COLLECTIVE_WIRE_MAC is {chosen!r} instead of '0' or '1'", "INVALID_ARGUMENT")
    return chosen == "1"


def switch_points(environment):
    """The content of rank 0's file of switch points, as bytes; None: the library's defaults."""
    return os.fsencode(environment.get("TONY_COLLECTIVE_SWITCH_POINTS", "")) or None


def timeouts(environment):
    """(time for meeting, time for a part of an operation), in seconds."""
    seconds = _number(environment, "HOROVOD_GLOO_TIMEOUT_SECONDS", default=None)
    if seconds is None:
        return _MEET_SECONDS, _OPERATION_SECONDS
    return (seconds or _NO_LIMIT_SECONDS,) * 2


def gpus_through_host(environment):
    """Whether TONY_COLLECTIVE_GPU=host is set: GPU tensors are copied to the host and reduced by CPUs."""
    chosen = environment.get("TONY_COLLECTIVE_GPU", "nccl")
    if chosen not in ("nccl", "host"):
        raise HorovodInternalError(f"TONY_COLLECTIVE_GPU is {chosen!r} instead of 'nccl' or 'host'",
                                   "INVALID_ARGUMENT")
    return chosen == "host"


def _scope(environment, start):
    """The scope for the keys of this job and this start."""
    restarts = [environment.get(name, "0") for name in ("TONY_EPOCH", "TORCHELASTIC_RESTART_COUNT")]
    # The round replaces the number of calls: ranks that came later have called init() less often.
    start = _rounds.scope_of(environment) if _rounds.is_elastic(environment) else str(start)
    return "_".join(["tony_collective", *restarts, start])


def _horovod_place(environment, scope, timeout):
    rank, size = _number(environment, "HOROVOD_RANK"), _number(environment, "HOROVOD_SIZE")
    local, cross = (
        (_number(environment, f"HOROVOD_{which}_RANK"), _number(environment, f"HOROVOD_{which}_SIZE"))
        if f"HOROVOD_{which}_RANK" in environment else None for which in ("LOCAL", "CROSS"))
    if size == 1:
        return Place(rank, size, local, cross)
    address = environment.get("HOROVOD_GLOO_RENDEZVOUS_ADDR")
    if not address:
        raise HorovodInternalError(
            f"HOROVOD_SIZE is {size}, but HOROVOD_GLOO_RENDEZVOUS_ADDR is not set, so that ranks cannot find each "
            "other: start them with tony-submit (framework horovod), horovodrun --gloo, or torchrun",
            "INVALID_ARGUMENT")
    store = HttpStore(address, _number(environment, "HOROVOD_GLOO_RENDEZVOUS_PORT"), scope, timeout)
    return Place(rank, size, local, cross, store)


def _torch_neighbours(environment, rank, size):
    """((local rank, local size), (cross rank, cross size)). Each is None if torchrun's variables do not tell."""
    local = cross = None
    if "LOCAL_RANK" in environment and "LOCAL_WORLD_SIZE" in environment:
        local = (_number(environment, "LOCAL_RANK"), _number(environment, "LOCAL_WORLD_SIZE"))
    if "GROUP_RANK" in environment and "GROUP_WORLD_SIZE" in environment:
        cross = (_number(environment, "GROUP_RANK"), _number(environment, "GROUP_WORLD_SIZE"))
    return local, cross


def _process_group_place(environment, distributed, scope):
    rank, size = distributed.get_rank(), distributed.get_world_size()
    # There is no public function for this; torch has had this one since 1.6.
    store = distributed.distributed_c10d._get_default_store()  # pylint: disable=protected-access
    return Place(rank, size, *_torch_neighbours(environment, rank, size), TorchStore(store, scope))


def _torchrun_place(environment, scope, timeout):
    rank, size = _number(environment, "RANK"), _number(environment, "WORLD_SIZE")
    neighbours = _torch_neighbours(environment, rank, size)
    if size == 1:
        return Place(rank, size, *neighbours)
    try:
        store = _torchrun_store(environment["MASTER_ADDR"], environment["MASTER_PORT"], timeout)
    except (RuntimeError, ValueError) as error:
        raise HorovodInternalError(
            f"rank {rank} does not reach torch.distributed's store at {environment['MASTER_ADDR']}:"
            f"{environment['MASTER_PORT']}: {error}", "DEADLINE_EXCEEDED") from error
    return Place(rank, size, *neighbours, TorchStore(store, scope))


@functools.lru_cache(maxsize=1)
def _torchrun_store(address, port, timeout):  # pylint: disable=unused-argument
    """The store of one job. Rank 0 has its server, which others may still use after rank 0 has shut down."""
    from torch.distributed import rendezvous
    # Like init_process_group(), so that both share the server.
    store, _, _ = next(rendezvous("env://", timeout=datetime.timedelta(seconds=timeout)))
    return store


def _number(environment, name, **default):
    """HorovodInternalError: the variable is invalid, or is missing and there is no ``default``."""
    if name not in environment and "default" in default:
        return default["default"]
    text = environment.get(name, "")
    if not text.isdigit():
        raise HorovodInternalError(f"the environment variable {name} is {text!r} instead of a number: whatever starts "
                                   "the ranks has to set it", "INVALID_ARGUMENT")
    return int(text)


def environment():
    """The variables of this process."""
    return os.environ
