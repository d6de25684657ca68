#!/usr/bin/env python3
"""Rows of tony.cluster's feed as bytes and back: each encoding, with and without the compiled module."""

import collections
import pickle
import sys
import unittest
from unittest import mock

from tony.cluster import _datafeed, _frames, _rows

try:
    import numpy
except ImportError:
    numpy = None

PICKLED, COLUMNS = _frames.PICKLED, _frames.COLUMNS
Row = collections.namedtuple("Row", "x y")
Row.__fields__ = Row._fields
# Rows of plain Python, and their encoding.
PLAIN = [
    ([([1.0, 2.5], 3), ([4.0, -0.0], 6)], COLUMNS), ([[1.0, 2.0]] * 3, COLUMNS), ([[1, 2.0], [3, 4.0]], COLUMNS),
    ([(True, 1, 2.5)], COLUMNS), ([5, -6, 1 << 62], COLUMNS), ([True, False], COLUMNS), ([1.5, float("inf")], COLUMNS),
    ([(1.0,) * 100] * 2, COLUMNS), ([b"abc", b"def"], COLUMNS), ([((1, 2), b"x")], COLUMNS),
    ([[True, False]], COLUMNS),
    # Ragged, null, nested, too large, of several types, not numbers.
    ([[1, 2], [1]], PICKLED), ([(1.0, None)], PICKLED), ([(1, 2.0), (1, None)], PICKLED), ([[[1.0]]], COLUMNS),
    ([[[[1.0]]]], PICKLED),
    ([1 << 80], PICKLED), ([1, 1 << 64], PICKLED), ([1, 2.0], PICKLED), ([1, True], PICKLED), (["a", "b"], PICKLED),
    ([{"a": 1}], PICKLED), ([None], PICKLED), ([[]], PICKLED), ([()], PICKLED), ([b""], PICKLED),
    ([b"a", b"bc"], PICKLED),
    ([(1, "x")], PICKLED), ([[1.0], (1.0,)], PICKLED), ([(1, 2), (1, 2, 3)], PICKLED),
    ([tuple(range(99)) + (1.0,)], PICKLED),
    ([[1.0, 2.0], [1.0, 2]], PICKLED), ([([1.0],), ([2],)], PICKLED), ([([1.0],), ((2.0,),)], PICKLED)]


def payload_of(encoded):
    """What is sent."""
    return memoryview(b"".join(bytes(part) for part in encoded.parts))


def round_trip(rows):
    """The encoding, and the rows that come out."""
    encoded = _rows.encode(rows)
    assert encoded.rows == len(rows)
    return encoded.encoding, _rows.decode(encoded.encoding, payload_of(encoded), encoded.rows)


class PlainTest(unittest.TestCase):
    """Rows of plain Python types."""

    def check_all(self):
        """repr() also tells 1 from True, and 0.0 from -0.0."""
        for rows, encoding in PLAIN:
            with self.subTest(rows=rows):
                self.assertEqual(repr(round_trip(rows)), repr((encoding, rows)))

    def test_with_the_compiled_module(self):
        if _rows._native is None:  # pylint: disable=protected-access
            self.skipTest("the compiled module is not built")
        self.check_all()

    def test_without_it(self):
        with mock.patch.object(_rows, "_native", None):
            self.check_all()

    def test_rows_of_spark(self):
        rows = [Row([1.0, 2.0], 1), Row([3.0, 4.0], 2)]
        with mock.patch.dict(sys.modules, {"pyspark": None, "pyspark.sql": None}):
            encoding, found = round_trip(rows)
        self.assertEqual(encoding, COLUMNS)
        self.assertEqual([(row.x, row.y) for row in found], [([1.0, 2.0], 1), ([3.0, 4.0], 2)])

    def test_a_batch_that_is_cut_off(self):
        encoded = _rows.encode([([1.0, 2.0], 3)] * 10)
        with self.assertRaisesRegex(_frames.FeedError, "a batch of 10 rows is cut off"):
            _rows.decode(encoded.encoding, payload_of(encoded)[:-70], 10)

    def test_the_compiled_module_refuses_what_it_cannot_take(self):
        if _rows._native is None:  # pylint: disable=protected-access
            self.skipTest("the compiled module is not built")
        convert = _rows._native.convert  # pylint: disable=protected-access
        for arguments in (((), 0, "f", -1, False), ([], 0, "x", -1, False), ([], 0, "", -1, False)):
            with self.assertRaises((TypeError, ValueError)):
                convert(*arguments)
        self.assertEqual(convert([], -1, "f", 784, False), b"")
        self.assertIsNone(convert([(1.0,)], 1, "f", -1, False))
        self.assertIsNone(convert([object()], 0, "f", -1, False))


@unittest.skipIf(numpy is None, "without numpy")
class NumpyTest(unittest.TestCase):
    """Rows and columns of numpy."""

    def assert_same(self, rows, encoding):
        """Values, types and shapes."""
        found, back = round_trip(rows)
        self.assertEqual(found, encoding)
        self.assertEqual(pickle.dumps([repr((type(row), row)) for row in back]),
                         pickle.dumps([repr((type(row), row)) for row in rows]))

    def test_arrays_and_scalars(self):
        self.assert_same([numpy.arange(3.0), numpy.arange(3.0) + 1], COLUMNS)
        self.assert_same([(numpy.float32(1), numpy.ones((2, 2), "i4"), b"abc")] * 2, COLUMNS)
        self.assert_same([numpy.array(["a", None], dtype=object)], PICKLED)
        self.assert_same([numpy.arange(3), numpy.arange(4)], PICKLED)
        self.assert_same([numpy.arange(3), numpy.arange(3.0)], PICKLED)
        self.assert_same([numpy.arange(3, dtype=">i4")], PICKLED)
        self.assert_same([numpy.arange(6).reshape(2, 3).T] * 2, COLUMNS)

    def test_columns_of_each_encoding(self):
        for rows in ([([1.0, 2.0], 3), ([4.0, 5.0], 6)], [([1.0, 2.0], 3), ([4.0, 5.0], 6.0)]):
            encoded = _rows.encode(rows)
            kind, names, columns = _rows.numpy_columns(encoded.encoding, payload_of(encoded), 2)
            self.assertEqual((kind, names, [column.tolist() for column in columns]),
                             ("tuple", None, [[[1.0, 2.0], [4.0, 5.0]], [3, 6]]))
        encoded = _rows.pickled([[1, 2], [3, 4]])
        self.assertEqual(_rows.numpy_columns(encoded.encoding, payload_of(encoded), 2)[2][0].tolist(), [[1, 2], [3, 4]])

    def test_wide_tables_are_one_column(self):
        names = tuple(f"c{index}" for index in range(100))
        matrix = numpy.asfortranarray(numpy.arange(300, dtype="f4").reshape(3, 100))
        layout = _rows.wide_layout("<f4", names)
        (encoded,) = _rows.array_batches(layout, [matrix], 1 << 20)
        rows = _rows.decode(encoded.encoding, payload_of(encoded), 3)
        self.assertEqual(rows, [tuple(row) for row in matrix.tolist()])
        self.assertEqual(_rows.names_of(encoded.encoding, payload_of(encoded)), names)
        (column,) = _rows.numpy_columns(encoded.encoding, payload_of(encoded), 3)[2]
        self.assertTrue((column == matrix).all())
        self.assertIsNone(_rows.wide_layout("<f4", names[:64]))
        self.assertIsNone(_rows.wide_layout("<c8", names))

    def test_pieces_of_a_field_become_one_array(self):
        def joined(most, *pieces):
            gathered = _datafeed._Gathered(most, pieces[0])  # pylint: disable=protected-access
            for piece in pieces:
                gathered.add(piece)
            return gathered.array()
        one, two = numpy.arange(6.0).reshape(3, 2), numpy.arange(4, dtype="i4").reshape(2, 2)
        self.assertEqual(joined(5, one, one[:2]).tolist(), one.tolist() + one[:2].tolist())
        self.assertEqual(joined(9, one).base, None)
        self.assertEqual(joined(9, one, two, one).tolist(), [*one.tolist(), *two.tolist(), *one.tolist()])
        self.assertEqual(joined(1 << 40, one, one).tolist(), one.tolist() * 2)
        self.assertEqual(joined(4, numpy.array(["a"]), numpy.array(["bcd"])).tolist(), ["a", "bcd"])

    def test_without_numpy_in_the_process(self):
        with mock.patch.dict(sys.modules):
            del sys.modules["numpy"]
            self.assertEqual(round_trip([(1, 2.0)]), (COLUMNS, [(1, 2.0)]))


class FramesTest(unittest.TestCase):
    """The header."""

    def test_known_bytes(self):
        self.assertEqual(_frames.header(_frames.BATCH, 300, 5, _frames.COLUMNS),
                         bytes([5, 0, 0, 0, 2, 2, 0, 0, 44, 1, 0, 0, 0, 0, 0, 0]))

    def test_small_parts_are_sent_together(self):
        parts = [b"head", *([b"ab"] * 300), bytes(1 << 17), memoryview(b"xyz"), bytes(1 << 16)]
        pieces = list(_frames._pieces(parts))  # pylint: disable=protected-access
        self.assertEqual(b"".join(pieces), b"".join(parts))
        self.assertEqual([len(piece) for piece in pieces], [604, 1 << 17, 3, 1 << 16])


if __name__ == "__main__":
    unittest.main()
