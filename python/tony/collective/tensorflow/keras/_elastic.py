"""The state of elastic training in model.fit(), for any Keras."""

from ..elastic import TensorFlowKerasState
from ._callbacks import classes_for

# A value of ``model.stop_training``: the epoch ends here, and the next one begins.
_EPOCH_ENDS = "the epoch ends"


class KerasState(TensorFlowKerasState):
    """The state of a training with a Keras model and its optimizer, like TensorFlowKerasState."""

    def __init__(self, model, optimizer=None, **kwargs):
        """``optimizer``: None: the model's own."""
        super().__init__(model, optimizer, **kwargs)


class CommitState:
    """Commits the state every few batches, and at the end of each epoch. Callbacks that change the state come before it
    in the list."""

    def __init__(self, state, batches_per_commit=1):
        """``batches_per_commit``: the same on all ranks."""
        super().__init__()
        self.state = state
        self.batches_per_commit = self.batches_remaining = batches_per_commit

    def on_train_begin(self, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        # All ranks count from 0 again, old and new ones alike.
        self.batches_remaining = self.batches_per_commit

    def on_batch_end(self, batch, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        self.batches_remaining -= 1
        if self.batches_remaining == 0:
            self.batches_remaining = self.batches_per_commit
            self.commit()

    def on_epoch_end(self, epoch, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        self.commit()

    def commit(self):
        """Calls state.commit()."""
        self.state.commit()


class UpdateBatchState:
    """Keeps the number of finished batches of the epoch in ``state.batch``. If it is not 0 when model.fit() begins, the
    first epoch is shorter by that many batches, but has at least one. Keras must know how many batches an epoch has."""

    def __init__(self, state):
        """``state``: has the number ``batch``."""
        super().__init__()
        self.state = state
        self.steps_per_epoch = None
        self._done = 0  # finished batches of the first epoch, before model.fit()

    def on_train_begin(self, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        self.steps_per_epoch = self.params.get("steps")
        self._done = self.state.batch

    def on_epoch_begin(self, epoch, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        if self.steps_per_epoch:
            self.params["steps"] = max(1, self.steps_per_epoch - self._done)

    def on_batch_end(self, batch, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        self.state.batch = self._done + batch + 1
        if self._done and self.steps_per_epoch and self.state.batch >= self.steps_per_epoch:
            # Keras checks it after each batch, and again only after on_epoch_end().
            self.model.stop_training = self.model.stop_training or _EPOCH_ENDS

    def on_epoch_end(self, epoch, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        self.state.batch = self._done = 0
        if self.model.stop_training == _EPOCH_ENDS:
            self.model.stop_training = False


class UpdateEpochState:
    """Keeps the number of finished epochs in ``state.epoch``. model.fit() may count the remaining epochs from 0, or
    continue from ``initial_epoch=state.epoch``."""

    def __init__(self, state):
        """``state``: has the number ``epoch``."""
        super().__init__()
        self.state = state
        self.initial_epoch = state.epoch
        self._first = None  # Keras's own name

    def on_train_begin(self, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        self.initial_epoch, self._first = self.state.epoch, None

    def on_epoch_begin(self, epoch, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        self._first = epoch if self._first is None else self._first

    def on_epoch_end(self, epoch, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        self.state.epoch = self.initial_epoch + epoch - self._first + 1


def elastic_callbacks_for(keras, module):
    """The three callbacks as classes of ``keras``; see classes_for()."""
    return classes_for(keras, module, (CommitState, UpdateBatchState, UpdateEpochState))
