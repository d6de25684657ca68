"""Rank 0's tuning while the job trains, and which settings the environment fixes: Horovod's variables."""

import ctypes
import os

from . import _library
from ._library import library
from .exceptions import HorovodInternalError

# Horovod's variables, except for the noise of its Gaussian process, which this search does not use.
_WARMUP_SAMPLES, _STEPS_PER_SAMPLE, _MOST_TRIES = 3, 10, 20


def window_us(environment):
    """The batching window in microseconds, from HOROVOD_CYCLE_TIME, which is in milliseconds. 0: it is not set."""
    text = environment.get("HOROVOD_CYCLE_TIME", "")
    try:
        window = float(text or 0)
    except ValueError:
        window = -1
    if not 0 <= window <= 10000:
        raise HorovodInternalError(f"HOROVOD_CYCLE_TIME is {text!r} instead of a number of milliseconds, 10000 at most",
                                   "INVALID_ARGUMENT")
    return round(1000 * window)


def begin(environment, rank):
    """Starts the tuning that HOROVOD_AUTOTUNE asks for, once the ranks have met. Settings of the environment stay as
    they are.

    HorovodInternalError: a variable is invalid; HOROVOD_AUTOTUNE_LOG cannot be written.
    """
    if rank != 0 or environment.get("HOROVOD_AUTOTUNE", "0") in ("", "0"):
        return
    options = _library.Autotune(
        ctypes.sizeof(_library.Autotune),
        *(not environment.get(name) for name in (
            "HOROVOD_FUSION_THRESHOLD", "HOROVOD_CYCLE_TIME", "TONY_COLLECTIVE_SWITCH_POINTS")),
        _count(environment, "HOROVOD_AUTOTUNE_WARMUP_SAMPLES", _WARMUP_SAMPLES, 0),
        _count(environment, "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", _STEPS_PER_SAMPLE, 1),
        _count(environment, "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", _MOST_TRIES, 1),
        os.fsencode(environment.get("HOROVOD_AUTOTUNE_LOG", "")) or None)
    code = library().start_autotune(ctypes.byref(options))
    if code != _library.OK:
        library().fail(code)


def _count(environment, name, default, least):
    text = environment.get(name) or str(default)
    if not text.isdecimal() or not least <= int(text) < 1 << 31:
        raise HorovodInternalError(f"{name} is {text!r} instead of a number from {least} on", "INVALID_ARGUMENT")
    return int(text)
