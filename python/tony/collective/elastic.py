"""Elastic training: a job goes on without a rank that it loses, and takes in those that come. Horovod's interface.

    state = hvd.elastic.ObjectState(step=0, weights=weights)

    @hvd.elastic.run
    def train(state):
        while state.step < STEPS:
            ...                  # by hvd.rank() and hvd.size() of now
            state.step += 1
            state.commit()

    train(state)

PyTorch's are in tony.collective.torch.elastic, TensorFlow's in tony.collective.tensorflow.elastic. docs/collective.md
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

_REMOVED = 1  # of HostUpdateResult's bits, removed and added
_notifications = Notifications()


class State:
    """What all ranks have in common: kept on each of them when it is committed, and given to those that come.

    Derived classes define save(), restore() and sync(). Not thread safe, but for on_hosts_updated().
    """

    def __init__(self, bcast_object=None, get_rank=None):
        """``bcast_object``: a function that gives all ranks rank 0's object; ``get_rank``: one that returns this
        process's rank. hvd.broadcast_object and hvd.rank, if None."""
        self._bcast_object = bcast_object or broadcast_object
        self._rank = get_rank or _process.rank
        self._host_messages = queue.Queue()
        self._last_updated_timestamp = 0
        self._reset_callbacks = []

    def register_reset_callbacks(self, callbacks):
        """Adds functions without arguments, which are called when rank and size may be others, before sync(): for what
        was computed from them, such as a learning rate."""
        self._reset_callbacks.extend(callbacks)

    def on_reset(self):
        """Called when the ranks of a new round have met."""
        self._host_messages = queue.Queue()
        self.reset()
        for callback in self._reset_callbacks:
            callback()

    def on_hosts_updated(self, timestamp, update_res):
        """Called from another thread when the driver says that hosts have come or gone. ``timestamp``: greater than
        that of the news before; ``update_res``: 1 removed, 2 added, 3 both."""
        self._host_messages.put((timestamp, update_res))

    def commit(self):
        """save() and check_host_updates(): to this point all go back when a rank is lost, and here others may come."""
        self.save()
        self.check_host_updates()

    def check_host_updates(self):
        """Looks whether hosts have come or gone; all ranks have to call it, and all do the same.

        HostsUpdatedInterrupt: they have; elastic.run() begins another round with them, without losing anything.
        HorovodInternalError: as of broadcast_object().
        """
        known = newest = self._last_updated_timestamp
        result = 0
        while not self._host_messages.empty():
            timestamp, update = self._host_messages.get()
            if timestamp > newest:
                newest = timestamp
                result |= update
        # What rank 0 has heard counts, since it is the one that the driver tells.
        known, self._last_updated_timestamp, result = self._bcast_object((known, newest, result))
        if self._last_updated_timestamp > known:
            raise HostsUpdatedInterrupt(result == _REMOVED)

    def save(self):
        """Keeps a copy in memory, of this rank alone."""
        raise NotImplementedError

    def restore(self):
        """Goes back to what was saved last."""
        raise NotImplementedError

    def sync(self):
        """Gives all ranks what rank 0 has, and saves it."""
        raise NotImplementedError

    def reset(self):
        """For derived classes: what is to be done in a new round before sync()."""


class ObjectState(State):
    """Python's objects, each an attribute of this one, by the names of the keyword arguments. They are pickled."""

    def __init__(self, bcast_object=None, get_rank=None, **kwargs):
        super().__init__(bcast_object, get_rank)
        self._saved_state = kwargs
        for name, value in kwargs.items():
            setattr(self, name, value)
        # What is changed in place is to be restored, too.
        self._saved_state = copy.deepcopy(kwargs)

    def save(self):
        """Keeps a copy of all that belongs to the state, a deep one of objects."""
        self._keep()

    def restore(self):
        """Sets the attributes to what was saved last."""
        self._set(copy.deepcopy(self._saved_state))

    def sync(self):
        """Gives all ranks what rank 0 has, and saves it."""
        # A rank may be lost meanwhile: all of what is saved is of one time, so nothing is before all is there.
        self._share()
        self._keep()

    def _share(self):
        """Gives all ranks what rank 0 has. Derived classes do so with what is not an object."""
        if self._saved_state:
            self._set(self._bcast_object(self._attributes()))

    def _keep(self):
        """Copies what there is. Derived classes do so with what is not an object."""
        self._saved_state = copy.deepcopy(self._attributes())

    def _attributes(self):
        return {name: getattr(self, name) for name in self._saved_state}

    def _set(self, values):
        for name, value in values.items():
            setattr(self, name, value)


def run(func):
    """Decorates the function that trains, whose first argument is a State.

    It is called when all ranks have rank 0's state, and again, in another round,

    - when it raises HorovodInternalError, since a rank was lost: all go back to what they have committed last;
    - when it raises HostsUpdatedInterrupt, as state.commit() does: nothing is lost.

    Returns what it returns. Before the call nothing collective may be done but hvd.init(): ranks that come later would
    do it while the others give them their state.

    NoPlaceError, a HorovodInternalError: there is no other round for this process. HorovodInternalError with the code
    INVALID_ARGUMENT: the ranks do not agree on an operation, which another round does not mend.
    """
    return run_fn(func, begin_round)


def run_fn(func, reset, told=contextlib.nullcontext):
    """As run(), with what leaves the others and meets them anew. ``told``: makes a context, in which the state and
    ``func`` are called, that raises HorovodInternalError for what a framework has made of one."""
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
                    # What is on its way may otherwise still be written to what is restored.
                    _handles.forget_all()
                    state.restore()
                except HostsUpdatedInterrupt:
                    pass
                again = True
        finally:
            _notifications.remove(state)
    return wrapper


def begin_round():
    """Leaves the others, and returns when those of the next round have met."""
    _process.shutdown()
    # Of what was on its way nothing comes any more.
    _handles.forget_all()
    _start.init()
