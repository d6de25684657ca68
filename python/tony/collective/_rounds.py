"""The rounds of an elastic job, in each of which the ranks are fixed, and how a process gets a place in the next
round."""

import time

from ._stores import HttpStore, StoreError, StoreTimeout
from .exceptions import HorovodInternalError

# Time limits in seconds: for the next round to begin, by default, and for the driver to accept a value.
_PATIENCE_SECONDS, _DRIVERS_SECONDS = 630, 10
# Horovod's name for the scope in which a process asks for its place.
_PLACE_SCOPE = "rank_and_size"
# The driver's answer has these numbers in this order, separated by commas. tony-driver adds the round's number, and
# Horovod's own driver does not.
_NUMBERS = ("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE", "HOROVOD_CROSS_RANK",
            "HOROVOD_CROSS_SIZE")
_ROUND = "TONY_ROUND"
# Codes of a meeting that failed because a rank did not come or was lost. The driver then begins a round without it.
_LOST = ("ABORTED", "DEADLINE_EXCEEDED")


class NoPlaceError(HorovodInternalError):
    """The next round has no place for this process."""


def is_elastic(environment):
    """Whether this is an elastic job, whose ranks may come and go."""
    return environment.get("HOROVOD_ELASTIC") == "1" and "HOROVOD_GLOO_RENDEZVOUS_ADDR" in environment


def own_key(environment):
    """The driver's name for this process: host and local rank in the current round."""
    return f"{environment.get('HOROVOD_HOSTNAME', 'localhost')}:{environment.get('HOROVOD_LOCAL_RANK', '0')}"


def own_store(environment, scope, timeout=_DRIVERS_SECONDS):
    """One scope of the driver's store. ``timeout``: as for HttpStore()."""
    address, port = environment["HOROVOD_GLOO_RENDEZVOUS_ADDR"], int(environment["HOROVOD_GLOO_RENDEZVOUS_PORT"])
    return HttpStore(address, port, scope, timeout)


def scope_of(environment):
    """The scope of the keys under which the ranks of the round meet, so that no rank reads a key of an earlier round.
    horovodrun does not number its rounds, and they share one scope: it empties its store when a round begins."""
    return f"round_{environment.get(_ROUND, 'of_now')}"


def meet(environment, again, attempt):
    """Returns the result of ``attempt()``, which meets the other ranks.

    ``again``: this process had a place in an earlier round. In an elastic job the driver is then asked for a new one.
    It is asked again when a meeting fails, because ranks may be lost at any time.

    NoPlaceError: the driver has no place for this process, or gives none within HOROVOD_ELASTIC_TIMEOUT (630 s).
    HorovodInternalError: from ``attempt()``, if another round would not help or this time is over.
    """
    if not is_elastic(environment):
        return attempt()
    deadline = time.monotonic() + _patience(environment)
    while True:
        if again:
            _take_next_place(environment, deadline)
        try:
            return attempt()
        except HorovodInternalError as error:
            if error.code not in _LOST or time.monotonic() >= deadline:
                raise
        again = True


def _patience(environment):
    text = environment.get("HOROVOD_ELASTIC_TIMEOUT", "")
    return int(text) if text.isdigit() else _PATIENCE_SECONDS


def _take_next_place(environment, deadline):
    """Asks the driver for this process's place. The driver answers when the next round begins. As in Horovod, the
    answer goes into the environment.

    NoPlaceError: as for meet().
    """
    key, waited = own_key(environment), _patience(environment)
    try:
        answer = own_store(environment, _PLACE_SCOPE).ask(key, deadline).decode("ascii", "replace")
    except StoreTimeout as error:
        raise NoPlaceError(f"the driver has not begun another round of this elastic job within {waited} s "
                           "(HOROVOD_ELASTIC_TIMEOUT): it waits for other processes", "DEADLINE_EXCEEDED") from error
    except StoreError as error:
        raise NoPlaceError(f"this process cannot ask for its place in the next round of the elastic job: {error}",
                           "ABORTED") from error
    numbers = answer.split(",")
    if numbers[0] == "-1":  # Horovod's rank of a process without a place
        raise NoPlaceError(f"{key} has been removed from the elastic job", "ABORTED")
    if len(numbers) < len(_NUMBERS) or not all(number.isdigit() for number in numbers):
        raise NoPlaceError(f"the driver answers {answer[:200]!r} instead of a place", "INTERNAL")
    environment.update(zip(_NUMBERS, numbers))
    # An answer without a round leaves none of an earlier answer behind.
    environment.pop(_ROUND, None)
    environment.update(zip((_ROUND,), numbers[len(_NUMBERS):]))
