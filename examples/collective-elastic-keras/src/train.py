"""Trains a small network on handwritten digits with Keras's model.fit(), while the number of
workers changes.

A state of tony.collective holds everything that has to be the same on all ranks. Each commit keeps
a copy of it in every process. When a worker is lost, the others return to the last copy. A new
worker receives rank 0's state. The examples of a step do not depend on the ranks. So if the number
of workers divides --batch-size, the result is that of a single process.
"""

import os
import time

import tensorflow as tf
import tony.collective.tensorflow.keras as hvd

import keras_digits
import options
import records


def parse_arguments():
    parser = options.make_step_parser(__doc__)
    options.add_elastic(parser)
    return parser.parse_args()


def build_state(arguments, checkpoint):
    """Returns the common state of the ranks, from the last checkpoint if there is one.

    Rank 0's state counts: hvd.elastic.run() gives it to the others before each round.
    """
    model = keras_digits.build_model(arguments.cut_exchange)
    keras_digits.initialize(model, arguments.seed)
    records.restore_variables(checkpoint, keras_digits.variables_of(model))
    done = int(model.optimizer.iterations.numpy())
    return hvd.elastic.KerasState(model, step=done, last_step=arguments.steps)


class Steps(tf.keras.callbacks.Callback):
    """Counts and logs each step, writes a checkpoint at intervals, and checks for the end."""

    def __init__(self, state, arguments, folder, log):
        super().__init__()
        self._state, self._arguments, self._folder, self._log = state, arguments, folder, log

    def on_train_batch_begin(self, batch, logs=None):
        time.sleep(self._arguments.slow_step_seconds)

    def on_train_batch_end(self, batch, logs=None):
        state, arguments = self._state, self._arguments
        state.step += 1
        loss = hvd.allreduce(logs["loss"], name="loss")
        self._log.write(state.step, loss, rank=hvd.rank(), size=hvd.size())
        self.model.reset_metrics()  # the next loss covers one step only
        if state.step % arguments.commit_every == 0:
            records.look_for_end(hvd, state, self._folder)
        if state.step % arguments.checkpoint_every == 0 or state.step == state.last_step:
            self._store()
        self.model.stop_training = state.step == state.last_step

    def _store(self):
        """Writes a checkpoint, for the case that the whole job starts over."""
        self._log.store()
        hvd.barrier()  # all logs hold this step before a checkpoint says that it is done
        if hvd.rank() == 0:
            records.save_variables(os.path.join(self._folder, "checkpoint.npz"),
                                   keras_digits.variables_of(self.model))


@hvd.elastic.run
def train(state, arguments, folder):
    """Continues after the last commit. It is called again in each round, with that round's rank and
    size."""
    print(f"rank {hvd.rank()} of {hvd.size()} goes on behind step {state.step}", flush=True)
    task = f"{os.environ['JOB_NAME']}-{os.environ['TASK_INDEX']}"
    with records.StepLog(folder, task, state.step, int(os.environ["TONY_EPOCH"])) as log:
        if state.step < state.last_step:
            state.model.fit(
                keras_digits.own_batches(arguments, state.step),
                steps_per_epoch=state.last_step - state.step, verbose=0,
                # New workers take part after each commit.
                callbacks=[Steps(state, arguments, folder, log),
                           hvd.elastic.CommitStateCallback(state, arguments.commit_every)])


def main():
    arguments = parse_arguments()
    folder = os.environ["TONY_CHECKPOINT_DIR"]
    hvd.init()  # finds the others by the variables that tony sets
    keras_digits.make_deterministic(arguments.seed)
    state = build_state(arguments, os.path.join(folder, "checkpoint.npz"))
    train(state, arguments, folder)

    parameters = keras_digits.parameters_of(state.model, arguments.seed)
    records.write_parameters(folder, f"rank-{hvd.rank()}", parameters)
    if hvd.rank() == 0:
        arguments.steps = state.step
        records.write_run(folder, keras_digits.describe_run(arguments, hvd.size()))
        keras_digits.print_accuracy(state.model, arguments.data)


if __name__ == "__main__":
    main()
