"""init(): this process meets the others and becomes a rank."""

import ctypes

from . import _autotune, _library, _meeting, _process_sets, _rounds, _watch
from ._library import library
from ._process import begin_life, current
from ._stores import StoreError, StoreTimeout
from ._surface import surface
from .exceptions import HorovodInternalError


@surface
def init(comm=None, process_sets=None):
    """Meets the other ranks, and returns when all are there. Further calls do nothing.

    The environment says where the ranks meet. tony-submit (framework ``horovod`` or ``pytorch``), ``horovodrun --gloo``
    and ``torchrun`` set the necessary variables. Without them this process is the only rank; for one of several tasks
    of tony-submit that is an error.

    Arguments:
        comm: for compatibility with Horovod; all ranks take part, so None or an empty list.
        process_sets: a list of ProcessSets, or of lists of ranks, the same on all ranks, as for add_process_set().

    Raises:
        HorovodInternalError: a rank has not come in time (HOROVOD_GLOO_TIMEOUT_SECONDS, 120 by default; the message
            names it), variables are missing, a thread cannot be started, or HOROVOD_TIMELINE or HOROVOD_AUTOTUNE_LOG
            cannot be written. An elastic job waits for the next round instead; there the error means that this process
            has no place. Errors of add_process_set().
    """
    if comm:
        raise ValueError("tony.collective starts with all ranks: call init() without comm, and add process sets")
    process_sets = _process_sets.checked(process_sets)
    with current.lock:
        if library().is_initialized():
            return
        environment = _meeting.environment()
        _rounds.meet(environment, current.starts > 0,
                     lambda: _meet(environment, lambda: _process_sets.start(process_sets)))


def _meet(environment, on_met):
    meet, operation = _meeting.timeouts(environment)
    start, current.starts = current.starts, current.starts + 1
    place = _meeting.find_place(environment, start, meet)
    key = _meeting.secret(environment)
    options = _library.Options(
        ctypes.sizeof(_library.Options), place.rank, place.size, key, len(key), 1000 * meet, 1000 * operation,
        _fusion_bytes(environment), None, _meeting.switch_points(environment),
        _autotune.window_us(environment), place.scope.encode(), _meeting.wire_mac(environment))
    interrupts = []
    store = _callbacks(place.store, interrupts) if place.store is not None else None
    if store is not None:
        options.store = ctypes.pointer(store)
    try:
        code = library().init(ctypes.byref(options))
        if interrupts:
            raise interrupts[0]
        if code != _library.OK:
            library().fail(code)
        current.place = place
        current.object_key = _meeting.object_key(environment, place.scope)
        _watch.begin(environment, start)
        _autotune.begin(environment, place.rank)
        begin_life()
        on_met()
    except BaseException:  # Ctrl-C may come even after the ranks have met
        current.place = None
        library().shutdown()
        raise


def _fusion_bytes(environment):
    """HOROVOD_FUSION_THRESHOLD in bytes; 0, the library's choice, if it is not set."""
    text = environment.get("HOROVOD_FUSION_THRESHOLD", "0")
    if not text.isdigit():
        raise HorovodInternalError(f"HOROVOD_FUSION_THRESHOLD is {text!r} instead of a number of bytes",
                                   "INVALID_ARGUMENT")
    return int(text)


def _callbacks(store, interrupts):
    """struct tony_collective_store; it keeps itself alive while it is used. ``interrupts``: a list that receives
    exceptions such as KeyboardInterrupt, because an exception cannot pass through the C code below."""
    def answer(call, take, receiver):
        try:
            value, code = call() or b"", "OK"
        except StoreTimeout as error:
            value, code = str(error).encode(), "DEADLINE_EXCEEDED"
        except StoreError as error:
            value, code = str(error).encode(), "INTERNAL"
        except Exception as error:  # pylint: disable=broad-except  # it would be lost in the C code below
            value, code = repr(error).encode(), "INTERNAL"
        except BaseException as error:  # pylint: disable=broad-except
            interrupts.append(error)
            value, code = repr(error).encode(), "INTERNAL"
        take(receiver, value, len(value))
        return _library.CODES.index(code)

    def put(_, key, value, size_, take, receiver):
        return answer(lambda: store.put(key.decode(), ctypes.string_at(value, size_)), take, receiver)

    def get(_, key, timeout_ms, take, receiver):
        return answer(lambda: store.get(key.decode(), timeout_ms / 1000), take, receiver)

    return _library.Store(None, _library.Put(put), _library.Get(get))
