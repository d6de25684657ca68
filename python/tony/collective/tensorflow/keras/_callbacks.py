"""Horovod's callbacks, for any Keras."""

import numpy
import tensorflow as tf

from ... import _process
from ..._arrays import Arrays
from ..._collectives import Collectives
from ..._reduce_ops import Average
from .._functions import broadcast_variables

_arrays = Collectives(Arrays)


def classes_for(keras, module, kinds=None):
    """The callbacks of ``kinds``, by default of this module, as classes of ``keras``, in the same order.

    Arguments:
        keras: a module that has ``callbacks``.
        module: the name of the module to which the classes belong.
    """
    return [type(f"{kind.__name__}Callback", (kind, keras.callbacks.Callback),
                 {"__module__": module, "__doc__": kind.__doc__}) for kind in kinds or _KINDS]


def best_model_checkpoint_for(keras, module):
    """BestModelCheckpoint as a class of ``keras``."""
    class BestModelCheckpoint(keras.callbacks.ModelCheckpoint):
        """Keras's ModelCheckpoint of the best model, into ``filepath``, which may be set later."""

        def __init__(self, monitor="val_loss", verbose=0, save_weights_only=False, mode="auto", save_freq="epoch",
                     filepath="best.weights.h5"):
            super().__init__(filepath, monitor=monitor, verbose=verbose, save_best_only=True,
                             save_weights_only=save_weights_only, mode=mode, save_freq=save_freq)

    BestModelCheckpoint.__module__, BestModelCheckpoint.__qualname__ = module, "BestModelCheckpoint"
    return BestModelCheckpoint


class BroadcastGlobalVariables:
    """Gives all ranks the model's and the optimizer's variables of rank ``root_rank``, after the first batch, when all
    of them exist."""

    def __init__(self, root_rank, device="", local_variables=None):  # pylint: disable=unused-argument
        """``local_variables``: a variable or a list of them, which each rank keeps. ``device``: for compatibility with
        Horovod."""
        super().__init__()
        self.root_rank = root_rank
        self.broadcast_done = False
        several = isinstance(local_variables, (list, tuple, set))
        self._local = {}  # by id()
        for variable in local_variables if several else [] if local_variables is None else [local_variables]:
            if not hasattr(variable, "assign"):
                raise ValueError("All local variables must be of tf.Variable type.")
            self.register_local_var(variable)

    def register_local_var(self, var):
        """Makes each rank keep the variable."""
        self._local[id(var)] = var

    def on_train_batch_end(self, batch, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        if self.broadcast_done:
            return
        variables = [each for each in self.model.variables if id(each) not in self._local]
        known = {id(each) for each in self.model.variables}
        state = self.model.optimizer.variables
        variables += [each for each in (state() if callable(state) else state) if id(each) not in known]
        operation = broadcast_variables(variables, self.root_rank)
        if operation is not None:  # of a session
            tf.compat.v1.keras.backend.get_session().run(operation)
        self.broadcast_done = True


class MetricAverage:
    """Averages an epoch's metrics among all ranks. Later callbacks in the list see the averages."""

    def __init__(self, device=""):  # pylint: disable=unused-argument
        """``device``: for compatibility with Horovod."""
        super().__init__()

    def on_epoch_end(self, epoch, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        handles = {name: _arrays.allreduce_async(numpy.array(float(value)), None, f"metric.{name}", Average)
                   for name, value in sorted((logs or {}).items())}
        for name, handle in handles.items():
            logs[name] = float(handle.wait())


class LearningRateSchedule:
    """Sets the learning rate to ``initial_lr * multiplier``."""

    def __init__(self, initial_lr, multiplier, start_epoch=0, end_epoch=None, staircase=True, momentum_correction=True,
                 steps_per_epoch=None):
        """
        Arguments:
            initial_lr: the optimizer's learning rate at the start of the training.
            multiplier: a function of the epoch; or a number, which is raised to the number of epochs since
                ``start_epoch``.
            start_epoch, end_epoch: the learning rate is set from ``start_epoch`` on and before ``end_epoch``; None: to
                the end.
            staircase: sets it at the start of epochs, for whole epochs; otherwise in each batch, for fractions of
                epochs.
            momentum_correction: in the first batch with another rate, the momentum is multiplied by new / old rate, if
                it is a variable: in tf.keras.optimizers.legacy only.
            steps_per_epoch: batches of an epoch; None: as Keras says.

        ValueError: ``initial_lr`` is missing.
        """
        super().__init__()
        if initial_lr is None:
            raise ValueError("Parameter `initial_lr` is required")
        self.initial_lr = initial_lr
        self.start_epoch, self.end_epoch = start_epoch, end_epoch
        self.staircase = staircase
        self.momentum_correction = momentum_correction
        self.steps_per_epoch = steps_per_epoch
        self.current_epoch = None
        self.restore_momentum = None
        self.multiplier = multiplier if callable(multiplier) else (lambda epoch: multiplier ** (epoch - start_epoch))

    def on_train_begin(self, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        if not self.staircase and not self.steps_per_epoch:
            self.steps_per_epoch = self.params.get("steps")
            if not self.steps_per_epoch:
                raise ValueError("Could not autodetect the number of steps per epoch. Please specify the "
                                 f"steps_per_epoch parameter to the {type(self).__name__}().")

    def on_epoch_begin(self, epoch, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        self.current_epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        epoch = self.current_epoch
        if epoch < self.start_epoch or (self.end_epoch is not None and epoch >= self.end_epoch):
            return
        if not self.staircase:
            self._adjust(epoch + batch / self.steps_per_epoch)
        elif batch == 0:
            self._adjust(epoch)

    def on_train_batch_end(self, batch, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        if self.restore_momentum is not None:
            self.model.optimizer.momentum = self.restore_momentum
            self.restore_momentum = None

    def on_epoch_end(self, epoch, logs=None):  # pylint: disable=unused-argument,missing-function-docstring
        if logs is not None:
            logs["lr"] = learning_rate_of(self.model.optimizer)

    def _adjust(self, epoch):
        optimizer = self.model.optimizer
        old, new = learning_rate_of(optimizer), self.initial_lr * self.multiplier(epoch)
        optimizer.learning_rate = new
        momentum = getattr(optimizer, "momentum", None)
        if self.momentum_correction and old and isinstance(momentum, tf.Variable):
            self.restore_momentum = float(momentum.numpy())
            optimizer.momentum = self.restore_momentum * new / old


class LearningRateWarmup(LearningRateSchedule):
    """Raises the learning rate batch by batch from ``initial_lr / size()`` to ``initial_lr``: arXiv 1706.02677."""

    def __init__(self, initial_lr, warmup_epochs=5, momentum_correction=True, steps_per_epoch=None, verbose=0):
        """``warmup_epochs``: the duration of the warm-up. ``verbose``: 1: rank 0 reports its end. Other arguments: as
        for LearningRateScheduleCallback."""
        def multiplier(epoch):
            # A little further, so that the epoch is a whole number at its last batch.
            epoch += 1 / self.steps_per_epoch
            return (epoch * (_process.size() - 1) / warmup_epochs + 1) / _process.size()

        super().__init__(initial_lr, multiplier, 0, warmup_epochs, False, momentum_correction, steps_per_epoch)
        self.verbose = verbose

    def on_epoch_end(self, epoch, logs=None):  # pylint: disable=missing-function-docstring
        super().on_epoch_end(epoch, logs)
        if epoch == self.end_epoch - 1 and self.verbose > 0 and _process.rank() == 0:
            print(f"\nEpoch {epoch + 1}: finished gradual learning rate warmup to "
                  f"{learning_rate_of(self.model.optimizer):g}.")


def learning_rate_of(optimizer):
    """The learning rate as a number; for a schedule, that of its next step."""
    rate = optimizer.learning_rate
    return float(numpy.asarray(rate(optimizer.iterations) if callable(rate) and not hasattr(rate, "assign") else rate))


_KINDS = (BroadcastGlobalVariables, MetricAverage, LearningRateSchedule, LearningRateWarmup)
