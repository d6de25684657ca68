"""Diagnostics of this rank: counters, the timeline, and answers to rank 0's question where it stands."""

import contextlib
import ctypes
import os
import threading
import warnings

from . import _library, _stacks
from ._library import library
from ._process import is_initialized, rank, size
from .exceptions import HorovodInternalError, NotInitializedError

_OPERATIONS = ("allreduce", "allgather", "broadcast", "reducescatter", "alltoall", "barrier",
               "add_process_set", "remove_process_set")
# Seconds until rank 0 reports waiting tensors, and until it fails them; 0: never.
_REPORT_SECONDS, _END_SECONDS = 60, 0
# Longer than any wait; a question or the shutdown comes earlier.
_FOR_EVER_MS = 1 << 40


def counters():
    """Counters of this rank since ``init()``, as a dict.

    - ``tensors``, ``bytes``: dicts by operation ("allreduce", "allgather", "broadcast", "reducescatter", "alltoall",
      "barrier", "add_process_set", "remove_process_set"): the number of finished tensors, and their size on this rank.
    - ``operations``: the number of operations that processed them; ``fusion``: the average number of tensors in one.
    - ``failed``: tensors whose operation has failed.
    - ``by_number``, ``by_request``: tensors that were submitted to rank 0 by a known number, or with a full request.
    - ``negotiation_seconds``: time in which at least one tensor of this rank waited for other ranks or the decision.
    - ``queue_seconds``: time in which decisions waited for earlier ones. ``operation_seconds``: time of operations.
    - ``waited_for_seconds``: time in which others waited for this rank and no other. Rank 0 measures it and tells the
      others about once a second.
    - ``straggler_seconds``: on rank 0, the same for each rank, as a list; None on others.

    NotInitializedError: before ``init()``.
    """
    if not is_initialized():
        raise NotInitializedError()
    raw = _library.Counters(ctypes.sizeof(_library.Counters))
    _check(library().get_counters(ctypes.byref(raw)))
    waited = (ctypes.c_int64 * size())()
    known = library().check(library().get_waited_for(waited, size()))
    tensors = dict(zip(_OPERATIONS, raw.tensors))
    return {
        "tensors": tensors, "bytes": dict(zip(_OPERATIONS, raw.bytes)), "operations": raw.operations,
        "fusion": sum(tensors.values()) / raw.operations if raw.operations else 0.0, "failed": raw.failed,
        "by_number": raw.by_number, "by_request": raw.by_request, "negotiation_seconds": raw.negotiation_time / 1e9,
        "queue_seconds": raw.queue_time / 1e9, "operation_seconds": raw.operation_time / 1e9,
        "waited_for_seconds": raw.waited_for_time / 1e9,
        "straggler_seconds": [each / 1e9 for each in waited] if known else None}


def start_timeline(file_path, mark_cycles=False):
    """Begins a timeline of this rank, which chrome://tracing and https://ui.perfetto.dev show.

    Each rank that calls it writes a file: rank 0 ``file_path``, others with their rank in its name ("trace.json",
    "trace.rank1.json"). ``python3 -m tony.collective.timeline merge`` merges them. ``mark_cycles``: rank 0 also marks
    the moments at which it decides.

    HorovodInternalError: the file cannot be written; there is a timeline already. NotInitializedError: before
    ``init()``.
    """
    if not is_initialized():
        raise NotInitializedError()
    path = path_of(os.fspath(file_path), rank())
    _check(library().start_timeline(os.fsencode(path), int(mark_cycles)))


def stop_timeline():
    """Completes the file of start_timeline() or HOROVOD_TIMELINE. HorovodInternalError: there is no timeline, or not
    all of it could be written."""
    if not is_initialized():
        raise NotInitializedError()
    _check(library().stop_timeline())


def path_of(path, number):
    """The file of rank ``number``; that of rank 0 is ``path``."""
    stem, extension = os.path.splitext(path)
    return path if number == 0 else f"{stem}.rank{number}{extension}"


def begin(environment, life):
    """Starts what the environment asks for, once the ranks have met. ``life``: the number of earlier meetings in this
    process.

    HorovodInternalError: a variable is invalid; the timeline cannot be written; a thread cannot be started.
    """
    report = _seconds(environment, "HOROVOD_STALL_CHECK_TIME_SECONDS", _REPORT_SECONDS)
    end = _seconds(environment, "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", _END_SECONDS)
    if environment.get("HOROVOD_STALL_CHECK_DISABLE", "0") not in ("", "0"):
        report = end = 0
    _check(library().set_stall_times(int(1000 * report), int(1000 * end)))
    timeline = environment.get("HOROVOD_TIMELINE", "")
    if timeline and timeline != "DYNAMIC":  # Horovod's word for: when the program says so
        start_timeline(timeline, environment.get("HOROVOD_TIMELINE_MARK_CYCLES", "0") not in ("", "0"))
    folder = environment.get("TONY_COLLECTIVE_COUNTERS", "")
    if folder:
        _write_counters(folder, f"{os.getpid()}.{life}")
    try:
        threading.Thread(target=_answer_questions, name="tony.collective", daemon=True).start()
    except RuntimeError as error:
        raise HorovodInternalError("no thread can be started (raise the limit of processes, ulimit -u or the "
                                   f"container's pids.max, or of memory): {error}", "RESOURCE_EXHAUSTED") from error


def _write_counters(folder, file):
    """Errors are ignored: others read the counters, and the training does not need them."""
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        _check(library().write_counters(os.fsencode(os.path.join(folder, file))))
    except (OSError, HorovodInternalError) as error:
        warnings.warn(f"what this rank counts cannot be written for TONY_COLLECTIVE_COUNTERS: {error}")


def _answer_questions():
    """Sleeps in the library, without Python's lock, until rank 0 asks or the ranks part."""
    while True:
        question = library().wait_for_question(_FOR_EVER_MS)
        if question < 0:
            return
        if question > 0:
            library().answer(question, _stacks.describe(threading.get_ident()).encode("utf-8", "replace"))


def _check(code):
    if code != _library.OK:
        library().fail(code)


def _seconds(environment, name, default):
    text = environment.get(name, "")
    try:
        seconds = float(text or default)
    except ValueError:
        seconds = -1
    if not 0 <= seconds < 1e9:
        raise HorovodInternalError(f"{name} is {text!r} instead of a number of seconds", "INVALID_ARGUMENT")
    return seconds
