"""Rows and frames: how records become a batch's bytes, and records or columns again.

Three encodings. COLUMNS: fields that are numbers of fixed width, flat lists of equally many, numpy arrays of one shape,
or bytes of one length; each field is one array, so that a program can take it as such. PICKLED: any other rows, as a
pickled list. ARROW: a record batch that does not fit the first. A row comes out equal to the one that went in, with the
same Python types.

A COLUMNS payload: u32, the length of the description; the description, JSON; each column, at a multiple of 64 bytes.

    {"row": "one" | "tuple" | "list" | "dict" | "row", "names": null or [NAME…] (of "one": of its numbers),
     "columns": [{"kind": KIND, "type": numpy's type, such as "<f8", "shape": of one row's value}]}

KIND: "py" a Python number; "list", "tuple" of Python numbers; "np" a numpy scalar; "nd" a numpy array; "bytes".
"""

import itertools
import json
import pickle
import struct
import sys
from array import array
from typing import Any, Callable, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import _frames

# The compiled module; None where it is not built for this machine: the same in Python, at five times the cost.
_native: Any = None
try:
    from . import _columns as _native  # type: ignore[attr-defined, no-redef, unused-ignore]
except ImportError:
    pass

PROTOCOL = 5 if sys.version_info >= (3, 8) else 4
_ALIGN = 64
# Tuples with more fields than this are pickled, or are one column if all fields are of one type.
_MOST_FIELDS = 64
_PY_TYPES = {float: "<f8", int: "<i8", bool: "|b1"}
_CODES = {"<f8": "d", "<i8": "q", "|b1": "b"}
# Formats of memoryview.cast().
_FORMATS = {"<f8": "d", "<f4": "f", "<i8": "q", "<u8": "Q", "<i4": "i", "<u4": "I", "<i2": "h", "<u2": "H", "|i1": "b",
            "|u1": "B", "|b1": "?"}
_NUMBERS = "biuf"
# Rows of a batch: of the first one, whose size is not known yet, and at most.
_FIRST_ROWS, _MOST_ROWS = 64, 8192


class Column(NamedTuple):
    """One field of all rows of a batch."""

    kind: str
    type: str
    shape: Tuple[int, ...]

    @property
    def width(self) -> int:
        """Values of a row."""
        width = 1
        for size in self.shape:
            width *= size
        return width

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return int(self.type[2:]) * self.width


class Layout(NamedTuple):
    """The description of a COLUMNS payload."""

    row: str
    names: Optional[Tuple[str, ...]]
    columns: Tuple[Column, ...]

    def encode(self) -> bytes:
        """As it stands in the payload, up to the first column."""
        columns = [column._asdict() for column in self.columns]
        text = json.dumps({"row": self.row, "names": self.names, "columns": columns}, separators=(",", ":")).encode()
        length = 4 + len(text)
        return struct.pack("<I", len(text)) + text + b"\0" * (-length % _ALIGN)


class Encoded(NamedTuple):
    """A batch, ready to be sent."""

    encoding: int
    rows: int
    parts: List[_frames.Bytes]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(memoryview(part).nbytes for part in self.parts)


def _numpy() -> Any:
    """The module if this process has it already: no row is numpy's otherwise."""
    return sys.modules.get("numpy")


def _column_of(value: Any) -> Optional[Column]:
    """What a field looks like whose first value this is; None if it cannot be a column."""
    kind = type(value)
    if kind in _PY_TYPES:
        return Column("py", _PY_TYPES[kind], ())
    if kind in (list, tuple):
        inner = _PY_TYPES.get(type(value[0])) if value else None
        return Column(kind.__name__, inner, (len(value),)) if inner else None
    if kind is bytes:
        return Column("bytes", "|u1", (len(value),)) if value else None
    numpy = _numpy()
    if numpy is None:
        return None
    if kind is numpy.ndarray and value.dtype.kind in _NUMBERS and value.dtype.isnative and value.size:
        return Column("nd", value.dtype.str, tuple(value.shape))
    if isinstance(value, numpy.generic) and value.dtype.kind in _NUMBERS and value.dtype.isnative:
        return Column("np", value.dtype.str, ())
    return None


def _is_row(row: Any) -> bool:
    """Whether it is a Row of Spark's."""
    return isinstance(row, tuple) and type(row).__name__ == "Row" and hasattr(row, "__fields__")


def layout_of(row: Any) -> Optional[Layout]:
    """The layout of rows like this one; None if they are to be pickled."""
    kind = type(row)
    if kind is list or (kind is tuple and len(row) > _MOST_FIELDS):
        column = _column_of(row)
        if column is not None and len(set(map(type, row))) == 1:
            return Layout("one", None, (column,))
    if (kind in (list, tuple) or _is_row(row)) and 0 < len(row) <= _MOST_FIELDS:
        columns = [_column_of(value) for value in row]
        if any(column is None for column in columns):
            return None
        found = tuple(column for column in columns if column is not None)
        if kind in (list, tuple):
            return Layout(kind.__name__, None, found)
        return Layout("row", tuple(row.__fields__), found)
    if kind in (list, tuple, dict):
        return None
    column = _column_of(row)
    return None if column is None else Layout("one", None, (column,))


def _convert(rows: Sequence[Any], field: int, column: Column) -> Optional[_frames.Bytes]:
    """The values of a field as an array's bytes; None if a row does not fit. field: -1: the row itself."""
    if column.kind in ("py", "list", "tuple"):
        width = column.shape[0] if column.shape else -1
        if _native is not None:
            converted: Optional[bytes] = _native.convert(rows, field, column.type[1], width, column.kind == "tuple")
            return converted
        return _convert_numbers(rows, field, column.type, width, column.kind)
    values = rows if field < 0 else [row[field] for row in rows]
    if column.kind == "bytes":
        fits = all(type(value) is bytes and len(value) == column.shape[0] for value in values)
        return b"".join(values) if fits else None
    return _convert_arrays(values, column)


def _convert_numbers(rows: Sequence[Any], field: int, type_name: str, width: int, kind: str) -> Optional[bytes]:
    """As the compiled _columns.convert()."""
    python = {"<f8": float, "<i8": int, "|b1": bool}[type_name]
    values = array(_CODES[type_name])
    try:
        if width < 0:
            taken = rows if field < 0 else [row[field] for row in rows]
            if set(map(type, taken)) != {python}:
                return None
            values.extend(taken)
            return values.tobytes()
        sequence = tuple if kind == "tuple" else list
        for row in rows:
            value = row if field < 0 else row[field]
            if type(value) is not sequence or len(value) != width or set(map(type, value)) != {python}:
                return None
            values.extend(value)
    except OverflowError:  # an int of more than 64 bits
        return None
    return values.tobytes()


def _convert_arrays(values: Sequence[Any], column: Column) -> Optional[_frames.Bytes]:
    numpy = _numpy()
    wanted = numpy.ndarray if column.kind == "nd" else numpy.dtype(column.type).type
    for value in values:
        if type(value) is not wanted or value.dtype.str != column.type or value.shape != column.shape:
            return None
    stacked = numpy.empty((len(values), *column.shape), column.type)
    for index, value in enumerate(values):
        stacked[index] = value
    return bytes_of(stacked)


def bytes_of(stacked: Any) -> memoryview:
    """The bytes of a numpy array in C order, without a copy if it is in that order already."""
    contiguous = _numpy().ascontiguousarray(stacked)
    return memoryview(contiguous.reshape(-1).view("u1"))


def _types_fit(rows: Sequence[Any], layout: Layout) -> bool:
    """Whether all rows are of one type, with the same fields."""
    first = rows[0]
    if len(set(map(type, rows))) != 1:
        return False
    if layout.row in ("tuple", "list"):
        return set(map(len, rows)) == {len(first)}
    if layout.row == "row":
        return all(row.__fields__ == first.__fields__ for row in rows)
    return True


def encode(rows: Sequence[Any]) -> Encoded:
    """A batch of rows, in the best encoding. Raises CannotPickle's reasons as pickle does."""
    layout = layout_of(rows[0])
    if layout is not None and _types_fit(rows, layout):
        columns: List[_frames.Bytes] = []
        for index, column in enumerate(layout.columns):
            data = _convert(rows, -1 if layout.row == "one" else index, column)
            if data is None:
                return pickled(rows)
            columns.append(data)
        return from_columns(layout, len(rows), columns)
    return pickled(rows)


def pickled(rows: Sequence[Any]) -> Encoded:
    """A batch of any rows."""
    return Encoded(_frames.PICKLED, len(rows), [pickle.dumps(list(rows), protocol=PROTOCOL)])


def from_columns(layout: Layout, rows: int, columns: Sequence[_frames.Bytes]) -> Encoded:
    """A batch of columns that are there as bytes."""
    parts: List[_frames.Bytes] = [layout.encode()]
    for data in columns:
        parts.append(data)
        padding = -memoryview(data).nbytes % _ALIGN
        if padding:
            parts.append(b"\0" * padding)
    return Encoded(_frames.COLUMNS, rows, parts)


def batches(rows: Iterable[Any], slot_bytes: int) -> Iterator[Encoded]:
    """Rows as batches that fill slots of this size. Raises FeedError for a row that does not fit into one."""
    source = iter(rows)
    count = _FIRST_ROWS
    while True:
        taken = list(itertools.islice(source, count))
        if not taken:
            return
        size = 0
        for encoded in _fitting(taken, slot_bytes):
            size += encoded.size
            yield encoded
        count = max(1, min(_MOST_ROWS, int(0.95 * slot_bytes * len(taken) / size)))


def _fitting(rows: List[Any], slot_bytes: int) -> Iterator[Encoded]:
    encoded = encode(rows)
    if encoded.size <= slot_bytes:
        yield encoded
    elif len(rows) == 1:
        raise _frames.RowTooLarge(encoded.size, slot_bytes)
    else:
        yield from _fitting(rows[:len(rows) // 2], slot_bytes)
        yield from _fitting(rows[len(rows) // 2:], slot_bytes)


def array_batches(layout: Layout, arrays: Sequence[Any], slot_bytes: int) -> Iterator[Encoded]:
    """Columns that are numpy arrays of equal length, as batches that fill slots of this size."""
    width = sum(column.row_bytes for column in layout.columns)
    room = slot_bytes - len(layout.encode()) - _ALIGN * len(layout.columns)
    step = min(room // max(1, width), (1 << 32) - 1)
    if step < 1:
        raise _frames.RowTooLarge(width, slot_bytes)
    for start in range(0, len(arrays[0]), step):
        pieces = [piece[start:start + step] for piece in arrays]
        yield from_columns(layout, len(pieces[0]), [bytes_of(piece) for piece in pieces])


def wide_layout(type_name: str, names: Tuple[str, ...]) -> Optional[Layout]:
    """Of rows that are tuples of so many numbers of one type; None if they are not one column (layout_of())."""
    if len(names) <= _MOST_FIELDS or type_name not in _FORMATS:
        return None
    return Layout("one", names, (Column("tuple", type_name, (len(names),)),))


def array_column(values: Any, python: bool = False) -> Optional[Column]:
    """The column of a numpy array whose first dimension are the rows; None for one that has no fixed width.

    python: one-dimensional ones come out as Python's numbers.
    """
    if values.dtype.kind not in _NUMBERS or not values.dtype.isnative:
        return None
    if values.ndim > 1:
        return Column("nd", values.dtype.str, tuple(values.shape[1:]))
    return Column("py" if python and values.dtype.str in _FORMATS else "np", values.dtype.str, ())


def split_columns(payload: memoryview, rows: int) -> Tuple[Layout, List[memoryview]]:
    """The layout of a COLUMNS payload, and views of its columns."""
    (length,) = struct.unpack_from("<I", payload)
    header = json.loads(bytes(payload[4:4 + length]))
    names = None if header["names"] is None else tuple(header["names"])
    columns = tuple(Column(column["kind"], column["type"], tuple(column["shape"])) for column in header["columns"])
    offset = 4 + length
    views = []
    for column in columns:
        offset += -offset % _ALIGN
        size = column.row_bytes * rows
        views.append(payload[offset:offset + size])
        offset += size
    if offset > len(payload):
        raise _frames.FeedError(f"a batch of {rows} rows is cut off after {len(payload)} bytes")
    return Layout(header["row"], names, columns), views


def _cast(view: memoryview, type_name: str) -> Any:
    caster: Any = view.cast
    return caster(_FORMATS[type_name])


def _values(column: Column, view: memoryview, rows: int) -> Sequence[Any]:
    """A field of all rows, as Python or numpy values. They do not share the view's memory."""
    if column.kind == "py":
        return list(_cast(view, column.type))
    if column.kind in ("list", "tuple"):
        width = column.width
        flat = _cast(view, column.type)
        parts = [flat[index * width:(index + 1) * width].tolist() for index in range(rows)]
        return parts if column.kind == "list" else [tuple(part) for part in parts]
    if column.kind == "bytes":
        width = column.width
        data = bytes(view)
        return [data[index * width:(index + 1) * width] for index in range(rows)]
    stacked = as_numpy(column, view, rows).copy()
    return list(stacked)  # scalars, or views of the copy


def as_numpy(column: Column, view: memoryview, rows: int) -> Any:
    """A column as a numpy array of shape (rows, *shape), which looks into the view."""
    import numpy  # type: ignore[import-not-found, unused-ignore]  # pylint: disable=import-outside-toplevel
    return numpy.frombuffer(view, column.type).reshape((rows, *column.shape))


def _maker(layout: Layout) -> Callable[[Tuple[Any, ...]], Any]:
    """Makes a row of its fields."""
    if layout.row == "list":
        return list
    if layout.row == "dict":
        names = layout.names or ()
        return lambda fields: dict(zip(names, fields))
    if layout.row == "row":
        return _row_maker(layout.names or ())
    return lambda fields: fields


def _row_maker(names: Tuple[str, ...]) -> Callable[[Tuple[Any, ...]], Any]:
    try:
        from pyspark.sql import Row  # type: ignore[import-not-found, unused-ignore]  # pylint: disable=import-outside-toplevel,import-error
    except ImportError:
        from collections import namedtuple  # pylint: disable=import-outside-toplevel
        plain: Any = namedtuple("Row", names, rename=True)  # type: ignore[misc]
        return lambda fields: plain(*fields)
    named = Row(*names)
    return lambda fields: named(*fields)


def decode(encoding: int, payload: memoryview, rows: int) -> List[Any]:
    """The rows of a batch. They do not share the payload's memory."""
    if encoding == _frames.PICKLED:
        unpickled: List[Any] = pickle.loads(payload)
        return unpickled
    if encoding == _frames.ARROW:
        from . import _arrow  # pylint: disable=import-outside-toplevel  # needs pyarrow
        return _arrow.rows_of(_arrow.read_batch(payload))
    layout, views = split_columns(payload, rows)
    fields = [_values(column, view, rows) for column, view in zip(layout.columns, views)]
    if layout.row == "one":
        return list(fields[0])
    make = _maker(layout)
    together = zip(*fields)
    return list(together) if layout.row == "tuple" else [make(row) for row in together]


# The kind of the rows ("one", "tuple", …), names, and an array of each field.
NumpyColumns = Tuple[str, Optional[Tuple[str, ...]], List[Any]]


def numpy_columns(encoding: int, payload: memoryview, rows: int) -> NumpyColumns:
    """A batch as numpy arrays.

    Arrays of COLUMNS look into the payload. Rows of other encodings are converted by numpy.asarray().
    """
    if encoding == _frames.COLUMNS:
        layout, views = split_columns(payload, rows)
        return layout.row, layout.names, [as_numpy(column, view, rows) for column, view in zip(layout.columns, views)]
    return numpy_of_rows(decode(encoding, payload, rows))


def numpy_of_rows(rows: Sequence[Any]) -> NumpyColumns:
    """As numpy_columns(), for one or more rows that are decoded already."""
    import numpy  # type: ignore[import-not-found, unused-ignore]  # pylint: disable=import-outside-toplevel
    first = rows[0]
    if isinstance(first, dict):
        names = tuple(first)
        return "dict", names, [numpy.asarray([row[name] for row in rows]) for name in names]
    if isinstance(first, (tuple, list)) and (layout_of(first) or Layout("tuple", None, ())).row != "one":
        kind = "row" if _is_row(first) else type(first).__name__
        return kind, getattr(first, "__fields__", None), [numpy.asarray(field) for field in zip(*rows)]
    return "one", None, [numpy.asarray(rows)]


def names_of(encoding: int, payload: memoryview) -> Optional[Tuple[str, ...]]:
    """The names of the fields of a batch; None without names."""
    if encoding == _frames.COLUMNS:
        return split_columns(payload, 0)[0].names
    if encoding == _frames.ARROW:
        from . import _arrow  # pylint: disable=import-outside-toplevel  # needs pyarrow
        return tuple(_arrow.read_batch(payload).schema.names)
    return None
