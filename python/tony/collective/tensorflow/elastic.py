"""Elastic training with TensorFlow: Horovod's interface.

    state = hvd.elastic.TensorFlowKerasState(model, optimizer, batch=0)

    @hvd.elastic.run
    def train(state):
        while state.batch < BATCHES:
            train_one_batch()            # a tf.function, with the current hvd.rank() and hvd.size()
            state.batch += 1
            if state.batch % 10 == 0:
                state.commit()

    train(state)

For model.fit() there are tony.collective.tensorflow.keras.elastic and tony.collective.keras.elastic.
"""

import contextlib

import tensorflow as tf

from .. import _objects
from ..elastic import (HorovodInternalError, HostsUpdatedInterrupt, NoPlaceError, ObjectState, State, begin_round,
                       run_fn)
from ..exceptions import InvalidArgumentError
from ._functions import broadcast_variables

__all__ = ["HorovodInternalError", "HostsUpdatedInterrupt", "NoPlaceError", "ObjectState", "State",
           "TensorFlowKerasState", "TensorFlowState", "run", "run_fn"]

# The form in which a graph node reports its error.
_FAILED = f"{HorovodInternalError.__name__}: "


def run(func):
    """Like tony.collective.elastic.run(), for programs in which a rank may be lost during a tf.function, as in
    model.fit(). It turns the tf.errors.UnknownError of one of its operations into a HorovodInternalError.

    tf.errors.FailedPreconditionError: the ranks do not agree on an operation of a tf.function, and another round would
    not help.
    """
    return run_fn(func, begin_round, _graphs_errors)


@contextlib.contextmanager
def _graphs_errors():
    try:
        yield
    except tf.errors.UnknownError as error:
        if isinstance(error, HorovodInternalError) or _FAILED not in error.message:
            raise
        raise HorovodInternalError(error.message, "ABORTED") from error


class _VariablesState(ObjectState):
    """Variables and objects. Derived classes say which variables, in an order that is the same on all ranks."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._kept = self._values()

    def restore(self):
        """Returns to the saved values."""
        self._assign(self._kept)
        super().restore()

    def _share(self):
        """InvalidArgumentError: the ranks have different numbers of variables, because some ranks have made more of
        them later."""
        numbers = _objects.allgather_object(len(self._variables()))
        if len(set(numbers)) > 1:
            raise InvalidArgumentError(f"the ranks' states have {', '.join(map(str, numbers))} variables: all of a "
                                       "model's and its optimizer's have to be there before elastic.run()")
        self._broadcast()
        super()._share()

    def _variables(self):
        raise NotImplementedError

    def _keep(self):
        self._kept = self._values()
        super()._keep()

    def _values(self):
        """Copies that nobody changes."""
        return [tf.identity(variable) for variable in self._variables()]

    def _assign(self, values):
        for variable, value in zip(self._variables(), values):
            variable.assign(value)

    def _broadcast(self):
        broadcast_variables(self._variables(), root_rank=0)


class TensorFlowKerasState(_VariablesState):
    """The state of a training with a Keras model and its optimizer.

    ``model``, ``optimizer`` and all keyword arguments become attributes. Everything except model and optimizer is an
    object, as in ObjectState.
    """

    def __init__(self, model, optimizer=None, backend=None, **kwargs):  # pylint: disable=unused-argument
        """
        Arguments:
            model: has been built. Its optimizer's variables are made here, because another rank's may have been made by
                steps.
            optimizer: None: the model's own.
            backend: for compatibility with Horovod.

        ValueError: the model has not been built, or there is a session of TensorFlow 1.
        """
        if not tf.executing_eagerly():
            raise ValueError("TensorFlowKerasState is for eager execution: use TensorFlowState in a session")
        if not getattr(model, "built", True):
            raise ValueError("Model must be built first. Run `model.build(input_shape)`.")
        self.model = model
        self.optimizer = optimizer or getattr(model, "optimizer", None)
        _build(self.optimizer, model.trainable_variables)
        super().__init__(**kwargs)

    def _variables(self):
        state = getattr(self.optimizer, "variables", [])
        # In Keras 3 these do not include variables of metrics, which may be made later.
        model = getattr(self.model, "weights", self.model.variables)
        return [*model, *(state() if callable(state) else state)]


class TensorFlowState(_VariablesState):
    """The state of a training with variables.

    ``variables`` and all keyword arguments become attributes; the latter are objects, as in ObjectState.
    """

    def __init__(self, variables=None, session=None, **kwargs):
        """
        Arguments:
            variables: a list of tf.Variable; None: all variables of a TensorFlow 1 graph.
            session: the TensorFlow 1 session with the variables' values; None: the default session.

        ValueError: there is neither eager execution nor a session.
        """
        self.variables = list(tf.compat.v1.global_variables() if variables is None else variables)
        self.session = session or tf.compat.v1.get_default_session()
        self._given = None
        if not tf.executing_eagerly():
            if self.session is None:
                raise ValueError("there is no session: pass it to TensorFlowState")
            self._given = broadcast_variables(self.variables, root_rank=0)
        super().__init__(**kwargs)

    def _variables(self):
        return self.variables

    def _values(self):
        return super()._values() if self._given is None else self.session.run(self.variables)

    def _assign(self, values):
        if self._given is None:
            super()._assign(values)
            return
        for variable, value in zip(self.variables, values):
            variable.load(value, self.session)

    def _broadcast(self):
        if self._given is None:
            super()._broadcast()
        else:
            self.session.run(self._given)


def _build(optimizer, variables):
    """Makes all variables of a Keras optimizer, which otherwise makes them in its first step."""
    build = getattr(optimizer, "build", None) or getattr(optimizer, "_create_all_weights", None)
    if build is not None and not getattr(optimizer, "built", False):
        build(variables)
