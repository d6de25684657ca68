"""What ranks are told when operations on TensorFlow's tensors fail, at once and in a tf.function: run by
run_checks.py."""

import pickle

import tensorflow as tf

import tony.collective.tensorflow as hvd
from array_checks import expect_error
from tensorflow_checks import WAYS, expect, in_graph
from tony.collective import elastic
from tony.collective.tensorflow import _errors


def tell_apart(way, function, *options):
    """The message on this rank, of HorovodInternalError or TensorFlow's counterpart."""
    try:
        result = way(function)(*options)
    except (hvd.HorovodInternalError, tf.errors.FailedPreconditionError) as error:
        return str(error)
    raise AssertionError(f"{result} instead of an error")


def check_disagreements_are_told():
    last = hvd.size() - 1
    shape = (5,) if hvd.rank() == last else (4,)
    for way in WAYS:
        said = tell_apart(way, lambda x: hvd.allreduce(x, name="weights"), tf.ones(shape))
        assert "tensor 'allreduce.weights'" in said and f"rank {last} float32[5]" in said, said
        expect(way(lambda x: hvd.allreduce(x, name="weights"))(tf.ones(4)), tf.ones(4))
        variable = tf.Variable(tf.zeros(shape), name="kernel")
        said = tell_apart(way, lambda v=variable: hvd.broadcast_variables([v], 0))
        assert "'broadcast.variables.0' (kernel:0)" in said and f"rank {last}" in said, said


def expect_both(kind, code, text, way, function, *options):
    """An error of TensorFlow's of this kind, which at once is a HorovodInternalError with this code, too."""
    error = expect_error(kind, text, way(function), *options)
    if way is in_graph:
        return
    assert isinstance(error, hvd.HorovodInternalError) and error.code == code, (type(error), error.code)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)
    # As Keras says which layer it is of.
    placed = type(error)(error.node_def, error.op, f"in a layer: {error.message}", error.error_code)
    assert str(placed) == f"in a layer: {error}" and isinstance(placed, hvd.HorovodInternalError)


def check_errors_are_tensorflows():
    rank, last = hvd.rank(), hvd.size() - 1
    for way in WAYS:
        wrong = 1 if rank == last else 0
        kind = tf.errors.InvalidArgumentError if wrong else tf.errors.FailedPreconditionError
        for splits in ([2] * last + [2 + wrong], [2] * last + [2 - 3 * wrong]):
            expect_both(kind, "INVALID_ARGUMENT", f"rank {last}", way,
                        lambda x, splits=splits: hvd.alltoall(x, splits), tf.ones((2 * hvd.size(), 3)))
        expect_both(kind, "INVALID_ARGUMENT", "cannot be split evenly", way, hvd.alltoall,
                    tf.ones(hvd.size() + wrong))
        expect_both(tf.errors.FailedPreconditionError, "INVALID_ARGUMENT", "root rank", way,
                    lambda x: hvd.broadcast(x, rank), tf.ones(3))
        expect_both(tf.errors.FailedPreconditionError, "INVALID_ARGUMENT", "alltoall", way, hvd.alltoall,
                    tf.ones((hvd.size(), rank + 1)))
    hvd.shutdown()
    for way in WAYS:
        expect_both(tf.errors.FailedPreconditionError, "FAILED_PRECONDITION", "hvd.init()", way, hvd.allreduce,
                    tf.ones(3))
    hvd.init()
    error = hvd.HorovodInternalError("rank 1 has ended", "ABORTED")
    made = _errors.of_tensorflow(error)
    assert isinstance(made, hvd.HorovodInternalError) and isinstance(made, tf.errors.UnknownError)
    assert made.code == "ABORTED" and str(made) == "rank 1 has ended"


def check_disagreements_end_elastic_training():
    """Another round would not mend them."""
    for way in WAYS:
        reduce = way(lambda x: hvd.allreduce(x, name="step"))
        calls = []

        @elastic.run
        def train(state):
            calls.append(state.step)
            return reduce(tf.ones(hvd.rank() + 1))  # pylint: disable=cell-var-from-loop

        expect_error(tf.errors.FailedPreconditionError, "tensor 'allreduce.step'", train, elastic.ObjectState(step=3))
        assert calls == [3], calls
