#!/usr/bin/env python3
"""TFRecord files and tf.train.Example of tony.cluster, against TensorFlow 2.15's bytes; and where rows come from."""

import io
import unittest
from unittest import mock

from tony.cluster import _example, _frames, _rows, _sources, _tfrecord
from tony.cluster._example import BYTES, FLOAT, INT64, Feature

try:
    import numpy
except ImportError:
    numpy = None

# tf.io.TFRecordWriter().write(b"hello"), and Example.SerializeToString(deterministic=True).
HELLO = bytes.fromhex("0500000000000000eab2043e68656c6c6fbb1f1c19")
EXAMPLE = bytes.fromhex("0a3d0a160a016112111a0f0a0d01feffffffffffffffff01ac020a0d0a0162120812060a040000c03f0a0d0a"
                        "016312080a060a01780a01ff0a050a01641200")
FEATURES = {"a": Feature(INT64, [1, -2, 300]), "b": Feature(FLOAT, [1.5]), "c": Feature(BYTES, [b"x", b"\xff"]),
            "d": Feature(0, [])}


class TfrecordTest(unittest.TestCase):
    """Files of records."""

    def check(self):
        """Known bytes."""
        file = io.BytesIO()
        _tfrecord.write_record(file, b"hello")
        self.assertEqual(file.getvalue(), HELLO)
        self.assertEqual(list(_tfrecord.read_records(HELLO + HELLO, "f")), [b"hello"] * 2)
        self.assertEqual(_tfrecord.crc32c(b"123456789"), 0xE3069283)

    def test_with_and_without_the_compiled_module(self):
        self.check()
        with mock.patch.object(_rows, "_native", None):
            self.check()

    def test_damaged_files(self):
        for data, text in ((HELLO[:5], "cut off at byte 0, within a record's length"), (HELLO[:-1], "cut off within"),
                           (b"\1" + HELLO[1:], "f is no TFRecord file"),
                           (HELLO[:12] + b"j" + HELLO[13:], "wrong checksum")):
            with self.assertRaisesRegex(_tfrecord.BadRecord, text):
                list(_tfrecord.read_records(data, "f"))


class ExampleTest(unittest.TestCase):
    """tf.train.Example."""

    def test_known_bytes(self):
        self.assertEqual(_example.encode(FEATURES), EXAMPLE)
        self.assertEqual(_example.decode(EXAMPLE), FEATURES)

    def test_numbers_that_are_not_packed(self):
        # Feature { int64_list { value: 7 value: -1 } } with a tag for each value.
        numbers = b"\x08\x07\x08" + b"\xff" * 9 + b"\x01"
        entry = b"\x0a\x01a\x12" + bytes([len(numbers) + 2, 0x1A, len(numbers)]) + numbers
        message = b"\x0a" + bytes([len(entry) + 2, 0x0A, len(entry)]) + entry
        self.assertEqual(_example.decode(message), {"a": Feature(INT64, [7, -1])})

    def test_other_bytes(self):
        for data in (EXAMPLE[:-3], b"\x0a\xff", b"\xff" * 20, b"\x0f"):
            with self.assertRaises(_example.BadExample):
                _example.decode(data)


class SourcesTest(unittest.TestCase):
    """Data of the driver as partitions and batches."""

    def rows_of(self, data, workers=2, slot_bytes=1 << 16):
        """The rows of each partition, decoded; every batch fits into its slot."""
        partitions = []
        for partition in _sources.partitions_of(data, workers):
            rows = []
            for encoded in partition.batches(slot_bytes):
                self.assertLessEqual(encoded.size, slot_bytes)
                payload = memoryview(b"".join(bytes(part) for part in encoded.parts))
                rows += _rows.decode(encoded.encoding, payload, encoded.rows)
            partitions.append(rows)
        return partitions

    def test_equal_partitions_where_the_length_is_known(self):
        rows = [(float(number), number) for number in range(100001)]
        partitions = self.rows_of(rows)
        self.assertEqual(len(partitions) % 2, 0)
        self.assertLessEqual(max(map(len, partitions)) - min(map(len, partitions)), 1)
        self.assertEqual([row for part in partitions for row in part], rows)

    def test_iterators(self):
        rows = [(str(number), None) for number in range(1000)]
        self.assertEqual(self.rows_of(iter(rows)), [rows])
        self.assertEqual(self.rows_of(iter([])), [])
        self.assertEqual(self.rows_of([]), [])
        self.assertFalse(_sources.is_repeatable(iter(rows)))
        self.assertTrue(_sources.is_repeatable(rows))

    def test_what_is_no_data(self):
        for data in (5, "text", b"bytes", None):
            with self.assertRaisesRegex(TypeError, "is no data for a feed: give rows"):
                _sources.partitions_of(data, 1)

    def test_a_row_that_is_too_large(self):
        with self.assertRaisesRegex(_frames.FeedError, "does not fit into a slot of 1000; set tony.feed.buffer"):
            self.rows_of([1, "x" * 2000], slot_bytes=1000)

    @unittest.skipIf(numpy is None, "without numpy")
    def test_arrays(self):
        images, labels = numpy.arange(60000, dtype="f4").reshape(20000, 3), numpy.arange(20000)
        rows = [row for part in self.rows_of((images, labels), 3) for row in part]
        self.assertEqual([(image.tolist(), label) for image, label in rows[:2]], [([0, 1, 2], 0), ([3, 4, 5], 1)])
        self.assertEqual((len(rows), rows[0][0].dtype, type(rows[0][1])), (20000, images.dtype, numpy.int64))
        self.assertEqual(sum(self.rows_of({"x": labels[:3]}), [])[2], {"x": 2})
        self.assertEqual(sum(self.rows_of(numpy.array(["a", "b"])), []), ["a", "b"])
        with self.assertRaisesRegex(ValueError, "the arrays have 3, 4 rows"):
            self.rows_of((labels[:3], labels[:4]))
        with self.assertRaisesRegex(_frames.FeedError, "a row of 12 bytes does not fit"):
            self.rows_of(images, slot_bytes=100)


if __name__ == "__main__":
    unittest.main()
