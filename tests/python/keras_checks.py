"""Checks on each rank for gradient tapes, optimizers and callbacks: run by run_checks.py."""

import inspect
import os
import tempfile

import numpy as np
import tensorflow as tf

import tony.collective.tensorflow.keras as hvd
from array_checks import expect_error
from tony.collective import tensorflow as hvd_tensorflow

ROWS, FEATURES, CLASSES, BATCH, EPOCHS = 24, 5, 3, 12, 3
tf.get_logger().setLevel("ERROR")
LOSS = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
IMAGES = np.random.default_rng(0).normal(size=(ROWS, FEATURES)).astype(np.float32)
LABELS = np.arange(ROWS) % CLASSES


def model_of(seed=1, *more):
    """A model; with the same seed the same."""
    tf.keras.utils.set_random_seed(seed)
    model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh"), *more, tf.keras.layers.Dense(CLASSES)])
    model.build((None, FEATURES))
    return model


def sgd():
    return tf.keras.optimizers.SGD(0.1, momentum=0.9)


def own_rows():
    """This rank's part of each batch, one after the other."""
    return np.arange(ROWS).reshape(-1, hvd.size(), BATCH // hvd.size())[:, hvd.rank()].reshape(-1)


def fit(model, optimizer, rows=None, parts=1, callbacks=(), epochs=EPOCHS, **options):
    """Trains with the rows, in batches of which each has ``parts`` parts. Returns Keras's history."""
    batch = BATCH if rows is None else BATCH // hvd.size()
    rows = np.arange(ROWS) if rows is None else rows
    model.compile(optimizer, loss=LOSS, **options)
    return model.fit(IMAGES[rows], LABELS[rows], batch_size=batch // parts, epochs=epochs, shuffle=False, verbose=0,
                     callbacks=list(callbacks)).history


def fit_together(optimizer, callbacks=(), rows=None, seed=1, **options):
    """(model, history) of all ranks."""
    model = model_of(seed)
    history = fit(model, optimizer, own_rows() if rows is None else rows, callbacks=callbacks, **options)
    return model, history


def fit_alone(optimizer=None, **options):
    """(model, history) of one process with whole batches."""
    model = model_of()
    return model, fit(model, sgd() if optimizer is None else optimizer, **options)


def expect_same_everywhere(model):
    mine = [weights.tobytes() for weights in model.get_weights()]
    assert all(mine == other for other in hvd.allgather_object(mine)), "ranks differ"


def expect_close(model, other, tolerance=1e-5):
    expect_same_everywhere(model)
    for mine, theirs in zip(model.get_weights(), other.get_weights()):
        difference = np.abs(mine - theirs).max()
        assert difference <= tolerance, f"{difference} away from one process"


def check_fit_is_that_of_one_process():
    alone, history_alone = fit_alone()
    model, history = fit_together(
        hvd.DistributedOptimizer(sgd()), seed=hvd.rank() + 1,
        callbacks=[Beginning(), hvd.callbacks.MetricAverageCallback()])
    expect_close(model, alone)
    np.testing.assert_allclose(history["loss"], history_alone["loss"], rtol=1e-5)
    for options in ({"run_eagerly": True}, {"steps_per_execution": 2}):
        expect_close(fit_together(hvd.DistributedOptimizer(sgd()), **options)[0], alone)


class Beginning(tf.keras.callbacks.Callback):
    """All ranks begin with the model of rank 0, before the first batch."""

    def on_train_begin(self, logs=None):
        hvd.broadcast_variables(self.model.variables, 0)


def check_without_exchange_ranks_differ():
    """So that what the other checks look at can be seen."""
    model, _ = fit_together(sgd())
    mine = model.get_weights()[0].tobytes()
    assert hvd.size() == 1 or len(set(hvd.allgather_object(mine))) == hvd.size()


def check_options_of_the_optimizer():
    alone, _ = fit_alone()
    for options in ({"gradient_predivide_factor": 2.0}, {"groups": 2}, {"groups": 100}, {"num_groups": 1},
                    {"compression": hvd.Compression.none, "name": "mine"}):
        expect_close(fit_together(hvd.DistributedOptimizer(sgd(), **options))[0], alone)
    expect_close(fit_together(hvd.DistributedOptimizer(sgd(), compression=hvd.Compression.fp16))[0], alone, 1e-2)
    summed = fit_together(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 / hvd.size(), momentum=0.9),
                                                   op=hvd.Sum))[0]
    expect_close(summed, alone)
    model = model_of()
    variables = model.trainable_variables
    fit(model, hvd.DistributedOptimizer(sgd(), groups=[list(variables[:2]), [variables[3]]]), own_rows())
    expect_close(model, alone)


def check_other_optimizers():
    for make in (lambda: tf.keras.optimizers.Adam(0.01), lambda: tf.keras.optimizers.RMSprop(0.01),
                 lambda: tf.keras.optimizers.SGD(tf.keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.9)),
                 lambda: tf.keras.optimizers.legacy.SGD(0.1, momentum=0.9)):
        expect_close(fit_together(hvd.DistributedOptimizer(make()))[0], fit_alone(make())[0], 1e-4)


def check_several_backward_passes():
    alone, _ = fit_alone()
    for make in (sgd, lambda: tf.keras.optimizers.legacy.SGD(0.1, momentum=0.9)):
        for options in ({}, {"run_eagerly": True}):
            optimizer = hvd.DistributedOptimizer(make(), backward_passes_per_step=2, average_aggregated_gradients=True)
            model = model_of()
            fit(model, optimizer, own_rows(), parts=2, **options)
            expect_close(model, alone)
            assert int(optimizer.iterations) == 2 * EPOCHS * ROWS // BATCH


def check_adasum():
    """All ranks do the same, so that the adaptive sum is what each of them does."""
    alone, _ = fit_alone()
    everything = np.arange(ROWS)
    for passes in (1, 2):
        model = model_of()
        optimizer = hvd.DistributedOptimizer(sgd(), op=hvd.Adasum, backward_passes_per_step=passes)
        model.compile(optimizer, loss=LOSS)
        model.fit(IMAGES[everything], LABELS, batch_size=BATCH, epochs=EPOCHS, shuffle=False, verbose=0)
        expect_close(model, alone)
    model = fit_together(hvd.DistributedOptimizer(sgd(), op=hvd.Adasum))[0]
    expect_same_everywhere(model)


def tape_step(model, optimizer, rows, wrap):
    with tf.GradientTape() as tape:
        loss = LOSS(LABELS[rows], model(IMAGES[rows], training=True))
    gradients = wrap(tape).gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def check_gradient_tape():
    for in_graph in (False, True):
        for options in ({}, {"groups": 1}, {"gradient_predivide_factor": 2.0}):
            model, alone = model_of(), model_of()
            optimizers = sgd(), sgd()
            for optimizer in optimizers:
                optimizer.build(model.trainable_variables if optimizer is optimizers[0] else alone.trainable_variables)

            def both(mine, all_of_them):
                tape_step(model, optimizers[0], mine,
                          lambda tape: hvd_tensorflow.DistributedGradientTape(tape, **options))
                tape_step(alone, optimizers[1], all_of_them, lambda tape: tape)

            step = tf.function(lambda: both(own_rows(), np.arange(ROWS))) if in_graph else (
                lambda: both(own_rows(), np.arange(ROWS)))
            for _ in range(4):
                step()
            expect_close(model, alone)


def check_what_a_tape_is_asked_for():
    rank, size = hvd.rank(), hvd.size()
    first, second, unused = tf.Variable(2.0), tf.Variable([1.0, 2.0]), tf.Variable(1.0)
    with hvd_tensorflow.DistributedGradientTape(tf.GradientTape(persistent=True), op=hvd.Sum) as tape:
        result = (rank + 1.0) * first + tf.reduce_sum(second * float(rank))
    numbers = tape.gradient(result, {"a": first, "b": [second, unused]})
    assert float(numbers["a"]) == size * (size + 1) / 2, numbers
    assert numbers["b"][0].numpy().tolist() == [sum(range(size))] * 2 and numbers["b"][1] is None, numbers
    assert float(tape.gradient(result, first)) == size * (size + 1) / 2
    assert float(tape.gradient(result, unused, unconnected_gradients="zero")) == 0
    tape.register_local_source(first)
    local, everywhere = tape.get_local_and_global_gradients(result, [first, second])
    assert local[0][0] is first and abs(float(local[0][1]) - (rank + 1) / size) < 1e-6, local
    assert everywhere[0][1].numpy().tolist() == [sum(range(size))] * 2, everywhere


def check_sparse_gradients():
    for in_graph in (False, True):
        for options in ({}, {"sparse_as_dense": True}):
            table = tf.Variable(tf.zeros((6, 2)))

            def step():
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(tf.gather(table, [hvd.rank(), 5]))
                tape = hvd_tensorflow.DistributedGradientTape(tape, **options)
                return tf.convert_to_tensor(tape.gradient(loss, [table])[0])

            expected = np.zeros((6, 2), np.float32)
            expected[:hvd.size()] = 1 / hvd.size()
            expected[5] = 1
            np.testing.assert_allclose((tf.function(step) if in_graph else step)(), expected, rtol=1e-6)
    expect_error(ValueError, "sparse_as_dense", sparse_passes)


def sparse_passes():
    optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(1.0), backward_passes_per_step=2)
    table = tf.Variable(tf.zeros((6, 2)))
    optimizer.minimize(lambda: tf.reduce_sum(tf.gather(table, [0])), [table])


def check_embeddings_are_trained():
    tf.keras.utils.set_random_seed(3)
    tokens = (np.arange(ROWS) * 7 % 11)[:, None]

    def make():
        tf.keras.utils.set_random_seed(3)
        return tf.keras.Sequential([tf.keras.Input((1,), dtype="int32"), tf.keras.layers.Embedding(11, 4),
                                    tf.keras.layers.Flatten(), tf.keras.layers.Dense(CLASSES)])

    alone, rows = make(), own_rows()
    alone.compile(sgd(), loss=LOSS)
    alone.fit(tokens, LABELS, batch_size=BATCH, epochs=2, shuffle=False, verbose=0)
    for options in ({}, {"sparse_as_dense": True}):
        model = make()
        model.compile(hvd.DistributedOptimizer(sgd(), **options), loss=LOSS)
        model.fit(tokens[rows], LABELS[rows], batch_size=BATCH // hvd.size(), epochs=2, shuffle=False, verbose=0)
        expect_close(model, alone)


def check_local_layers():
    model = model_of()
    local = model.layers[0]
    optimizer = hvd.PartialDistributedOptimizer(sgd(), local_layers=local)
    fit(model, optimizer, own_rows())
    everybody = hvd.allgather_object(model.get_weights())
    assert hvd.size() == 1 or not np.array_equal(everybody[0][0], everybody[-1][0])
    layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.fill((1, 2), hvd.rank() + 1.0)))
    tape = hvd_tensorflow.PartialDistributedGradientTape(tape, local_layers=[layer], scale_local_gradients=False)
    gradient = tape.gradient(loss, layer.trainable_variables)[0]
    assert gradient.numpy().reshape(-1).tolist() == [hvd.rank() + 1.0] * 2, gradient
    expect_error(ValueError, "tf.keras.layers.Layer", hvd_tensorflow.PartialDistributedGradientTape,
                 tf.GradientTape(), local_layers=[5])


def check_sync_batch_normalization():
    def make(kind):
        return model_of(1, kind())

    alone = make(tf.keras.layers.BatchNormalization)
    fit(alone, sgd())
    model = make(hvd.SyncBatchNormalization)
    fit(model, hvd.DistributedOptimizer(sgd()), own_rows())
    expect_close(model, alone, 1e-4)
    expect_error(ValueError, "fused", hvd.SyncBatchNormalization, fused=True)


def check_variables_are_broadcast_after_the_first_batch():
    adam = tf.keras.optimizers.Adam(0.01)
    callback = hvd.callbacks.BroadcastGlobalVariablesCallback(0)
    model = model_of(seed=hvd.rank() + 1)
    optimizer = hvd.DistributedOptimizer(adam)
    fit(model, optimizer, own_rows(), callbacks=[callback])
    assert callback.broadcast_done
    expect_same_everywhere(model)
    state = [np.asarray(each).tobytes() for each in optimizer.variables]
    assert all(state == other for other in hvd.allgather_object(state)), "ranks' optimizers differ"
    kept = model_of(seed=hvd.rank() + 1)
    first = kept.get_weights()[0]
    callback = hvd.callbacks.BroadcastGlobalVariablesCallback(0, local_variables=[kept.variables[0]])
    fit(kept, tf.keras.optimizers.SGD(0.0), own_rows(), callbacks=[callback], epochs=1)
    np.testing.assert_array_equal(kept.get_weights()[0], first)
    expect_error(ValueError, "tf.Variable", hvd.callbacks.BroadcastGlobalVariablesCallback, 0, local_variables=[5])


class Rates(tf.keras.callbacks.Callback):
    """Records the learning rate of each batch."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(float(np.asarray(self.model.optimizer.learning_rate)))


def rates(callback, optimizer=None, epochs=EPOCHS):
    seen = Rates()
    history = fit(model_of(), hvd.DistributedOptimizer(optimizer or tf.keras.optimizers.SGD(0.4)), own_rows(),
                  callbacks=[callback, seen], epochs=epochs)
    np.testing.assert_allclose(history["lr"], seen.seen[1::2], rtol=1e-6)
    return seen.seen


def check_learning_rates():
    size = hvd.size()
    warm = rates(hvd.callbacks.LearningRateWarmupCallback(0.4, warmup_epochs=2, verbose=1))
    expected = [0.4 / size * ((step + 1) / 2 * (size - 1) / 2 + 1) for step in range(4)]
    np.testing.assert_allclose(warm, expected + [0.4, 0.4], rtol=1e-6)
    schedule = hvd.callbacks.LearningRateScheduleCallback
    np.testing.assert_allclose(rates(schedule(0.4, 0.5, start_epoch=1)), [0.4, 0.4, 0.4, 0.4, 0.2, 0.2], rtol=1e-6)
    stairs = rates(schedule(0.4, lambda epoch: 1 / (1 + epoch), end_epoch=2))
    np.testing.assert_allclose(stairs, [0.4, 0.4, 0.2, 0.2, 0.2, 0.2], rtol=1e-6)
    smooth = rates(schedule(0.4, lambda epoch: 1 + epoch, staircase=False))
    np.testing.assert_allclose(smooth, [0.4 * (1 + step / 2) for step in range(6)], rtol=1e-6)
    expect_error(ValueError, "initial_lr", schedule, None, 1.0)
    momentum = tf.keras.optimizers.legacy.SGD(0.4, momentum=0.5)
    rates(schedule(0.4, 0.5), momentum)


def check_saved_models():
    """Saved models are read with this package and without it; with it the optimizer's state continues."""
    alone, _ = fit_alone(epochs=4)
    model = model_of()
    fit(model, hvd.DistributedOptimizer(sgd()), own_rows(), epochs=2)
    for ending in ("keras", "h5"):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, f"model.{ending}")
            model.save(path)
            plain = tf.keras.models.load_model(path)
            assert type(plain.optimizer).__name__ == "SGD" and not hasattr(plain.optimizer, "register_local_var")
            loaded = hvd.load_model(path, compression=hvd.Compression.none)
        assert isinstance(loaded.optimizer, tf.keras.optimizers.SGD) and hasattr(loaded.optimizer,
                                                                                 "register_local_var")
        rows = own_rows()
        loaded.fit(IMAGES[rows], LABELS[rows], batch_size=BATCH // hvd.size(), epochs=2, shuffle=False, verbose=0)
        expect_close(loaded, alone)


def check_the_best_model_is_kept():
    with tempfile.TemporaryDirectory() as folder:
        best = hvd.callbacks.BestModelCheckpoint(monitor="loss", save_weights_only=True)
        best.filepath = os.path.join(folder, "best.weights.h5")
        fit_together(hvd.DistributedOptimizer(sgd()), callbacks=[hvd.callbacks.MetricAverageCallback(), best])
        assert os.path.exists(best.filepath)


def check_ranks_that_differ_are_told_by_name():
    if hvd.size() == 1:
        return
    last = hvd.size() - 1
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential([tf.keras.layers.Dense(9 if hvd.rank() == last else 8, name="wide"),
                                 tf.keras.layers.Dense(CLASSES, name="last")])
    try:
        fit(model, hvd.DistributedOptimizer(sgd()), own_rows())
    except tf.errors.FailedPreconditionError as error:
        said = str(error)
        assert "'allreduce.DistributedSGD.0' " in said and "wide/kernel" in said and f"rank {last}" in said, said
    else:
        raise AssertionError("no error")


def check_options_that_are_none():
    wrap = hvd.DistributedOptimizer
    for text, options in (("must be > 0", {"backward_passes_per_step": 0}),
                          ("op != Average", {"gradient_predivide_factor": 2.0, "op": hvd.Sum}),
                          ("average_aggregated_gradients", {"op": hvd.Adasum, "average_aggregated_gradients": True}),
                          ("groups should be", {"groups": -1}), ("groups should be", {"groups": "all"}),
                          ("process_set", {"process_set": 5}), ("op is", {"op": hvd.Max})):
        expect_error(ValueError, text, wrap, sgd(), **options)
    expect_error(ValueError, "already", wrap, wrap(sgd()))
    expect_error(ValueError, "no optimizer", wrap, 5)
    old = tf.compat.v1.train.GradientDescentOptimizer(0.1)
    expect_error(ValueError, "tf.compat.v1", wrap, old, backward_passes_per_step=2)


def check_optimizers_of_version_1():
    variable = tf.Variable(1.0)
    optimizer = hvd_tensorflow.DistributedOptimizer(tf.compat.v1.train.GradientDescentOptimizer(1.0), op=hvd.Sum)
    optimizer.minimize(lambda: variable * (hvd.rank() + 1.0), var_list=[variable])
    assert float(variable) == 1 - hvd.size() * (hvd.size() + 1) / 2, variable


def check_values():
    expected = list(range(hvd.size()))
    assert float(hvd.allreduce(float(hvd.rank()), op=hvd.Sum)) == sum(expected)
    assert hvd.allgather([hvd.rank()]).numpy().tolist() == expected
    assert int(hvd.broadcast(hvd.rank(), hvd.size() - 1)) == hvd.size() - 1
    assert hvd.reducescatter(np.arange(float(hvd.size())), op=hvd.Sum).numpy().tolist() == [hvd.rank() * hvd.size()]
    from tony.collective import keras as standalone
    assert float(standalone.allreduce(1.0, average=False)) == hvd.size()
    assert standalone.PartialDistributedOptimizer is hvd.PartialDistributedOptimizer


def check_all_that_is_there_says_what_it_is():
    from tony.collective import keras as standalone
    for module in (hvd, standalone, hvd.callbacks, standalone.callbacks):
        for name in getattr(module, "__all__", [each for each in dir(module) if each.endswith(("Callback", "Point"))]):
            assert inspect.getdoc(getattr(module, name)), (module, name)
