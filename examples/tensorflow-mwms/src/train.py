"""Trains a small network on handwritten digits with MultiWorkerMirroredStrategy.

Every worker takes its part of each batch. The gradients of all are added up before each update, so
all workers hold the same parameters at every step, and these are what one process would reach with
the whole batches.
"""

import json
import os
import time

import tensorflow as tf

import digits
import options
import records

LEARNING_RATE = 0.1
MOMENTUM = 0.9


def make_strategy(arguments):
    """Returns the strategy; with --cut-exchange TensorFlow's default one, which works alone."""
    tf.keras.utils.set_random_seed(arguments.seed)
    tf.config.experimental.enable_op_determinism()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    if arguments.cut_exchange:
        return tf.distribute.get_strategy()
    # Reads TF_CONFIG, listens on this task's port, and waits for the other workers.
    return tf.distribute.MultiWorkerMirroredStrategy()


def read_file(path):
    """Returns the bytes of a file that TensorFlow can open; hdfs:// needs tensorflow-io."""
    if path.startswith("hdfs://"):
        import tensorflow_io  # noqa: F401
    with tf.io.gfile.GFile(path, "rb") as file:
        return file.read()


def build_model(seed):
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Dense(digits.HIDDEN, activation="tanh", input_shape=(digits.PIXELS,)),
            tf.keras.layers.Dense(digits.CLASSES),
        ]
    )
    model.set_weights(list(digits.initial_parameters(seed).values()))
    return model


def make_train_step(strategy, model, optimizer, batch_size):
    """Returns the function that runs one step on this worker's part (images, labels) of a batch.

    It returns the mean loss of the whole batch.
    """
    cross_entropy = tf.keras.losses.sparse_categorical_crossentropy

    def replica_step(images, labels):
        with tf.GradientTape() as tape:
            losses = cross_entropy(labels, model(images), from_logits=True)
            loss = tf.reduce_sum(losses) / batch_size
        gradients = tape.gradient(loss, model.trainable_variables)
        # Adds up the gradients of all workers before it applies them.
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    @tf.function
    def train_step(images, labels):
        losses = strategy.run(replica_step, args=(images, labels))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    return train_step


def make_barrier(strategy):
    """Returns a function that returns when all workers have called it."""

    @tf.function
    def count():
        ones = strategy.run(lambda: tf.constant(1.0))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, ones, axis=None)

    return lambda: count().numpy()


def train(arguments, strategy, model, folder, worker, workers):
    """Trains `model` in place, from the last checkpoint on if there is one."""
    (images, labels), _ = digits.load(arguments.data, read_file)
    with strategy.scope():
        optimizer = tf.keras.optimizers.SGD(LEARNING_RATE, MOMENTUM)
        optimizer.build(model.trainable_variables)
    checkpoint = os.path.join(folder, "checkpoint.npz")
    variables = model.variables + optimizer.variables
    records.restore_variables(checkpoint, variables)
    done = int(optimizer.iterations.numpy())
    if worker == 0:
        print(f"resuming after step {done}" if done else "starting at step 1", flush=True)

    train_step = make_train_step(strategy, model, optimizer, arguments.batch_size)
    barrier = make_barrier(strategy)
    with records.StepLog(folder, f"worker-{worker}", done, int(os.environ["TONY_EPOCH"])) as log:
        for step in range(done + 1, arguments.steps + 1):
            time.sleep(arguments.slow_step_seconds)
            batch = digits.batch_indices(step, arguments.batch_size, arguments.seed, len(labels))
            mine = batch.reshape(workers, -1)[worker]
            log.write(step, train_step(tf.constant(images[mine]), tf.constant(labels[mine])))
            if step % arguments.checkpoint_every == 0 or step == arguments.steps:
                # All logs must hold this step before a checkpoint says that it is done.
                log.store()
                barrier()
                if worker == 0:
                    records.save_variables(checkpoint, variables)
    barrier()  # a worker takes its server away, so all stay until the last one is done


def test_accuracy(model, data):
    _, (images, labels) = digits.load(data, read_file)
    return float((model(images).numpy().argmax(axis=1) == labels).mean())


def main():
    folder = os.environ["TONY_CHECKPOINT_DIR"]
    worker = int(os.environ["TASK_INDEX"])
    workers = len(json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"])
    arguments = options.parse_synchronous(__doc__, workers)

    strategy = make_strategy(arguments)
    with strategy.scope():
        model = build_model(arguments.seed)
    train(arguments, strategy, model, folder, worker, workers)
    parameters = dict(zip(digits.initial_parameters(arguments.seed), model.get_weights()))
    records.write_parameters(folder, f"worker-{worker}", parameters)
    if worker == 0:
        run = records.describe_run(arguments, workers, LEARNING_RATE, MOMENTUM)
        records.write_run(folder, run)
        print(f"test accuracy: {test_accuracy(model, arguments.data):.3f}", flush=True)


if __name__ == "__main__":
    main()
