#!/usr/bin/env python3
"""Elastic training with TensorFlow and Keras: ranks are killed and come while they train. Ends with 77, "skipped",
where there is no TensorFlow."""

import re
import textwrap
import unittest

import elastic_driver
import examples_python
from elastic_driver import Driver

# A step's batch does not depend on how many ranks share it. The embedding's gradient is sparse: its average is divided
# by the number of ranks in the graph, which is that of the first round.
BEGIN = """
import os, signal
import numpy as np, tensorflow as tf
import tony.collective.tensorflow.keras as hvd
from tony.collective.tensorflow import DistributedGradientTape
hvd.init()
BATCH, STEPS = 12, 20
LOSS = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
def model_of(wrap, seed, **options):
    tf.keras.utils.set_random_seed(seed)
    model = tf.keras.Sequential([tf.keras.Input((2,), dtype="int32"), tf.keras.layers.Embedding(11, 4),
                                 tf.keras.layers.Flatten(), tf.keras.layers.Dense(3)])
    model.compile(wrap(tf.keras.optimizers.SGD(0.1, momentum=0.9)), loss=LOSS, **options)
    return model
def batch_of(step, rank=0, size=1):
    numbers = np.random.default_rng(step)
    tokens, labels = numbers.integers(11, size=(BATCH, 2)), numbers.integers(3, size=BATCH)
    return tokens[rank::size], labels[rank::size]
def batches(begin):
    rank, size = hvd.rank(), hvd.size()
    step = begin
    while True:
        yield batch_of(step, rank, size)
        step += 1
def steps_of(model):
    return int(model.optimizer.iterations)
def lose(model, name, step=7):
    if os.environ["HOROVOD_HOSTNAME"] == name and steps_of(model) == step:
        os.kill(os.getpid(), signal.SIGKILL)
def say(*words):
    print(">", *words, flush=True)
def show(model):
    '''All ranks have the same, which is that of one process.'''
    mine = [each.tobytes() for each in model.get_weights()]
    assert all(mine == other for other in hvd.allgather_object(mine)), "ranks differ"
    alone = model_of(lambda optimizer: optimizer, 1)
    for step in range(steps_of(model)):
        alone.train_on_batch(*batch_of(step))
    away = max(np.abs(one - other).max() for one, other in zip(model.get_weights(), alone.get_weights()))
    assert away < 1e-4, f"{away} away from one process"
    say(hvd.rank(), hvd.size(), steps_of(model))
# Rank 0's counts.
SEED = 1 + hvd.rank()
"""

FIT = """
model = model_of(hvd.DistributedOptimizer, SEED, run_eagerly={eagerly})
class Lose(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        lose(self.model, {victim!r})
state = hvd.elastic.KerasState(model)
@hvd.elastic.run
def train(state):
    begin = steps_of(model)
    say("from", begin, "with", hvd.size())
    model.fit(batches(begin), steps_per_epoch=STEPS - begin, verbose=0,
              callbacks=[Lose(), hvd.elastic.CommitStateCallback(state, 5)])
train(state)
if not {eagerly}:
    # The graph of the first round is that of all.
    assert model.train_tf_function.experimental_get_tracing_count() == 1
show(model)
"""

TAPE = """
model = model_of(lambda optimizer: optimizer, SEED)
@tf.function(input_signature=[tf.TensorSpec((None, 2), tf.int64), tf.TensorSpec((None,), tf.int64)])
def step(tokens, labels):
    with tf.GradientTape() as tape:
        loss = LOSS(labels, model(tokens, training=True))
    gradients = DistributedGradientTape(tape).gradient(loss, model.trainable_variables)
    model.optimizer.apply_gradients(zip(gradients, model.trainable_variables))
state = hvd.elastic.KerasState(model, seen=[])
@hvd.elastic.run
def train(state):
    say("from", steps_of(model), "with", hvd.size())
    own = batches(steps_of(model))
    while steps_of(model) < STEPS:
        step(*next(own))
        state.seen.append(steps_of(model))
        lose(model, {victim!r})
        if steps_of(model) % 5 == 0:
            state.commit()
train(state)
assert state.seen == list(range(1, STEPS + 1)), state.seen
show(model)
"""

GROW = """
model = model_of(hvd.DistributedOptimizer, SEED)
state = hvd.elastic.KerasState(model, steps=0)
class Steps(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.begin = steps_of(self.model)
    def on_train_batch_end(self, batch, logs=None):
        state.steps += 1
        if hvd.size() == 2 and steps_of(self.model) == self.begin + 10:
            self.model.stop_training = True
@hvd.elastic.run
def train(state):
    assert state.steps == steps_of(model), "what was not committed is lost"
    model.fit(batches(state.steps), steps_per_epoch=10 ** 9, verbose=0,
              callbacks=[Steps(), hvd.elastic.CommitStateCallback(state, 3)])
train(state)
show(model)
"""

OPERATIONS = """
import tony.collective.tensorflow as operations
normalize = hvd.SyncBatchNormalization()
normalize.build((None, 2))
def gradient(values):
    with tf.GradientTape() as tape:
        tape.watch(values)
        results = [operations.allgather(values), operations.broadcast(values, 0), operations.alltoall(values),
                   operations.reducescatter(values, op=hvd.Sum), normalize(values, training=True) * values]
        loss = tf.add_n([tf.reduce_sum((at + 1) * tf.square(each)) for at, each in enumerate(results)])
    return tape.gradient(loss, values)
in_graph = tf.function(gradient, input_signature=[tf.TensorSpec((6, 2))])
state = operations.elastic.TensorFlowState([tf.Variable(1.0)])
@operations.elastic.run
def train(state):
    values = tf.random.stateless_normal((6, 2), (1, hvd.rank()))
    np.testing.assert_allclose(in_graph(values), gradient(values), rtol=1e-4, atol=1e-4)
    say("the same with", hvd.size())
    if hvd.size() == 3:
        lose(model_of(lambda optimizer: optimizer, 1), {victim!r}, 0)
        in_graph(values)
        raise AssertionError("nobody is lost")
train(state)
assert in_graph.experimental_get_tracing_count() == 1
"""


class KerasElasticTest(unittest.TestCase):
    """Each process is a host of its own, called a, b, c."""

    def driver(self, body, **options):
        """A driver of processes that run ``body``."""
        driver = Driver(["-c", BEGIN + textwrap.dedent(body).format(**options)], examples_python.variables(0),
                        seconds=examples_python.DEADLINE_SECONDS)
        self.addCleanup(driver.__exit__)
        return driver

    def said(self, driver, *names):
        """Lists of what they said, after they have ended well."""
        ended = driver.wait()
        for name in names:
            self.assertEqual(ended[name][0], 0, f"{name}:\n{ended[name][1]}")
        return [re.findall(r"^> (.*)$", ended[name][1], re.MULTILINE) for name in names]

    def lose_one_of_three(self, victim, body, **options):
        """It is killed in step 7; another one comes with the loss, to a host of its own."""
        driver = self.driver(body, victim=victim, **options)
        for rank, name in enumerate("abc"):
            driver.start(name, rank, 3)
        left = [name for name in "abc" if name != victim]
        driver.begin_round(left, ["d"])
        self.assertEqual(self.said(driver, *left, "d"), [
            ["from 0 with 3", "from 5 with 3", "0 3 20"], ["from 0 with 3", "from 5 with 3", "1 3 20"],
            ["from 5 with 3", "2 3 20"]])
        self.assertEqual(driver.wait()[victim][0], -9)

    def test_rank_0_is_killed_in_fit(self):
        self.lose_one_of_three("a", FIT, eagerly=False)

    def test_the_last_rank_is_killed_in_a_fit_without_graph(self):
        self.lose_one_of_three("c", FIT, eagerly=True)

    def test_fewer_go_on_with_the_same_graph(self):
        for body in (FIT, TAPE):
            with self.subTest(body=body):
                driver = self.driver(body, victim="b", eagerly=False)
                for rank, name in enumerate("abc"):
                    driver.start(name, rank, 3)
                driver.begin_round(["a", "c"])
                self.assertEqual(self.said(driver, "a", "c"), [["from 0 with 3", "from 5 with 2", "0 2 20"],
                                                              ["from 0 with 3", "from 5 with 2", "1 2 20"]])

    def test_operations_of_a_graph_go_by_the_ranks_of_now(self):
        driver = self.driver(OPERATIONS, victim="a")
        for rank, name in enumerate("abc"):
            driver.start(name, rank, 3)
        driver.begin_round(["b", "c"])
        self.assertEqual(self.said(driver, "b", "c"), [["the same with 3", "the same with 2"]] * 2)

    def test_nothing_is_lost_when_another_one_comes(self):
        driver = self.driver(GROW)
        driver.start("a", 0, 1)
        driver.notify_until_asked("a", elastic_driver.hosts_updated(1, 2))
        driver.begin_round(["a"], ["b"])
        ((mine,), (other,)) = self.said(driver, "a", "b")
        (steps,) = re.fullmatch(r"0 2 (\d+)", mine).groups()
        self.assertEqual(other, f"1 2 {steps}")


if __name__ == "__main__":
    examples_python.run_tests()
