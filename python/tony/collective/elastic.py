"""Elastic training: a job continues without a rank that it loses, and accepts new ones. Horovod's interface.

    state = hvd.elastic.ObjectState(step=0, weights=weights)

    @hvd.elastic.run
    def train(state):
        while state.step < STEPS:
            ...                  # with the current hvd.rank() and hvd.size()
            state.step += 1
            state.commit()

    train(state)

tony.collective.torch.elastic is for PyTorch, tony.collective.tensorflow.elastic for TensorFlow. docs/collective.md
says what happens when.
"""

import contextlib
import copy
import functools
import queue

from . import _handles, _process, _start
from ._meeting import environment
from ._notifications import Notifications
from ._objects import broadcast_object
from ._rounds import NoPlaceError
from .exceptions import HorovodInternalError, HostsUpdatedInterrupt

__all__ = ["HorovodInternalError", "HostsUpdatedInterrupt", "NoPlaceError", "ObjectState", "State", "run", "run_fn"]

_REMOVED = 1  # bits of HostUpdateResult: removed and added
_notifications = Notifications()


class State:
    """The common state of all ranks. commit() keeps a copy on each rank, and new ranks receive it.

    Derived classes define save(), restore() and sync(). Not thread safe, except for on_hosts_updated().
    """

    def __init__(self, bcast_object=None, get_rank=None):
        """``bcast_object``: a function that gives all ranks rank 0's object. ``get_rank``: a function that returns this
        process's rank. None: hvd.broadcast_object and hvd.rank."""
        self._bcast_object = bcast_object or broadcast_object
        self._rank = get_rank or _process.rank
        self._host_messages = queue.Queue()
        self._last_updated_timestamp = 0
        self._reset_callbacks = []

    def register_reset_callbacks(self, callbacks):
        """Adds functions without arguments, which are called before sync() when rank and size may have changed. They
        compute again what depends on these, such as a learning rate."""
        self._reset_callbacks.extend(callbacks)

    def on_reset(self):
        """Called when the ranks of a new round have met."""
        self._host_messages = queue.Queue()
        self.reset()
        for callback in self._reset_callbacks:
            callback()

    def on_hosts_updated(self, timestamp, update_res):
        """Called from another thread when the driver says that hosts have come or gone. ``timestamp``: greater than
        that of earlier news. ``update_res``: 1 removed, 2 added, 3 both."""
        self._host_messages.put((timestamp, update_res))

    def commit(self):
        """save() and check_host_updates(): all ranks return to this point when a rank is lost, and others may join
        here."""
        self.save()
        self.check_host_updates()

    def check_host_updates(self):
        """Checks whether hosts have come or gone. All ranks have to call it, and all get the same answer.

        HostsUpdatedInterrupt: they have; elastic.run() begins another round, and nothing is lost.
        HorovodInternalError: as for broadcast_object().
        """
        known = newest = self._last_updated_timestamp
        result = 0
        while not self._host_messages.empty():
            timestamp, update = self._host_messages.get()
            if timestamp > newest:
                newest = timestamp
                result |= update
        # Only rank 0's news count, because the driver tells rank 0.
        known, self._last_updated_timestamp, result = self._bcast_object((known, newest, result))
        if self._last_updated_timestamp > known:
            raise HostsUpdatedInterrupt(result == _REMOVED)

    def save(self):
        """Keeps a copy in memory, for this rank alone."""
        raise NotImplementedError

    def restore(self):
        """Returns to the last saved copy."""
        raise NotImplementedError

    def sync(self):
        """Gives all ranks rank 0's values, and saves them."""
        raise NotImplementedError

    def reset(self):
        """For derived classes: work to do in a new round before sync()."""


class ObjectState(State):
    """Python objects, which are pickled. Each keyword argument becomes an attribute."""

    def __init__(self, bcast_object=None, get_rank=None, **kwargs):
        super().__init__(bcast_object, get_rank)
        self._saved_state = kwargs
        for name, value in kwargs.items():
            setattr(self, name, value)
        # Deep copies, so that changes in place are restored, too.
        self._saved_state = copy.deepcopy(kwargs)

    def save(self):
        """Keeps a copy of the state, with deep copies of objects."""
        self._keep()

    def restore(self):
        """Sets the attributes to the last saved values."""
        self._set(copy.deepcopy(self._saved_state))

    def sync(self):
        """Gives all ranks rank 0's values, and saves them."""
        # A rank may be lost meanwhile. The saved values must belong to one moment, so nothing is saved before all of
        # them have arrived.
        self._share()
        self._keep()

    def _share(self):
        """Gives all ranks rank 0's values. Derived classes extend it for values that are not objects."""
        if self._saved_state:
            self._set(self._bcast_object(self._attributes()))

    def _keep(self):
        """Copies the current values. Derived classes extend it for values that are not objects."""
        self._saved_state = copy.deepcopy(self._attributes())

    def _attributes(self):
        return {name: getattr(self, name) for name in self._saved_state}

    def _set(self, values):
        for name, value in values.items():
            setattr(self, name, value)


def run(func):
    """Decorates the training function, whose first argument is a State.

    The function is called when all ranks have rank 0's state, and again in another round,

    - when it raises HorovodInternalError because a rank was lost: all ranks return to their last commit;
    - when it raises HostsUpdatedInterrupt, as state.commit() does: nothing is lost.

    Returns its result. Before the call, hvd.init() is the only collective operation allowed: ranks that come later
    would run another one while the others give them their state.

    NoPlaceError, a HorovodInternalError: the next round has no place for this process. HorovodInternalError with the
    code INVALID_ARGUMENT: the ranks do not agree on an operation, and another round would not help.
    """
    return run_fn(func, begin_round)


def run_fn(func, reset, told=contextlib.nullcontext):
    """Like run(), with a function that leaves the others and meets them again. ``told``: makes a context for the calls
    of the state and of ``func``. It raises HorovodInternalError for what a framework has made of one."""
    @functools.wraps(func)
    def wrapper(state, *args, **kwargs):
        _notifications.start(environment())
        _notifications.add(state)
        try:
            again = False
            while True:
                if again:
                    reset()
                try:
                    with told():
                        if again:
                            state.on_reset()
                        state.sync()
                        return func(state, *args, **kwargs)
                except HorovodInternalError as error:
                    if error.code == "INVALID_ARGUMENT":
                        raise
                    _process.leave()
                    # Otherwise operations in progress may still write into the restored values.
                    _handles.forget_all()
                    state.restore()
                except HostsUpdatedInterrupt:
                    pass
                again = True
        finally:
            _notifications.remove(state)
    return wrapper


def begin_round():
    """Leaves the other ranks, and returns when those of the next round have met."""
    _process.shutdown()
    # Operations in progress have no result any more.
    _handles.forget_all()
    _start.init()
