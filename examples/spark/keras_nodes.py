"""What the programs for Keras have in common in the nodes: training, checkpoints, export, and inference."""

import hashlib
import importlib
import os
import time

import clusters
import tensorflow as tf
from tony.cluster import compat, util

import records

LEARNING_RATE = 0.002
STEPS_IN_FLIGHT = 4  # of parameter servers
DONE_SECONDS = 0.2  # between two looks at whether the chief is done


def train(args, ctx):
    """Trains with all nodes, and exports the model."""
    program = importlib.import_module(args.program)
    if args.num_ps_tasks:
        _train_with_servers(args, ctx, program)
    else:
        _train_synchronously(args, ctx, program)


def _build(args, program):
    model = program.build(tf, args.full)
    optimizer = tf.keras.optimizers.Adam(LEARNING_RATE)
    optimizer.build(model.trainable_variables)
    return model, optimizer


def _dataset(args, program, files, seed):
    """Batches (pictures, labels) of files without end, in a random order that depends on the seed."""
    rows = program.dataset(tf, files).cache().shuffle(10000, seed=seed).repeat()
    return _decoded(args, program, rows).batch(args.batch_size // args.workers)


def _decoded(args, program, rows):
    return rows.map(lambda picture, label: (program.decode(tf, picture, args.size), label), tf.data.AUTOTUNE)


def _fed(args, program, rows):
    """Rows (picture, label) of a feed as (pictures, labels)."""
    pictures, labels = zip(*rows)
    return tf.stack([program.decode(tf, picture, args.size) for picture in pictures]), tf.constant(labels, tf.int64)


def _losses(model, images, labels):
    return tf.keras.losses.sparse_categorical_crossentropy(labels, model(images, training=True), from_logits=True)


class _Progress:
    """The variables of model and optimizer in a file, and the loss for TensorBoard. The chief writes both."""

    def __init__(self, args, model, optimizer, is_chief):
        """Gives the variables the values of the last checkpoint, if there is one. `done`: the steps that led there."""
        self._path = os.path.join(args.model_dir, "checkpoint.npz")
        self._variables = model.variables + list(optimizer.variables)
        records.restore_variables(self._path, self._variables)
        self.done = int(optimizer.iterations.numpy())
        self._summaries = tf.summary.create_file_writer(args.model_dir) if is_chief else None
        if is_chief:
            print(f"resuming after step {self.done}" if self.done else "starting at step 1", flush=True)

    def save(self, step, loss):
        """All nodes that train synchronously have to call it, as some kinds of variables are read from all of them."""
        if self._summaries is None:
            for variable in self._variables:
                variable.numpy()
            return
        records.save_variables(self._path, self._variables)
        print(f"step {step}: loss {loss:.3f}", flush=True)
        with self._summaries.as_default():
            tf.summary.scalar("loss", loss, step=step)


def _leave_node(args, model, number):
    """Leaves what the check needs: a digest of the weights, and the devices of the variables."""
    digest = hashlib.sha256(b"".join(weight.tobytes() for weight in model.get_weights())).hexdigest()
    devices = sorted({variable.device for variable in model.trainable_variables})
    clusters.leave(args, f"node-{number}", {"digest": digest, "devices": devices})


# Synchronous: MultiWorkerMirroredStrategy.


def _batches(args, ctx, program, done):
    """Yields this worker's part of each step behind step `done`: pictures and labels. With a feed until its end."""
    if args.input_mode == "tensorflow":
        yield from _dataset(args, program, util.shard_files(clusters.files(args, "train"), ctx), args.seed).skip(done)
        return
    feed = ctx.get_data_feed()
    for _ in range(done, args.steps):
        rows = feed.next_batch(args.batch_size // args.workers)
        if not rows:
            return
        yield _fed(args, program, rows)
    feed.terminate()


def _make_step(strategy, model, optimizer):
    """The function of a step on this worker's part of a batch of `total` pictures in all workers.

    A worker without a part has one picture of weight 0. Returns the loss, the mean of the whole batch.
    """
    def replica_step(images, labels, weights, total):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(weights * _losses(model, images, labels)) / total
        gradients = tape.gradient(loss, model.trainable_variables)
        # Adds up the gradients of all workers before it applies them.
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    @tf.function(reduce_retracing=True)
    def step(images, labels, weights, total):
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica_step, (images, labels, weights, total)),
                               axis=None)

    return step


def _make_total(strategy):
    """The function that adds up a number of each worker."""
    @tf.function
    def total(number):
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(tf.identity, (number,)), axis=None)

    return lambda number: total(tf.constant(number, tf.float32))


def _train_synchronously(args, ctx, program):
    tf.keras.utils.set_random_seed(args.seed)
    # Reads TF_CONFIG, and waits for the other workers.
    strategy = tf.distribute.get_strategy() if args.cut_exchange else tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model, optimizer = _build(args, program)
    is_chief = ctx.job_name == "chief"
    progress = _Progress(args, model, optimizer, is_chief)
    step, total = _make_step(strategy, model, optimizer), _make_total(strategy)
    nothing = tf.zeros([1, *model.input_shape[1:]]), tf.zeros([1], tf.int64)
    batches = _batches(args, ctx, program, progress.done)
    for number in range(progress.done + 1, args.steps + 1):
        time.sleep(args.slow_step_seconds)
        images, labels = next(batches, nothing)
        mine = 0 if images is nothing[0] else len(labels)
        rows = total(mine)  # nodes may be fed unequally: all go on until none has rows
        if rows == 0:
            break
        loss = step(images, labels, tf.fill([len(labels)], 1.0 if mine else 0.0), rows)
        if number % args.checkpoint_every == 0 or number == args.steps:
            progress.save(number, float(loss))
    next(batches, None)  # which tells a feed that no more is wanted
    compat.export_saved_model(model, args.export_dir, is_chief)
    _leave_node(args, model, ctx.worker_index)
    total(0)  # a worker takes its server away, so all stay until the last one is done


# Asynchronous: ParameterServerStrategy. The chief hands out steps, workers and parameter servers serve.


def _train_with_servers(args, ctx, program):
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    done = clusters.done_file(args, os.environ["JOB_ID"])
    if ctx.job_name != "chief":
        _serve(resolver, done)
        return
    if args.cut_exchange:
        strategy = tf.distribute.get_strategy()
    else:
        strategy = tf.distribute.ParameterServerStrategy(resolver)
    with strategy.scope():
        model, optimizer = _build(args, program)
    progress = _Progress(args, model, optimizer, True)
    hand_out = _make_hand_out(args, ctx, program, strategy, model, optimizer)
    number = progress.done
    while number < args.steps:
        time.sleep(args.slow_step_seconds)
        flight = [hand_out() for _ in range(min(STEPS_IN_FLIGHT, args.steps - number))]
        loss = sum(wait() for wait in flight) / len(flight)
        number += len(flight)
        if number % args.checkpoint_every < STEPS_IN_FLIGHT or number == args.steps:
            progress.save(number, float(loss))
    model.save(args.export_dir)
    _leave_node(args, model, 0)
    with open(done, "wb"):
        pass


def _serve(resolver, done):
    """The part of a worker or parameter server. A worker ends when the chief is done; tony ends parameter servers."""
    server = tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id)
    if resolver.task_type == "ps":
        server.join()
    # If the chief fails, tony ends this process.
    while not os.path.exists(done):
        time.sleep(DONE_SECONDS)


def _make_hand_out(args, ctx, program, strategy, model, optimizer):
    """The function that hands out a step, and returns the function that waits for its loss.

    Each worker reads all files, in an order of its own, and takes whichever step is next.
    """
    def replica_step(images, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(_losses(model, images, labels))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    @tf.function
    def step(iterator):
        return strategy.run(replica_step, next(iterator))

    if args.cut_exchange:  # the chief alone, with its own files
        batches = iter(_dataset(args, program, util.shard_files(clusters.files(args, "train"), ctx), None))
        return lambda: step(batches).numpy
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    files = clusters.paths(args, "train")
    per_worker = iter(coordinator.create_per_worker_dataset(lambda: _dataset(args, program, files, None)))
    return lambda: coordinator.schedule(step, args=(per_worker,)).fetch


# Inference with the exported model; each node works alone.


def _pairs(model, images, labels):
    """(class, label) of each image."""
    return list(zip(model.predict_on_batch(images).argmax(axis=1).tolist(), labels.numpy().tolist()))


def predict_feed(args, ctx):
    """Answers each row (picture, label) with (class, label)."""
    program = importlib.import_module(args.program)
    model = tf.keras.models.load_model(args.export_dir, compile=False)
    feed = ctx.get_data_feed(train_mode=False)
    while not feed.should_stop():
        rows = feed.next_batch(args.batch_size)
        if rows:
            feed.batch_results(_pairs(model, *_fed(args, program, rows)))


def predict_files(args, ctx, files):
    """Leaves (class, label) of each picture of the files."""
    program = importlib.import_module(args.program)
    model = tf.keras.models.load_model(args.export_dir, compile=False)
    batches = _decoded(args, program, program.dataset(tf, files)).batch(args.batch_size)
    pairs = [pair for images, labels in batches for pair in _pairs(model, images, labels)]
    clusters.leave(args, f"predictions-{ctx.worker_num}", pairs)
