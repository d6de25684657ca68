"""Checks on each rank for TensorFlow's tensors, in eager mode and in a tf.function: run by run_checks.py."""

import importlib
import inspect

import numpy as np
import tensorflow as tf

import tony.collective.tensorflow as hvd
from array_checks import everybody, expect_error

tf.get_logger().setLevel("ERROR")  # it warns of functions that are traced often

TYPES = (tf.uint8, tf.int8, tf.uint16, tf.int16, tf.uint32, tf.int32, tf.uint64, tf.int64, tf.float16, tf.bfloat16,
         tf.float32, tf.float64)


def at_once(function):
    """As it is."""
    return function


def in_graph(function):
    """The results in a tf.function, which is traced once."""
    return tf.function(function, autograph=False)


WAYS = (at_once, in_graph)


def expect(actual, expected):
    """The same type, shape and values."""
    expected = tf.convert_to_tensor(expected)
    assert actual.dtype == expected.dtype, f"{actual.dtype} instead of {expected.dtype}"
    assert actual.shape == expected.shape, f"{actual.shape} instead of {expected.shape}"
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))


def numbers(dtype, rank=None, rows=5):
    """A rank's numbers."""
    rank = hvd.rank() if rank is None else rank
    return tf.cast(tf.reshape(tf.range(3 * rows), (rows, 3)) % 5 + rank + 1, dtype)


def total(make):
    """The sum of make(rank) of all ranks, of the same type."""
    return sum(np.asarray(make(rank)) for rank in range(hvd.size()))


def check_allreduce_of_each_type():
    for way in WAYS:
        for dtype in TYPES:
            given = numbers(dtype)
            expect(way(lambda x: hvd.allreduce(x, op=hvd.Sum))(given),
                   total(lambda rank, dtype=dtype: numbers(dtype, rank)))
            expect(way(lambda x: hvd.allreduce(x, op=hvd.Max))(given), numbers(dtype, hvd.size() - 1))
            expect(given, numbers(dtype))
        expect(way(lambda x: hvd.allreduce(x, op=hvd.Min))(tf.constant([True, hvd.rank() == 0])),
               tf.constant([True, hvd.size() == 1]))


def check_average_and_factors():
    size = hvd.size()
    for way in WAYS:
        given = tf.fill((4,), float(hvd.rank()))
        expect(way(hvd.allreduce)(given), tf.fill((4,), (size - 1) / 2))
        expect(way(lambda x: hvd.allreduce(x, average=False, prescale_factor=0.5, postscale_factor=4.0))(given),
               tf.fill((4,), size * (size - 1.0)))
        same = tf.constant([3.0, 4.0])
        np.testing.assert_allclose(way(lambda x: hvd.allreduce(x, op=hvd.Adasum))(same), same, rtol=1e-6)
    expect_error(ValueError, "supersedes", hvd.allreduce, tf.ones(3), average=True, op=hvd.Sum)


def check_shapes_and_variables():
    for way in WAYS:
        for shape in ((), (0,), (0, 3), (1,), (2, 3, 4), (1 << 18,)):
            result = way(lambda x: hvd.allreduce(x, op=hvd.Sum))(tf.ones(shape))
            expect(result, tf.fill(shape, float(hvd.size())))
    variable = tf.Variable([1.0, hvd.rank()])
    expect(hvd.allreduce(variable, op=hvd.Sum), [hvd.size(), sum(range(hvd.size())) + 0.0])
    expect(tf.function(lambda: hvd.allreduce(variable, op=hvd.Max))(), [1.0, hvd.size() - 1.0])
    expect(variable, [1.0, hvd.rank()])
    unknown = tf.function(lambda x: hvd.allreduce(x, op=hvd.Sum), input_signature=[tf.TensorSpec((None, 2))])
    for rows in (3, 0, 7):
        expect(unknown(tf.ones((rows, 2))), tf.fill((rows, 2), float(hvd.size())))


def check_memory_is_read_where_it_lies():
    from tony.collective.tensorflow import _tensors
    given = tf.random.uniform((1000,))
    address = np.asarray(given).__array_interface__["data"][0]
    assert _tensors.EagerTensors.pointer(_tensors.EagerTensors.host(given)) == address
    new = _tensors.EagerTensors.empty_like(_tensors.EagerTensors.host(given))
    result = _tensors.EagerTensors.returned(given, new, False)
    assert np.asarray(result).__array_interface__["data"][0] == _tensors.EagerTensors.pointer(new)
    for dtype in (np.float32, np.uint8, np.float64):
        aligned = _tensors.GraphArrays.empty_like(np.zeros((7, 3), dtype))
        assert aligned.__array_interface__["data"][0] % 64 == 0 and aligned.flags.c_contiguous


def check_shapes_are_known_in_graphs():
    seen = []

    @tf.function
    def look(x):
        made, received = hvd.alltoall(x, splits=[1] * hvd.size())
        seen.extend(each.shape.as_list() for each in (
            hvd.allreduce(x), hvd.allgather(x), hvd.broadcast(x, 0), hvd.reducescatter(x), made, received,
            *hvd.grouped_allreduce([x, x[0]])))
        return hvd.allreduce(x)

    look(tf.ones((hvd.size(), 2)))
    size = hvd.size()
    assert seen == [[size, 2], [None, 2], [size, 2], [None, 2], [None, 2], [size], [size, 2], [2]], seen


def check_groups():
    for way in WAYS:
        def grouped(*tensors):
            return hvd.grouped_allreduce(tensors, op=hvd.Sum)
        given = [tf.fill((number + 1,), float(hvd.rank())) for number in range(4)] + [tf.constant([7, hvd.rank()])]
        for number, result in enumerate(way(grouped)(*given)):
            expect(result, total(lambda rank, number=number: np.full(number + 1, rank, np.float32) if number < 4 else
                                 np.array([7, rank], np.int32)))
        gathered = way(lambda *tensors: hvd.grouped_allgather(tensors))(given[0], given[1])
        for number, result in enumerate(gathered):
            expect(result, np.concatenate(everybody(lambda rank, number=number: np.full(number + 1, rank, "f4"))))
    assert hvd.grouped_allreduce([]) == [] and hvd.grouped_allgather([]) == []


def check_compression():
    for way in WAYS:
        for compression, error in ((hvd.Compression.fp16, 2e-3), (hvd.Compression.bf16, 2e-2)):
            given = tf.linspace(0.0, 1.0, 10)
            result = way(lambda x, c=compression: hvd.allreduce(x, op=hvd.Sum, compression=c))(given)
            assert result.dtype == tf.float32
            np.testing.assert_allclose(result, hvd.size() * given.numpy(), rtol=error, atol=error)
            expect(way(lambda x, c=compression: hvd.allreduce(x, op=hvd.Max, compression=c))(tf.range(3)), tf.range(3))


def check_allgather_of_each_type():
    for way in WAYS:
        for dtype in TYPES + (tf.bool,):
            rows = everybody(lambda rank, dtype=dtype: np.asarray(numbers(dtype, rank, rank + 1)))
            expect(way(hvd.allgather)(numbers(dtype, rows=hvd.rank() + 1)), np.concatenate(rows))
        expect(way(hvd.allgather)(tf.zeros((0, 2))), tf.zeros((0, 2)))


def check_broadcast_of_each_type():
    root = hvd.size() - 1
    for way in WAYS:
        for dtype in TYPES + (tf.bool,):
            expect(way(lambda x: hvd.broadcast(x, root))(numbers(dtype)), numbers(dtype, root))


def check_reducescatter():
    size, rank = hvd.size(), hvd.rank()
    given = tf.reshape(tf.range(2.0 * (2 * size + 1)), (2 * size + 1, 2))
    counts = [3] + [2] * (size - 1)
    first = sum(counts[:rank])
    mine = given[first:first + counts[rank]]
    for way in WAYS:
        expect(way(hvd.reducescatter)(given), mine)
        expect(way(lambda x: hvd.reducescatter(x, op=hvd.Sum))(given), mine * size)
        for result in way(lambda x: hvd.grouped_reducescatter([x, x], op=hvd.Max))(given):
            expect(result, mine)


def check_alltoall():
    size, rank = hvd.size(), hvd.rank()
    splits = [to + 1 for to in range(size)]
    for way in WAYS:
        expect(way(hvd.alltoall)(tf.range(2 * size) + 100 * rank), np.concatenate(
            everybody(lambda other: np.arange(2 * rank, 2 * rank + 2, dtype=np.int32) + 100 * other)))
        for given in (splits, tf.constant(splits), tf.constant(splits, tf.int64)):
            result, received = way(lambda x, given=given: hvd.alltoall(x, splits=given))(
                tf.fill((sum(splits), 2), rank))
            expect(result, np.concatenate(everybody(lambda other: np.full((rank + 1, 2), other, np.int32))))
            expect(received, tf.fill((size,), rank + 1))


def gradient_of(way, function, given):
    """The gradient of the sum of function(given), whose elements are weighted by their positions."""
    def compute(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            results = function(x)
            loss = sum(tf.reduce_sum(result * weights_of(result))
                       for result in (results if isinstance(results, (list, tuple)) else [results])
                       if result.dtype.is_floating)
        return tape.gradient(loss, x)

    return way(compute)(given)


def weights_of(result):
    """This rank's, of the same shape."""
    return tf.cast(tf.reshape(tf.range(tf.size(result)), tf.shape(result)) + hvd.rank(), result.dtype)


def check_gradients():
    size, rank = hvd.size(), hvd.rank()
    given = numbers(tf.float32, rows=2 * size)
    count = 6 * size
    own = np.arange(count, dtype=np.float32).reshape(-1, 3)
    mean = (size - 1) / 2
    for way in WAYS:
        expect(gradient_of(way, lambda x: hvd.allreduce(x, op=hvd.Sum), given), own * size + size * np.float32(mean))
        expect(gradient_of(way, hvd.allreduce, given), own + np.float32(mean))
        for scaled in (hvd.allreduce, lambda x, **more: hvd.grouped_allreduce([x], **more)[0]):
            expect(gradient_of(way, lambda x, f=scaled: f(x, op=hvd.Sum, prescale_factor=0.5), given),
                   (own * size + size * np.float32(mean)) / 2)
        expect(gradient_of(way, lambda x: hvd.broadcast(x, size - 1), given),
               own + np.float32(mean) if rank == size - 1 else own * 0)
        # Rows of the weights of all ranks' rows, averaged.
        all_rows = np.arange(3 * size * 2 * size, dtype=np.float32).reshape(-1, 3) + np.float32(mean)
        expect(gradient_of(way, hvd.allgather, given), all_rows[2 * size * rank:2 * size * (rank + 1)])
        expect(gradient_of(way, lambda x: hvd.grouped_allgather([x, x[:1]]), given)[1:],
               all_rows[2 * size * rank + 1:2 * size * (rank + 1)])
        scattered = np.concatenate(everybody(lambda other: np.arange(6, dtype=np.float32).reshape(2, 3) + other))
        expect(gradient_of(way, hvd.reducescatter, given), scattered)
        expect(gradient_of(way, lambda x: hvd.reducescatter(x, op=hvd.Sum), given), scattered * size)
        expect(gradient_of(way, lambda x: hvd.grouped_reducescatter([x, x], op=hvd.Sum), given), 2 * scattered * size)
        exchanged = np.concatenate(everybody(
            lambda other: np.arange(6 * rank, 6 * rank + 6, dtype=np.float32).reshape(2, 3) + other))
        expect(gradient_of(way, hvd.alltoall, given), exchanged)
        expect(gradient_of(way, lambda x: hvd.alltoall(x, splits=[2] * size)[0], given), exchanged)


def check_gradients_of_half_precision_and_uneven_rows():
    rows = hvd.rank() + 1
    for way in WAYS:
        first = sum(range(hvd.rank() + 1))
        result = gradient_of(way, lambda x: hvd.allgather(x) ** 2, tf.ones((rows, 2), tf.float16))
        expect(result, np.arange(2 * first, 2 * (first + rows)).reshape(rows, 2).astype("f2") * 2 + (hvd.size() - 1))
        compressed = gradient_of(way, lambda x: hvd.allreduce(x, compression=hvd.Compression.fp16), tf.ones(4))
        expect(compressed, tf.range(4.0) + (hvd.size() - 1) / 2)


def check_indexed_slices():
    size = hvd.size()

    def reduced(op):
        slices = tf.IndexedSlices(tf.fill((2, 2), hvd.rank() + 1.0), tf.constant([hvd.rank(), 5]), tf.constant([6, 2]))
        return tf.convert_to_tensor(hvd.allreduce(slices, op=op))

    expected = np.zeros((6, 2), np.float32)
    for rank in range(size):
        expected[rank] += rank + 1
        expected[5] += rank + 1
    for way in WAYS:
        np.testing.assert_allclose(way(lambda: reduced(hvd.Sum))(), expected)
        np.testing.assert_allclose(way(lambda: reduced(hvd.Average))(), expected / size, rtol=1e-6)
    expect_error(NotImplementedError, "Only Sum and Average", reduced, hvd.Max)
    expect_error(NotImplementedError, "sparse_as_dense", reduced, hvd.Adasum)
    mixed = hvd.grouped_allreduce([tf.ones(3), tf.IndexedSlices(tf.ones((1, 2)), [0], [6, 2])], op=hvd.Sum)
    expect(mixed[0], tf.fill((3,), float(size)))
    assert mixed[1].values.shape == (size, 2)


def check_variables_and_objects():
    root = hvd.size() - 1
    for way in WAYS:
        variables = [tf.Variable(tf.fill((2, 3), float(hvd.rank())), name=f"of_{hvd.rank()}"),
                     tf.Variable(hvd.rank(), dtype=tf.int64)]
        assert way(lambda v=variables: hvd.broadcast_variables(v, root))() is None
        expect(variables[0], tf.fill((2, 3), float(root)))
        expect(variables[1], tf.constant(root, tf.int64))
        variables[0].assign_add(tf.fill((2, 3), float(hvd.rank())))
        values = way(lambda v=variables: hvd.broadcast_(v, root))()
        expect(values[0], tf.fill((2, 3), 2.0 * root))
        expect(variables[0], values[0])
    assert hvd.broadcast_object({"rank": hvd.rank()}, root)["rank"] == root
    assert hvd.broadcast_object_fn(root)(hvd.rank()) == root
    assert hvd.allgather_object(hvd.rank()) == list(range(hvd.size()))
    expect_error(RuntimeError, "eager execution", hvd.broadcast_global_variables, 0)


def check_numbers_of_ranks_in_graphs():
    expected = [hvd.size(), hvd.rank(), hvd.local_size(), hvd.local_rank(), 1]
    for way in WAYS:
        result = way(lambda: [hvd.size_op(), hvd.rank_op(), hvd.local_size_op(), hvd.local_rank_op(),
                              hvd.process_set_included_op()])()
        assert [int(each) for each in result] == expected and result[0].dtype == tf.int32, result
    expect_error(ValueError, "process set with id 7", hvd.size_op, 7)


def check_process_sets():
    members = sorted({0, hvd.size() - 1})
    some = hvd.add_process_set(members)
    number = tf.constant([float(hvd.rank() + 1)])
    if hvd.rank() in members:
        for way in WAYS:
            expect(way(lambda x: hvd.allreduce(x, process_set=some))(number), [sum(each + 1.0 for each in members) /
                                                                              len(members)])
            expect(way(lambda x: hvd.allgather(x, process_set=some))(number), [each + 1.0 for each in members])
            expect(way(lambda x: hvd.broadcast(x, hvd.size() - 1, process_set=some))(number), [float(hvd.size())])
            expect(gradient_of(way, lambda x: hvd.allgather(x, process_set=some), number),
                   [some.rank() + sum(members) / len(members)])
            assert [int(each) for each in way(lambda: [hvd.size_op(some.process_set_id), hvd.process_set_included_op(
                some.process_set_id)])()] == [len(members), 1]
    else:
        expect_error(ValueError, "does not belong", hvd.allreduce, number, process_set=some)
        assert int(hvd.process_set_included_op(some.process_set_id)) == 0
    variable = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        result = variable * number[0]
    gradient = hvd.DistributedGradientTape(tape, op=hvd.Sum, process_set=some).gradient(result, variable)
    expect(gradient, sum(each + 1.0 for each in members) if hvd.rank() in members else number[0])
    assert hvd.remove_process_set(some) == (hvd.size() > 2), "that of all ranks stays"


def check_several_operations_of_one_function():
    """In the order of the program on all ranks, also where one needs the other's result, and in a loop."""
    @tf.function
    def several(x):
        independent = [hvd.allreduce(x + number, op=hvd.Sum) for number in range(20)]
        for _ in tf.range(5):
            x = hvd.allreduce(x, op=hvd.Sum) / float(hvd.size())
        first = tf.cond(x[0] >= 0, lambda: hvd.allreduce(x), lambda: x)
        return tf.add_n(independent) + hvd.allreduce(first)

    for _ in range(3):
        expect(several(tf.ones(3)), tf.fill((3,), hvd.size() * (20.0 + 190) + 1))


def check_what_does_not_fit_is_refused_here():
    expect_error(ValueError, "complex64 is not supported", hvd.allreduce, tf.complex([1.0], [1.0]))
    expect_error(ValueError, "not supported", hvd.broadcast, tf.constant("text"), 0)
    expect_error(ValueError, "process_set", hvd.allreduce, tf.ones(3), process_set=7)
    expect_error(ValueError, "op is 5", hvd.allreduce, tf.ones(3), op=5)


def check_join():
    for batch in range(hvd.rank() + 1):
        expect(hvd.allreduce(tf.ones(3), op=hvd.Sum), tf.fill((3,), float(hvd.size() - batch)))
    assert int(hvd.join()) == hvd.size() - 1
    expect(hvd.allreduce(tf.ones(3), op=hvd.Sum), tf.fill((3,), float(hvd.size())))


def check_modules_have_horovods_names():
    for name, functions in {
            "mpi_ops": ("allgather", "broadcast_", "alltoall", "Average", "rank", "size_op", "join", "nccl_built"),
            "functions": ("broadcast_variables", "broadcast_object", "allgather_object"),
            "sync_batch_norm": ("SyncBatchNormalization",), "compression": ("Compression",),
            "util": ("_executing_eagerly",)}.items():
        module = importlib.import_module(f"tony.collective.tensorflow.{name}")
        assert getattr(hvd, name) is module
        for function in functions:
            assert getattr(module, function) is getattr(hvd, function), function
    assert issubclass(hvd.Compression.none, hvd.compression.Compressor)
    variables = [tf.Variable(1.0), [tf.Variable(2.0)]]
    back = hvd.util.refs_to_vars(hvd.util.vars_to_refs(variables))
    assert back[0] is variables[0] and back[1][0] is variables[1][0] and {hvd.util.vars_to_refs(variables)}


def check_all_that_is_there_says_what_it_is():
    for name in hvd.__all__:
        assert inspect.getdoc(getattr(hvd, name)), name
