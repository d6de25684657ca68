"""Arrow's record batches and the feed's encodings. Only this module imports pyarrow."""

from typing import Any, Iterator, List, Optional, Sequence, Tuple

import pyarrow as pa  # type: ignore[import-not-found, import-untyped, unused-ignore]  # pylint: disable=import-error
import pyarrow.compute as pc  # type: ignore[import-not-found, import-untyped, unused-ignore]  # pylint: disable=import-error

from . import _frames, _rows

_NUMBERS = {pa.float32(): "<f4", pa.float64(): "<f8", pa.int8(): "|i1", pa.uint8(): "|u1", pa.int16(): "<i2",
            pa.uint16(): "<u2", pa.int32(): "<i4", pa.uint32(): "<u4", pa.int64(): "<i8", pa.uint64(): "<u8"}


def encode(batch: Any) -> _rows.Encoded:
    """A RecordBatch with one or more rows: COLUMNS where all fields fit it, else ARROW. Its rows are tuples."""
    columns, data = [], []
    for field in batch.columns:
        found = _column(field)
        if found is None:
            return _rows.Encoded(_frames.ARROW, batch.num_rows, [memoryview(_serialized(batch))])
        columns.append(found[0])
        data.append(found[1])
    layout = _rows.Layout("tuple", tuple(batch.schema.names), tuple(columns))
    return _rows.from_columns(layout, batch.num_rows, data)


def _serialized(batch: Any) -> Any:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def _column(values: Any) -> Optional[Tuple[_rows.Column, memoryview]]:
    """A field as a column; None if it has nulls, or is neither numbers, equally long lists of them nor equal bytes."""
    if values.null_count:
        return None
    kind = values.type
    if kind in _NUMBERS:
        return _rows.Column("py", _NUMBERS[kind], ()), _numbers(values)
    if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        flat = values.flatten()
        if kind.value_type not in _NUMBERS or flat.null_count or len(flat) % len(values) or len(flat) == 0:
            return None
        width = len(flat) // len(values)
        if not pa.types.is_fixed_size_list(kind) and not _equally_long(values, width):
            return None
        return _rows.Column("list", _NUMBERS[kind.value_type], (width,)), _numbers(flat)
    if pa.types.is_binary(kind):
        return _binary(values)
    return None


def _equally_long(values: Any, width: int) -> bool:
    lengths = pc.min_max(pc.list_value_length(values)).as_py()
    return bool(lengths["min"] == width == lengths["max"])


def _numbers(values: Any) -> memoryview:
    size = values.type.bit_width // 8
    return memoryview(values.buffers()[1])[values.offset * size:(values.offset + len(values)) * size]


def _binary(values: Any) -> Optional[Tuple[_rows.Column, memoryview]]:
    lengths = pc.min_max(pc.binary_length(values)).as_py()
    if lengths["min"] != lengths["max"] or not lengths["min"]:
        return None
    width = lengths["min"]
    offsets = memoryview(values.buffers()[1]).cast("i")
    start = offsets[values.offset]
    return (_rows.Column("bytes", "|u1", (width,)),
            memoryview(values.buffers()[2])[start:start + width * len(values)])


def read_batch(payload: memoryview) -> Any:
    """The RecordBatch of an ARROW payload. It does not share the payload's memory."""
    with pa.ipc.open_stream(pa.py_buffer(bytes(payload))) as reader:
        return reader.read_next_batch()


def rows_of(batch: Any) -> List[Any]:
    """The rows of a RecordBatch, as tuples of Python values."""
    return list(zip(*(column.to_pylist() for column in batch.columns)))


def batch_of_rows(rows: Sequence[Any]) -> Any:
    """A RecordBatch of one or more rows, whose fields are called f0, f1, … unless the rows know their names."""
    first = rows[0]
    if isinstance(first, dict):
        return pa.RecordBatch.from_pylist(list(rows))
    if not isinstance(first, (tuple, list)) or (isinstance(first, list) and _rows.layout_of(first) is not None
                                                and _rows.layout_of(first).row == "one"):  # type: ignore[union-attr]
        return pa.RecordBatch.from_arrays([pa.array(rows)], ["f0"])
    names = getattr(first, "__fields__", None) or [f"f{index}" for index in range(len(first))]
    return pa.RecordBatch.from_arrays([pa.array(field) for field in zip(*rows)], names=list(names))


def batch_of(encoding: int, payload: memoryview, rows: int) -> Any:
    """A batch of the feed as a RecordBatch. It does not share the payload's memory."""
    if encoding == _frames.ARROW:
        return read_batch(payload)
    if encoding == _frames.PICKLED:
        return batch_of_rows(_rows.decode(encoding, payload, rows))
    layout, views = _rows.split_columns(payload, rows)
    names = layout.names or tuple(f"f{index}" for index in range(len(views)))
    if len(names) > len(views):  # a wide table, which travels as one column
        (matrix,) = _rows.numpy_columns(encoding, payload, rows)[2]
        return pa.RecordBatch.from_arrays([pa.array(field.copy()) for field in matrix.T], names=list(names))
    arrays = [_array(column, view, rows) for column, view in zip(layout.columns, views)]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


_TYPES = {name: kind for kind, name in _NUMBERS.items()}


def _array(column: _rows.Column, view: memoryview, rows: int) -> Any:
    buffer = pa.py_buffer(bytes(view))
    if column.kind == "bytes":
        return pa.Array.from_buffers(pa.binary(column.width), rows, [None, buffer]).cast(pa.binary())
    if column.type == "|b1":
        flat = pa.array(view.cast("?").tolist())
    else:
        flat = pa.Array.from_buffers(_TYPES[column.type], rows * column.width, [None, buffer])
    return pa.FixedSizeListArray.from_arrays(flat, column.width) if column.shape else flat


def count_batch(name: str, count: int) -> Any:
    """A RecordBatch of one row, a number."""
    return pa.RecordBatch.from_arrays([pa.array([count], pa.int64())], [name])


def batches(batch: Any, slot_bytes: int) -> Iterator[_rows.Encoded]:
    """A RecordBatch as batches that fit into slots of this size. Raises FeedError for a row that does not."""
    if batch.num_rows == 0:
        return
    encoded = encode(batch)
    if encoded.size <= slot_bytes:
        yield encoded
        return
    if batch.num_rows == 1:
        raise _frames.RowTooLarge(encoded.size, slot_bytes)
    step = max(1, min(batch.num_rows // 2, int(0.9 * slot_bytes * batch.num_rows / encoded.size)))
    for start in range(0, batch.num_rows, step):
        yield from batches(batch.slice(start, step), slot_bytes)
