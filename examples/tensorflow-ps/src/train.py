"""Trains a small network on handwritten digits with ParameterServerStrategy.

The parameter servers keep the weights. The chief hands out steps; a worker that gets one fetches
the weights, computes the gradients of its batch, and updates the weights where they are, without
waiting for other workers. Workers and parameter servers only serve: they run until tony ends them,
after the chief.
"""

import collections
import os
import time

import tensorflow as tf

import digits
import options
import records
import visualization

STEPS_IN_FLIGHT = 4


def parse_arguments():
    parser = options.make_step_parser(__doc__)
    parser.add_argument(
        "--linger-seconds", type=float, default=0.0, help="keep TensorBoard open after the training"
    )
    return parser.parse_args()


def serve(resolver):
    """Runs a worker's or a parameter server's part; never returns."""
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id
    )
    server.join()


class Cluster:
    """Workers that run functions, and parameter servers that keep variables. Not thread safe."""

    def __init__(self, resolver, cut_exchange):
        """Waits until all of them answer; with cut_exchange there is only the chief."""
        if cut_exchange:
            self.strategy = tf.distribute.get_strategy()
            self._coordinator = None
        else:
            self.strategy = tf.distribute.ParameterServerStrategy(resolver)
            self._coordinator = tf.distribute.coordinator.ClusterCoordinator(self.strategy)

    def schedule(self, function, *arguments):
        """Has a worker run the tf.function; returns a function that waits for the value."""
        if self._coordinator is None:
            value = function(*arguments)
            return lambda: tf.nest.map_structure(lambda tensor: tensor.numpy(), value)
        return self._coordinator.schedule(function, args=arguments).fetch


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


def make_train_step(strategy, model, optimizer, images, labels):
    """Returns the function for workers: one step on the examples of given indices → mean loss."""
    cross_entropy = tf.keras.losses.sparse_categorical_crossentropy

    def replica_step(batch):
        # Constants go to a worker once, with the function; afterwards only indices travel.
        batch_images = tf.gather(tf.constant(images), batch)
        batch_labels = tf.gather(tf.constant(labels), batch)
        with tf.GradientTape() as tape:
            losses = cross_entropy(batch_labels, model(batch_images), from_logits=True)
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])
    def train_step(batch):
        losses = strategy.run(replica_step, args=(batch,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    return train_step


def run_steps(arguments, done, schedule_step, on_step, on_checkpoint):
    """Keeps a few steps in flight, and none when it is time for a checkpoint.

    `schedule_step(step)` starts a step and returns a function that waits for its loss.
    """
    in_flight = collections.deque()
    for step in range(done + 1, arguments.steps + 1):
        time.sleep(arguments.slow_step_seconds)
        in_flight.append((step, schedule_step(step)))
        at_checkpoint = step % arguments.checkpoint_every == 0 or step == arguments.steps
        while len(in_flight) > (0 if at_checkpoint else STEPS_IN_FLIGHT):
            finished, wait_for_loss = in_flight.popleft()
            on_step(finished, wait_for_loss())
        if at_checkpoint:
            on_checkpoint()


def train(arguments, cluster, model, folder, summaries):
    """Trains `model` in place, from the last checkpoint on if there is one."""
    (images, labels), _ = digits.load(arguments.data, read_file)
    with cluster.strategy.scope():
        optimizer = tf.keras.optimizers.SGD(learning_rate=0.1, momentum=0.5)
        optimizer.build(model.trainable_variables)
    checkpoint = os.path.join(folder, "checkpoint.npz")
    variables = model.variables + optimizer.variables
    records.restore_variables(checkpoint, variables)
    done = int(optimizer.iterations.numpy())
    print(f"resuming after step {done}" if done else "starting at step 1", flush=True)

    train_step = make_train_step(cluster.strategy, model, optimizer, images, labels)
    writer = tf.summary.create_file_writer(summaries)
    with records.StepLog(folder, "chief-0", done, int(os.environ["TONY_EPOCH"])) as log:

        def schedule_step(step):
            batch = digits.batch_indices(step, arguments.batch_size, arguments.seed, len(labels))
            return cluster.schedule(train_step, tf.constant(batch))

        def on_step(step, loss):
            log.write(step, loss)
            with writer.as_default():
                tf.summary.scalar("loss", loss, step=step)

        def on_checkpoint():
            log.store()
            records.save_variables(checkpoint, variables)
            writer.flush()
            visualization.store(summaries, folder)

        run_steps(arguments, done, schedule_step, on_step, on_checkpoint)


def read_back(variable):
    """Returns the variable's value, and the device that read it out of its memory.

    This is the bare operation, without a strategy. TensorFlow runs it where the variable lives and
    nowhere else.
    """
    value = tf.raw_ops.ReadVariableOp(resource=variable.handle, dtype=variable.dtype)
    return value.numpy(), value.device


def report_parameters(cluster, model, names, folder):
    """Writes the weights as read on the parameter servers, and as chief and worker see them.

    That is for examples/checks. Returns for each of `names` the device that read it.
    """

    @tf.function(input_signature=[])
    def read_on_worker():
        return [tf.identity(variable) for variable in model.trainable_variables]

    values, devices = zip(*[read_back(variable) for variable in model.trainable_variables])
    seen_by_worker = cluster.schedule(read_on_worker)()
    records.write_parameters(folder, "read-back", dict(zip(names, values)))
    records.write_parameters(folder, "seen-by-chief", dict(zip(names, model.get_weights())))
    records.write_parameters(folder, "seen-by-worker", dict(zip(names, seen_by_worker)))
    return dict(zip(names, devices))


def test_accuracy(model, data):
    _, (images, labels) = digits.load(data, read_file)
    return float((model(images).numpy().argmax(axis=1) == labels).mean())


def coordinate(arguments, resolver, folder, summaries):
    """Runs the chief's part: trains, and reports the result."""
    cluster = Cluster(resolver, arguments.cut_exchange)
    with cluster.strategy.scope():
        model = build_model(arguments.seed)
    train(arguments, cluster, model, folder, summaries)
    names = list(digits.initial_parameters(arguments.seed))
    devices = report_parameters(cluster, model, names, folder)
    accuracy = test_accuracy(model, arguments.data)
    run = {"steps": arguments.steps, "seed": arguments.seed, "accuracy": accuracy}
    records.write_run(folder, run | {"read_on": devices})
    print(f"test accuracy: {accuracy:.3f}", flush=True)


def main():
    arguments = parse_arguments()
    tf.get_logger().setLevel("ERROR")  # no warning that each checkpoint traces a function anew
    tf.config.threading.set_intra_op_parallelism_threads(1)
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()  # reads TF_CONFIG
    if resolver.task_type in ("worker", "ps"):
        serve(resolver)
    folder = os.environ["TONY_CHECKPOINT_DIR"]
    summaries = visualization.make_folder(folder)
    with visualization.tensorboard(summaries, os.environ.get("TB_PORT")):
        coordinate(arguments, resolver, folder, summaries)
        time.sleep(arguments.linger_seconds)


if __name__ == "__main__":
    main()
