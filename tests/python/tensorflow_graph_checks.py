"""What holds on each rank in TensorFlow's graphs of several operations, which its ranks begin in other orders, with one
thread for all of a graph's nodes: run by run_checks.py. Where a node waits in TensorFlow's thread, most of these hang.
"""

import numpy as np
import tensorflow as tf

import tony.collective.tensorflow as hvd
from tony.collective.exceptions import InvalidArgumentError, NotInitializedError
from tony.collective.tensorflow import _node

tf.get_logger().setLevel("ERROR")
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.threading.set_intra_op_parallelism_threads(1)

COUNT = 8


def in_function(make):
    """The values of the tensors of make() in a tf.function."""
    return [result.numpy() for result in tf.function(make, autograph=False)()]


def in_session(make):
    """The values of the tensors of make() in a graph of TensorFlow 1."""
    with tf.Graph().as_default():
        results = make()
        config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
        with tf.compat.v1.Session(config=config) as session:
            session.run(tf.compat.v1.global_variables_initializer())
            return session.run(results)


WAYS = (in_function, in_session)


def turned():
    """Places of operations: on each rank in another order."""
    order = [(place + hvd.rank()) % COUNT for place in range(COUNT)]
    return order if hvd.rank() % 2 == 0 else order[::-1]


def each_in_turn(make):
    """[make(0), …], which are made in this rank's order."""
    made = {place: make(place) for place in turned()}
    return [made[place] for place in range(COUNT)]


def expect_all(results, expected):
    """Values of all."""
    for place, result in enumerate(results):
        np.testing.assert_allclose(result, expected(place), err_msg=str(place))


def check_independent_operations():
    size = hvd.size()
    for way in WAYS:
        results = way(lambda: each_in_turn(
            lambda place: hvd.allreduce(tf.fill((3,), float(place)), op=hvd.Sum, name=f"reduce.{place}")))
        expect_all(results, lambda place: np.full(3, place * size))
        results = way(lambda: each_in_turn(
            lambda place: hvd.allgather(tf.fill((hvd.rank() + 1, 2), place), name=f"gather.{place}")))
        expect_all(results, lambda place: np.full((size * (size + 1) // 2, 2), place))
        results = way(lambda: each_in_turn(
            lambda place: hvd.broadcast(tf.constant([place, hvd.rank()]), size - 1, name=f"send.{place}")))
        expect_all(results, lambda place: [place, size - 1])
        results = way(lambda: each_in_turn(lambda place: hvd.grouped_allreduce(
            [tf.constant(1.0 * place), tf.constant(1)], op=hvd.Sum, name=f"group.{place}")[0]))
        expect_all(results, lambda place: place * size)


def check_chains_of_operations():
    """Each chain begins where another rank's chain ends: the first operation of one needs the other's first."""
    def chain(place):
        value = tf.constant([float(place)])
        for link in range(4):
            value = hvd.allreduce(value + 1.0, name=f"chain.{place}.{link}")
        return value

    for way in WAYS:
        expect_all(way(lambda: each_in_turn(chain)), lambda place: [place + 4.0])


def check_gradients():
    def gradient(place):
        given = tf.constant([1.0, float(hvd.rank())])
        with tf.GradientTape() as tape:
            tape.watch(given)
            loss = tf.reduce_sum(hvd.allreduce(given, op=hvd.Sum, name=f"forward.{place}") * float(place))
        return tape.gradient(loss, given)

    # Gradients have no names but those of their tensors, which count up in the order of the program.
    for way in WAYS:
        expect_all(way(lambda: [gradient(place) for place in range(COUNT)]), lambda place: np.full(2, place * hvd.size()))


def check_gradients_of_broadcasts():
    """All ranks take part, though those that are not the root need nothing of it."""
    def gradient():
        given = tf.ones((2, 2))
        with tf.GradientTape() as tape:
            tape.watch(given)
            loss = tf.reduce_sum(hvd.broadcast(given, 0, name="root"))
        return [tape.gradient(loss, given)]

    for way in WAYS:
        expect_all(way(gradient), lambda _: np.full((2, 2), float(hvd.rank() == 0)))


def check_branches_and_loops():
    def branch(place):
        return tf.cond(tf.equal(tf.constant(place) % 2, 0),
                       lambda: hvd.allreduce(tf.constant(float(place)), op=hvd.Sum, name=f"branch.{place}"),
                       lambda: tf.constant(-1.0))

    def loop():
        # The same tensor in each round, so that a round needs nothing of the one before.
        same = tf.constant([1.0])
        return tf.while_loop(lambda count, _: count < 20,
                             lambda count, sums: (count + 1, sums + hvd.allreduce(same, op=hvd.Sum, name="loop")),
                             (tf.constant(0), tf.constant([0.0])), parallel_iterations=10)

    expect_all(in_session(lambda: each_in_turn(branch)), lambda place: place * hvd.size() if place % 2 == 0 else -1)
    # In a tf.function what has an effect in a branch is done in the program's order, which is the same on all ranks.
    expect_all(in_function(lambda: [branch(place) for place in range(COUNT)]),
               lambda place: place * hvd.size() if place % 2 == 0 else -1)
    for way in WAYS:
        count, sums = way(loop)
        assert count == 20 and sums == [20.0 * hvd.size()], (count, sums)


def check_operations_with_one_name():
    """In a function they are done in the program's order, in a session each has a name of its own; and those without a
    name have different ones where they may run at once."""
    def make():
        same = tf.constant([1.0])
        named = [hvd.allreduce(same * float(place), op=hvd.Sum, name="same") for place in range(COUNT)]
        unnamed = [hvd.allreduce(same, op=hvd.Sum) for _ in range(COUNT)]
        inner = [tf.function(lambda x: hvd.allreduce(x, op=hvd.Sum), autograph=False)(same),
                 tf.cond(tf.equal(tf.size(same), 1), lambda: hvd.allreduce(same, op=hvd.Sum), lambda: same)]
        return named + unnamed + inner

    for way in WAYS:
        expect_all(way(make), lambda place: [hvd.size() * float(place if place < COUNT else 1)])


def check_optimizers_and_variables_with_one_name():
    """In a session that does all of them together, as where two networks are trained against each other."""
    def reduced():
        variables = [tf.compat.v1.get_variable(f"weight{place}", initializer=[1.0]) for place in range(COUNT)]
        optimizers = [hvd.DistributedOptimizer(tf.compat.v1.train.GradientDescentOptimizer(1.0)) for _ in variables]
        return [optimizer.compute_gradients(variable * float(place * (hvd.rank() + 1)), [variable])[0][0]
                for place, (optimizer, variable) in enumerate(zip(optimizers, variables))]

    def sent():
        variables = [tf.compat.v1.get_variable(f"v{place}", initializer=[float(place + hvd.rank())])
                     for place in range(COUNT)]
        with tf.control_dependencies([variable.initializer for variable in variables]):
            return [hvd.broadcast_([variable], hvd.size() - 1)[0] for variable in variables]

    expect_all(in_session(reduced), lambda place: [place * (hvd.size() + 1) / 2])
    expect_all(in_session(sent), lambda place: [place + hvd.size() - 1])


def check_variables():
    for way in WAYS:
        def make():
            if way is in_session:
                variables = [tf.compat.v1.get_variable(f"v{place}", initializer=[1.0 * hvd.rank(), place])
                             for place in range(COUNT)]
                with tf.control_dependencies([variable.initializer for variable in variables]):
                    return hvd.broadcast_(variables, hvd.size() - 1)
            return hvd.broadcast_(kept, hvd.size() - 1)

        kept = [tf.Variable([1.0 * hvd.rank(), place]) for place in range(COUNT)]
        expect_all(way(make), lambda place: [hvd.size() - 1, place])


def check_variables_of_a_session():
    with tf.Graph().as_default():
        variables = [tf.compat.v1.get_variable(f"v{place}", initializer=[place * 10.0 + hvd.rank()])
                     for place in range(COUNT)]
        hook = hvd.BroadcastGlobalVariablesHook(hvd.size() - 1)
        with tf.compat.v1.train.MonitoredTrainingSession(hooks=[hook]) as session:
            expect_all(session.run(variables), lambda place: [place * 10.0 + hvd.size() - 1])


def check_operations_whose_result_nobody_wants():
    """They are done, too: also where only some of the ranks want it."""
    @tf.function(autograph=False)
    def one_of_two(x):
        unused = hvd.allreduce(x, op=hvd.Sum, name="unused")
        return x + unused if hvd.rank() == 0 else x

    result = one_of_two(tf.constant([2.0])).numpy()
    np.testing.assert_array_equal(result, [2.0 + 2.0 * hvd.size()] if hvd.rank() == 0 else [2.0])


def check_all_are_under_way_before_the_first_is_done():
    """So they can be fused: here none is done before all have begun."""
    begun = []

    def make():
        def start_of(place):
            def start(arrays):
                begun.append(place)
                return lambda: [arrays[0] + len(wait_for(begun, COUNT)) if place == 0 else arrays[0]]
            return start
        return [_node.add_node(start_of(place), [tf.constant([1.0])], [tf.float32], f"own.{place}")[0] for place in range(COUNT)]

    for way in WAYS:
        begun.clear()
        expect_all(way(make), lambda place: [1.0 + COUNT] if place == 0 else [1.0])


def wait_for(items, count):
    """``items``, once there are so many. TimeoutError."""
    import time
    deadline = time.monotonic() + 60
    while len(items) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"only {items} have begun")
        time.sleep(0.001)
    return items


def check_failures_are_told():
    def fail(error):
        def start(arrays):
            raise error
        return start

    def later(error):
        def start(arrays):
            def wait():
                raise error
            return wait
        return start

    for way in WAYS:
        for make in (fail, later):
            for error, expected in ((ValueError("no such thing"), tf.errors.InvalidArgumentError),
                                    (InvalidArgumentError("ranks differ"), tf.errors.FailedPreconditionError),
                                    (NotInitializedError("not yet"), tf.errors.FailedPreconditionError),
                                    (hvd.HorovodInternalError("rank 1 is gone"), tf.errors.UnknownError)):
                try:
                    way(lambda: _node.add_node(make(error), [tf.constant(1)], [tf.int32], "fails"))
                except expected as told:
                    assert str(error) in str(told) and type(error).__name__ in str(told), told
                else:
                    raise AssertionError(f"no {expected.__name__}")
        try:
            way(lambda: [hvd.broadcast(tf.constant("text"), 0)])
        except (ValueError, tf.errors.InvalidArgumentError) as told:
            assert "not supported" in str(told), told
        else:
            raise AssertionError("a string was sent")
        # Nothing of it is left: the next ones are as ever.
        expect_all(way(lambda: [hvd.allreduce(tf.constant([1.0]))]), lambda _: [1.0])


def check_join():
    for way in WAYS:
        def make():
            reduced = [hvd.allreduce(tf.constant([1.0]), op=hvd.Sum, name=f"before.{place}") for place in range(COUNT)]
            return [*reduced, hvd.join()]

        *reduced, last = way(make)
        expect_all(reduced, lambda _: [hvd.size()])
        assert 0 <= last < hvd.size()
