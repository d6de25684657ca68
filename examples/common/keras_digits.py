"""The common part of programs for Keras and tony.collective: the network for the digits, and its
accuracy."""

import tensorflow as tf
import tony.collective.tensorflow.keras as hvd

import digits
import records

LEARNING_RATE = 0.1
MOMENTUM = 0.9


def make_deterministic(seed):
    """Lets programs with the same seed compute the same, bit by bit."""
    tf.keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()
    tf.config.threading.set_intra_op_parallelism_threads(1)


def build_model(cut_exchange):
    """Returns the network, with random parameters, and its optimizer with all its variables."""
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Dense(digits.HIDDEN, activation="tanh", input_shape=(digits.PIXELS,)),
            tf.keras.layers.Dense(digits.CLASSES),
        ]
    )
    optimizer = tf.keras.optimizers.SGD(LEARNING_RATE, MOMENTUM)
    if not cut_exchange:
        optimizer = hvd.DistributedOptimizer(optimizer)
    optimizer.build(model.trainable_variables)
    model.compile(optimizer, tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def initialize(model, seed):
    """Gives the network the first parameters that belong to `seed`."""
    model.set_weights(list(digits.initial_parameters(seed).values()))


def variables_of(model):
    """Returns the variables of the network and of its optimizer."""
    return model.variables + list(model.optimizer.variables)


def own_batches(arguments, done):
    """Yields this rank's part (images, labels) of each batch after the step `done`, without end."""
    (images, labels), _ = digits.load(arguments.data)
    rank, size = hvd.rank(), hvd.size()
    step = done
    while True:
        step += 1
        batch = digits.batch_indices(step, arguments.batch_size, arguments.seed, len(labels))
        mine = batch.reshape(size, -1)[rank]
        yield images[mine], labels[mine]


def parameters_of(model, seed):
    """Returns the parameters by name, as digits.initial_parameters() does."""
    return dict(zip(digits.initial_parameters(seed), model.get_weights()))


def describe_run(arguments, ranks):
    """Returns what the check needs to train the same network in one process."""
    return records.describe_run(arguments, ranks, LEARNING_RATE, MOMENTUM)


def print_accuracy(model, data):
    """Prints the share of the test images whose digit the network finds."""
    _, (images, labels) = digits.load(data)
    accuracy = float((model(images).numpy().argmax(axis=1) == labels).mean())
    print(f"test accuracy: {accuracy:.3f}", flush=True)
