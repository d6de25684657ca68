"""Elastic training with TensorFlow and Keras without a change of ranks: what holds on each rank, run by run_checks.py.
"""

import inspect
import threading

import numpy as np
import tensorflow as tf

import tony.collective.tensorflow.keras as hvd
from array_checks import expect_error
from keras_checks import BATCH, CLASSES, FEATURES, IMAGES, LABELS, LOSS, expect_same_everywhere, model_of, own_rows, sgd
from tony.collective import keras as standalone
from tony.collective import tensorflow as hvd_tensorflow

STEPS = 4  # of an epoch


def model_of_rank(optimizer=None):
    """One that differs among ranks, compiled."""
    model = model_of(seed=hvd.rank() + 1)
    model.compile(hvd.DistributedOptimizer(optimizer or sgd()), loss=LOSS)
    return model


def fit(model, callbacks=(), steps=STEPS, **options):
    """As many steps of all ranks."""
    rows = np.resize(own_rows(), steps * BATCH // hvd.size())
    model.fit(IMAGES[rows], LABELS[rows], batch_size=BATCH // hvd.size(), shuffle=False, verbose=0,
              callbacks=list(callbacks), **options)


def contents(state):
    """The contents of a Keras state, as bytes."""
    variables = state.optimizer.variables  # a method of tf.keras.optimizers.legacy
    return [each.numpy().tobytes() for each in [*state.model.variables,
                                                *(variables() if callable(variables) else variables)]]


def check_variables():
    variables = [tf.Variable([[1.0 + hvd.rank()] * 2] * 2), tf.Variable(5 * hvd.rank())]
    state = hvd_tensorflow.elastic.TensorFlowState(variables, batch=20 + hvd.rank(), history=[])
    state.sync()
    assert variables[0].numpy().tolist() == [[1.0] * 2] * 2 and int(variables[1]) == 0 and state.batch == 20

    def change():
        variables[0].assign_add([[1.0, 2.0]] * 2)
        variables[1].assign(7)
        state.batch += 1
        state.history.append(1)

    change()
    state.restore()
    assert variables[0].numpy().tolist() == [[1.0] * 2] * 2 and int(variables[1]) == 0
    assert (state.batch, state.history) == (20, [])
    change()
    state.commit()
    change()
    state.restore()
    assert variables[0].numpy().tolist() == [[2.0, 3.0]] * 2 and int(variables[1]) == 7
    assert (state.batch, state.history) == (21, [1])


def check_variables_of_a_session():
    with tf.Graph().as_default():
        variables = [tf.compat.v1.get_variable("one", initializer=1.0 + hvd.rank()),
                     tf.compat.v1.get_variable("two", initializer=[2, hvd.rank()])]
        expect_error(ValueError, "there is no session", hvd_tensorflow.elastic.TensorFlowState)
        expect_error(ValueError, "use TensorFlowState", hvd.elastic.KerasState, None)
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.global_variables_initializer())
            state = hvd_tensorflow.elastic.TensorFlowState(session=session, batch=hvd.rank())
            for _ in range(2):
                state.sync()
                assert [each.tolist() for each in session.run(variables)] == [1.0, [2, 0]] and state.batch == 0
                variables[0].load(9.0, session)
                state.restore()
                assert session.run(variables[0]) == 1.0
                state.save()


def check_all_get_what_rank_0_has():
    for make in (sgd, lambda: tf.keras.optimizers.Adam(0.01 * (hvd.rank() + 1)),
                 lambda: tf.keras.optimizers.legacy.SGD(0.1, momentum=0.9)):
        model = model_of_rank(make())
        state = hvd.elastic.KerasState(model, batch=20 + hvd.rank(), epoch=hvd.rank())
        count = len(contents(state))
        state.sync()
        expect_same_everywhere(model)
        assert (state.batch, state.epoch) == (20, 0)
        before = contents(state)
        fit(model)
        assert before != contents(state)
        # All that a step makes was there before.
        assert count == len(contents(state)) > len(model.variables) + 2
        state.batch = 5
        state.restore()
        assert before == contents(state) and state.batch == 20


def check_what_was_committed_outlives_a_sync_that_fails():
    model = model_of_rank()
    state = hvd.elastic.KerasState(model, thing=0)
    state.sync()
    committed = contents(state)
    fit(model)
    state.thing = threading.Lock()  # so that objects, which come last, fail
    expect_error(hvd.HorovodInternalError, "cannot pickle", state.sync)
    state.restore()
    assert committed == contents(state) and state.thing == 0


def check_the_same_steps_have_the_same_result():
    """Also the second time, from what was committed: momentum and the number of steps are part of the state."""
    model = model_of_rank()
    state = hvd_tensorflow.elastic.TensorFlowKerasState(model, model.optimizer)
    state.sync()
    fit(model)
    state.commit()
    after = []
    for _ in range(2):
        fit(model)
        after.append(contents(state))
        assert int(model.optimizer.iterations) == 2 * STEPS
        state.restore()
        assert int(model.optimizer.iterations) == STEPS
    assert after[0] == after[1]


def check_what_is_no_state():
    unbuilt = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    expect_error(ValueError, "Model must be built first", hvd.elastic.KerasState, unbuilt)
    state = hvd_tensorflow.elastic.TensorFlowState([tf.Variable(1.0)] * (1 + (hvd.rank() == 0)))
    runs = []
    train = hvd.elastic.run(lambda state: runs.append(1))
    if hvd.size() > 1:
        error = expect_error(hvd.HorovodInternalError, "the ranks' states have 2, 1", train, state)
        assert error.code == "INVALID_ARGUMENT" and not runs


def run_with(failures, train=lambda: None):
    """(result, how often it was called): what is raised the first times is of ``failures``."""
    state, calls = hvd_tensorflow.elastic.TensorFlowState([tf.Variable(1.0)], steps=0), []

    @hvd_tensorflow.elastic.run
    def run(state):
        assert state.steps == 0
        state.steps = 1
        calls.append(1)
        if len(calls) <= len(failures):
            raise failures[len(calls) - 1]
        return train()

    try:
        return run(state), len(calls)
    except tf.errors.OpError as error:
        return error, len(calls)


def check_which_errors_are_of_a_lost_rank():
    lost = tf.errors.UnknownError(None, None, "HorovodInternalError: tensor 'x': rank 1 has ended\n [[node]]")
    assert run_with([lost, hvd.HorovodInternalError("rank 1 has ended", "ABORTED")], lambda: "done") == ("done", 3)
    for error in (tf.errors.UnknownError(None, None, "ValueError: the user's"),
                  tf.errors.FailedPreconditionError(None, None, "InvalidArgumentError: rank 0 submits")):
        assert run_with([error]) == (error, 1)


def check_ranks_that_differ_in_fit_are_told_once():
    if hvd.size() == 1:
        return
    for eagerly in (False, True):
        model = tf.keras.Sequential([tf.keras.layers.Dense(8 + (hvd.rank() == 0)), tf.keras.layers.Dense(CLASSES)])
        model.compile(hvd.DistributedOptimizer(sgd()), loss=LOSS, run_eagerly=eagerly)
        # The state is another one's, as that of this model would not be the same everywhere.
        try:
            error, calls = run_with([], lambda: fit(model))
        except hvd.HorovodInternalError as raised:
            error, calls = raised, 1
            assert eagerly and error.code == "INVALID_ARGUMENT", repr(error)
        assert calls == 1 and "rank 0 submits" in str(error), error


def check_sums_of_a_lost_round_are_forgotten():
    """With rank 0 alone in the middle of its passes ranks would wait for each other."""
    for options in ({}, {"op": hvd.Adasum}):
        variable = tf.Variable(1.0)
        optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(1.0), backward_passes_per_step=2, **options)
        state = hvd_tensorflow.elastic.TensorFlowState([variable])
        optimizer.build([variable])
        rounds = []

        def step():
            optimizer.minimize(lambda: variable * 3.0, [variable])

        @hvd.elastic.run
        def train(state):
            rounds.append(1)
            if len(rounds) == 1:
                if hvd.rank() == 0:
                    step()
                raise hvd.HorovodInternalError("rank 1 has ended", "ABORTED")
            step()
            step()

        train(state)
        assert float(variable) == 1.0 - 6.0, variable


class Steps(tf.keras.callbacks.Callback):
    """Records the states after each batch and each epoch, as later callbacks in the list see them."""

    def __init__(self, state):
        super().__init__()
        self.state, self.seen = state, []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append((self.state.epoch, self.state.batch))

    def on_epoch_end(self, epoch, logs=None):
        self.seen.append((self.state.epoch, self.state.batch, self.params["steps"]))


def fit_from(epoch, batch, epochs, stop=None, **options):
    """The record of Steps; ``stop``: a callback of the user's."""
    model = model_of_rank()
    state = hvd.elastic.KerasState(model, epoch=epoch, batch=batch)
    steps = Steps(state)
    fit(model, [hvd.elastic.UpdateEpochStateCallback(state), hvd.elastic.UpdateBatchStateCallback(state),
                *([stop] if stop else []), steps], epochs=epochs, **options)
    assert (state.epoch, state.batch) == steps.seen[-1][:2]
    return steps.seen


def check_batches_and_epochs_are_counted():
    whole = [(1, 1), (1, 2), (1, 3), (1, 4), (2, 0, 4)]
    assert fit_from(1, 0, 1) == whole
    assert fit_from(1, 0, 2, initial_epoch=1) == whole
    # Two batches were done before: the first epoch is so much shorter, and no other.
    rest = [(0, 3), (0, 4), (1, 0, 2), *whole]
    assert fit_from(0, 2, 2) == rest
    assert fit_from(0, 2, 2, steps_per_epoch=STEPS) == rest
    # At least one batch there is.
    assert fit_from(0, 4, 1) == [(0, 5), (1, 0, 1)]

    class Stop(tf.keras.callbacks.Callback):
        """The user's wish holds."""

        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training = True

    assert fit_from(0, 2, 2, stop=Stop()) == rest[:3]


def check_commits():
    model = model_of_rank()
    state = hvd.elastic.KerasState(model, commits=0)

    class Counted(hvd.elastic.CommitStateCallback):
        """Derived as in Horovod's own tests."""

        def commit(self):
            self.state.commits += 1
            super().commit()

    commit = Counted(state, batches_per_commit=3)
    for epochs in (1, 2):
        state.commits = 0
        fit(model, [commit], epochs=epochs)
        assert state.commits == epochs + epochs * STEPS // 3, state.commits
    fit(model, epochs=1)
    state.restore()
    assert int(model.optimizer.iterations) == 3 * STEPS


def check_both_packages():
    assert standalone.elastic.KerasState is hvd.elastic.KerasState
    for module in (hvd.elastic, standalone.elastic, hvd_tensorflow.elastic):
        for name in module.__all__:
            assert inspect.getdoc(getattr(module, name)), (module, name)
    made = standalone.elastic.CommitStateCallback(None, 2)
    assert made.__module__ == "tony.collective.keras.elastic" and made.batches_per_commit == 2


def check_the_size_of_now():
    """That graphs ask when they are run is seen in keras_elastic_test.py."""
    model = tf.keras.Sequential([tf.keras.Input((FEATURES,)), hvd.SyncBatchNormalization(),
                                 tf.keras.layers.Dense(CLASSES)])
    model.compile(hvd.DistributedOptimizer(sgd()), loss=LOSS)
    state = hvd.elastic.KerasState(model)
    state.sync()
    fit(model)
    expect_same_everywhere(model)
