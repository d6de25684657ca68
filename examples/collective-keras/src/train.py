"""Trains a small network on handwritten digits with Keras's model.fit() and tony.collective.

Every rank takes its part of each batch, whose size does not depend on the number of ranks. The
gradients of all are averaged before each update, so all ranks hold the same parameters at every
step, and these are what one process would reach with the whole batches.
"""

import os
import time

import tensorflow as tf
import tony.collective.tensorflow.keras as hvd

import keras_digits
import options
import records


def begin(path, model, seed):
    """Gives all ranks rank 0's variables; returns the number of the last finished step."""
    variables = keras_digits.variables_of(model)
    if hvd.rank() == 0:
        keras_digits.initialize(model, seed)
        records.restore_variables(path, variables)
    hvd.broadcast_variables(variables, root_rank=0)
    done = int(model.optimizer.iterations.numpy())
    if hvd.rank() == 0:
        print(f"resuming after step {done}" if done else "starting at step 1", flush=True)
    return done


class Records(tf.keras.callbacks.Callback):
    """Logs each step, and writes a checkpoint at intervals."""

    def __init__(self, arguments, log, checkpoint, done):
        super().__init__()
        self._arguments, self._log, self._checkpoint, self._step = arguments, log, checkpoint, done

    def on_train_batch_begin(self, batch, logs=None):
        time.sleep(self._arguments.slow_step_seconds)

    def on_train_batch_end(self, batch, logs=None):
        self._step += 1
        self._log.write(self._step, hvd.allreduce(logs["loss"], name="loss"))
        self.model.reset_metrics()  # the next loss covers one step only
        if self._step % self._arguments.checkpoint_every == 0 or self._step == self._arguments.steps:
            # All logs must hold this step before a checkpoint says that it is done.
            self._log.store()
            hvd.barrier()
            if hvd.rank() == 0:
                records.save_variables(self._checkpoint, keras_digits.variables_of(self.model))


def train(arguments, model, folder):
    """Trains `model` in place, from the last checkpoint on if there is one."""
    checkpoint = os.path.join(folder, "checkpoint.npz")
    done = begin(checkpoint, model, arguments.seed)
    task = f"{os.environ['JOB_NAME']}-{os.environ['TASK_INDEX']}"
    with records.StepLog(folder, task, done, int(os.environ["TONY_EPOCH"])) as log:
        if done < arguments.steps:
            model.fit(keras_digits.own_batches(arguments, done), verbose=0,
                      steps_per_epoch=arguments.steps - done,
                      callbacks=[Records(arguments, log, checkpoint, done)])


def main():
    folder = os.environ["TONY_CHECKPOINT_DIR"]
    hvd.init()  # finds the others by the variables that tony sets
    arguments = options.parse_synchronous(__doc__, hvd.size())

    keras_digits.make_deterministic(arguments.seed + hvd.rank())
    model = keras_digits.build_model(arguments.cut_exchange)
    train(arguments, model, folder)
    parameters = keras_digits.parameters_of(model, arguments.seed)
    records.write_parameters(folder, f"rank-{hvd.rank()}", parameters)
    if hvd.rank() == 0:
        records.write_run(folder, keras_digits.describe_run(arguments, hvd.size()))
        keras_digits.print_accuracy(model, arguments.data)
    hvd.barrier()  # no rank leaves before all are done


if __name__ == "__main__":
    main()
