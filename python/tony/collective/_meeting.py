"""Which rank this process is, and where it meets the others: read from the environment."""

import datetime
import functools
import hashlib
import hmac
import os
import sys

from . import _rounds
from ._stores import HttpStore, TorchStore
from .exceptions import HorovodInternalError

# For all ranks to come, and for one of them to do its part, in seconds.
_MEET_SECONDS, _OPERATION_SECONDS = 120, 60
# HOROVOD_GLOO_TIMEOUT_SECONDS=0 means no limit; this is none that anybody sees.
_NO_LIMIT_SECONDS = 30 * 24 * 3600


class Place:
    """One rank's place among all: numbers from 0, and ``store``, which is None where there is one rank only.

    Local ranks count on one host; cross ranks count the hosts, or those of them that have this local rank. ``scope`` is
    the name of this start of the job, by which the store keeps its keys apart from those of other starts.
    """

    scope = ""

    def __init__(self, rank, size, local=None, cross=None, store=None):
        self.rank, self.size = rank, size
        self.local_rank, self.local_size = local or (rank, size)
        self.cross_rank, self.cross_size = cross or (
            rank // self.local_size, (size + self.local_size - 1) // self.local_size)
        self.store = store


def find_place(environment, start, timeout):
    """The Place of this process. ``start``: how often init() was called before. ``timeout``: of a store that is to be
    connected to, in seconds.

    HorovodInternalError: variables are missing or are none; this is one of several tasks of tony's, and nothing says
    which rank it is.
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
    """Tasks of one job that were each the only rank would train alone without a word."""
    tasks = environment.get("TASK_NUM", "")
    if "TONY_CONTAINER_ID" not in environment or not tasks.isdigit() or int(tasks) < 2:
        return
    raise HorovodInternalError(
        f"{environment.get('JOB_NAME')}:{environment.get('TASK_INDEX')} is one of {tasks} tasks, and nothing says "
        "which rank it is: set tony.application.framework to horovod, where tasks of the types chief and worker are "
        "ranks, or to pytorch, where those of the type worker are; a task that is to be the only rank sets "
        "HOROVOD_RANK=0 and HOROVOD_SIZE=1", "FAILED_PRECONDITION")


def secret(environment):
    """What the ranks of this job know and nobody else; empty: there is nothing, so they have to share memory."""
    key = environment.get("TONY_COLLECTIVE_KEY", "")
    # Of one length, whatever the key's.
    return hashlib.sha256(b"tony.collective\0" + key.encode()).digest() if key else b""


def object_key(environment, scope):
    """A key for one purpose, of this start of the job; empty: the job has none."""
    key = secret(environment)
    return hmac.new(key, b"tony.collective objects\0" + scope.encode(), hashlib.sha256).digest() if key else b""


def wire_mac(environment):
    """Whether TONY_COLLECTIVE_WIRE_MAC asks for a MAC of all that goes through TCP."""
    chosen = environment.get("TONY_COLLECTIVE_WIRE_MAC", "0")
    if chosen not in ("0", "1"):
        raise HorovodInternalError(f"TONY_COLLECTIVE_WIRE_MAC is {chosen!r} instead of '0' or '1'", "INVALID_ARGUMENT")
    return chosen == "1"


def switch_points(environment):
    """The file of rank 0's switch points, as bytes; None: the library's own."""
    return os.fsencode(environment.get("TONY_COLLECTIVE_SWITCH_POINTS", "")) or None


def timeouts(environment):
    """(to meet, to do a part of an operation), in seconds."""
    seconds = _number(environment, "HOROVOD_GLOO_TIMEOUT_SECONDS", default=None)
    if seconds is None:
        return _MEET_SECONDS, _OPERATION_SECONDS
    return (seconds or _NO_LIMIT_SECONDS,) * 2


def gpus_through_host(environment):
    """TONY_COLLECTIVE_GPU=host: tensors of GPUs are copied, and reduced by CPUs."""
    chosen = environment.get("TONY_COLLECTIVE_GPU", "nccl")
    if chosen not in ("nccl", "host"):
        raise HorovodInternalError(f"TONY_COLLECTIVE_GPU is {chosen!r} instead of 'nccl' or 'host'",
                                   "INVALID_ARGUMENT")
    return chosen == "host"


def _scope(environment, start):
    """Of this job's keys, and of this start of it."""
    restarts = [environment.get(name, "0") for name in ("TONY_EPOCH", "TORCHELASTIC_RESTART_COUNT")]
    # Those who have come later have not called init() as often.
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
    """((local rank, local size), (cross rank, cross size)), each None where torchrun's variables do not say."""
    local = cross = None
    if "LOCAL_RANK" in environment and "LOCAL_WORLD_SIZE" in environment:
        local = (_number(environment, "LOCAL_RANK"), _number(environment, "LOCAL_WORLD_SIZE"))
    if "GROUP_RANK" in environment and "GROUP_WORLD_SIZE" in environment:
        cross = (_number(environment, "GROUP_RANK"), _number(environment, "GROUP_WORLD_SIZE"))
    return local, cross


def _process_group_place(environment, distributed, scope):
    rank, size = distributed.get_rank(), distributed.get_world_size()
    # There is no public way to it; torch has had this one since 1.6.
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
    """Of one job; rank 0 has its server, which others may still use after it has shut down."""
    from torch.distributed import rendezvous
    # As init_process_group() does it, so that both share the server.
    store, _, _ = next(rendezvous("env://", timeout=datetime.timedelta(seconds=timeout)))
    return store


def _number(environment, name, **default):
    """HorovodInternalError: it is missing, without a ``default``, or is none."""
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
