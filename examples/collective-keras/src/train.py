"""Trains a small network on handwritten digits with Keras's model.fit() and tony.collective.

Every rank takes its part of each batch, whose size does not depend on the number of ranks. The
gradients of all are averaged before each update, so all ranks hold the same parameters at every
step, and these are what one process would reach with the whole batches.
"""

import os
import time

import tensorflow as tf
import tony.collective.tensorflow.keras as hvd

import digits
import options
import records

LEARNING_RATE = 0.1
MOMENTUM = 0.9


def make_deterministic(seed):
    """Lets programs with the same seed compute the same, bit by bit."""
    tf.keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()
    tf.config.threading.set_intra_op_parallelism_threads(1)


def build_model(arguments):
    """Returns the network, with random parameters, and its optimizer with all its variables."""
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Dense(digits.HIDDEN, activation="tanh", input_shape=(digits.PIXELS,)),
            tf.keras.layers.Dense(digits.CLASSES),
        ]
    )
    optimizer = tf.keras.optimizers.SGD(LEARNING_RATE, MOMENTUM)
    if not arguments.cut_exchange:
        optimizer = hvd.DistributedOptimizer(optimizer)
    optimizer.build(model.trainable_variables)
    model.compile(optimizer, tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def begin(path, model, seed):
    """Gives all ranks what rank 0 begins with; returns the last step that is done."""
    variables = model.variables + list(model.optimizer.variables)
    if hvd.rank() == 0:
        model.set_weights(list(digits.initial_parameters(seed).values()))
        records.restore_variables(path, variables)
    hvd.broadcast_variables(variables, root_rank=0)
    done = int(model.optimizer.iterations.numpy())
    if hvd.rank() == 0:
        print(f"resuming after step {done}" if done else "starting at step 1", flush=True)
    return done


def own_batches(arguments, done):
    """Yields this rank's part (images, labels) of each batch."""
    (images, labels), _ = digits.load(arguments.data)
    for step in range(done + 1, arguments.steps + 1):
        batch = digits.batch_indices(step, arguments.batch_size, arguments.seed, len(labels))
        mine = batch.reshape(hvd.size(), -1)[hvd.rank()]
        yield images[mine], labels[mine]


class Records(tf.keras.callbacks.Callback):
    """Logs each step, and writes a checkpoint every now and then."""

    def __init__(self, arguments, log, checkpoint, done):
        super().__init__()
        self._arguments, self._log, self._checkpoint, self._step = arguments, log, checkpoint, done

    def on_train_batch_begin(self, batch, logs=None):
        time.sleep(self._arguments.slow_step_seconds)

    def on_train_batch_end(self, batch, logs=None):
        self._step += 1
        self._log.write(self._step, hvd.allreduce(logs["loss"], name="loss"))
        self.model.reset_metrics()  # so that the next loss is that of one step
        if self._step % self._arguments.checkpoint_every == 0 or self._step == self._arguments.steps:
            # All logs must hold this step before a checkpoint says that it is done.
            self._log.store()
            hvd.barrier()
            if hvd.rank() == 0:
                variables = self.model.variables + list(self.model.optimizer.variables)
                records.save_variables(self._checkpoint, variables)


def train(arguments, model, folder):
    """Trains `model` in place, from the last checkpoint on if there is one."""
    checkpoint = os.path.join(folder, "checkpoint.npz")
    done = begin(checkpoint, model, arguments.seed)
    task = f"{os.environ['JOB_NAME']}-{os.environ['TASK_INDEX']}"
    with records.StepLog(folder, task, done, int(os.environ["TONY_EPOCH"])) as log:
        if done < arguments.steps:
            model.fit(own_batches(arguments, done), steps_per_epoch=arguments.steps - done,
                      verbose=0, callbacks=[Records(arguments, log, checkpoint, done)])


def test_accuracy(model, data):
    _, (images, labels) = digits.load(data)
    return float((model(images).numpy().argmax(axis=1) == labels).mean())


def main():
    folder = os.environ["TONY_CHECKPOINT_DIR"]
    hvd.init()  # finds the others by the variables that tony sets
    arguments = options.parse_synchronous(__doc__, hvd.size())

    make_deterministic(arguments.seed + hvd.rank())
    model = build_model(arguments)
    train(arguments, model, folder)
    parameters = dict(zip(digits.initial_parameters(arguments.seed), model.get_weights()))
    records.write_parameters(folder, f"rank-{hvd.rank()}", parameters)
    if hvd.rank() == 0:
        run = {name: getattr(arguments, name) for name in ("steps", "batch_size", "seed")}
        run |= {"ranks": hvd.size(), "learning_rate": LEARNING_RATE, "momentum": MOMENTUM}
        records.write_run(folder, run)
        print(f"test accuracy: {test_accuracy(model, arguments.data):.3f}", flush=True)
    hvd.barrier()  # nobody leaves before all are done


if __name__ == "__main__":
    main()
