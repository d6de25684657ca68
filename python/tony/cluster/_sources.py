"""Data of the driver's own process as partitions of a feed: iterables, numpy, pandas, Arrow."""

import itertools
import pickle
import sys
from typing import Any, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _rows

# A partition is sent again if its worker is lost, and is held in memory until then.
_PARTITION_BYTES = 8 << 20
_MOST_ROWS = 1 << 16


class RowsPartition(NamedTuple):
    """Rows of any kind."""

    rows: List[Any]

    @property
    def length(self) -> int:
        """Rows."""
        return len(self.rows)

    def part(self, start: int, end: int) -> "RowsPartition":
        """Some of the rows."""
        return RowsPartition(self.rows[start:end])

    def batches(self, slot_bytes: int) -> Iterator[_rows.Encoded]:
        """As they are sent."""
        return _rows.batches(self.rows, slot_bytes)

    def whole(self) -> _rows.Encoded:
        """All of them as one batch, whatever its size."""
        return _rows.encode(self.rows)


class ArraysPartition(NamedTuple):
    """Columns, as numpy arrays of equal length."""

    layout: _rows.Layout
    arrays: Tuple[Any, ...]

    @property
    def length(self) -> int:
        """Rows."""
        return len(self.arrays[0])

    def part(self, start: int, end: int) -> "ArraysPartition":
        """Some of the rows."""
        return ArraysPartition(self.layout, tuple(values[start:end] for values in self.arrays))

    def batches(self, slot_bytes: int) -> Iterator[_rows.Encoded]:
        """As they are sent."""
        return _rows.array_batches(self.layout, self.arrays, slot_bytes)

    def whole(self) -> _rows.Encoded:
        """All of them as one batch, whatever its size."""
        return _rows.from_columns(self.layout, self.length, [_rows.bytes_of(values) for values in self.arrays])


class ArrowPartition(NamedTuple):
    """A pyarrow.RecordBatch."""

    batch: Any

    @property
    def length(self) -> int:
        """Rows."""
        return int(self.batch.num_rows)

    def part(self, start: int, end: int) -> "ArrowPartition":
        """Some of the rows."""
        return ArrowPartition(self.batch.slice(start, end - start))

    def batches(self, slot_bytes: int) -> Iterator[_rows.Encoded]:
        """As they are sent."""
        from . import _arrow  # pylint: disable=import-outside-toplevel  # needs pyarrow
        return _arrow.batches(self.batch, slot_bytes)

    def whole(self) -> _rows.Encoded:
        """All of them as one batch, whatever its size."""
        from . import _arrow  # pylint: disable=import-outside-toplevel  # needs pyarrow
        return _arrow.encode(self.batch)


Partition = Union[RowsPartition, ArraysPartition, ArrowPartition]


def is_repeatable(data: Any) -> bool:
    """Whether data can be read more than once: an iterator, and Arrow's reader, cannot."""
    return not (hasattr(data, "__next__") or hasattr(data, "read_next_batch"))


def partitions_of(data: Any, workers: int) -> Iterator[Partition]:
    """Data as partitions, which the workers get in turn: of equal size where the number of rows is known.

    data: a numpy array, whose first dimension are the rows; a tuple, or a dict by name, of such arrays; a pandas
    DataFrame; an Arrow table, record batch or reader; an iterable of pandas DataFrames or record batches; or any other
    iterable of rows. Raises TypeError for anything else.
    """
    tabular = _tabular(data, workers)
    if tabular is not None:
        return tabular
    if isinstance(data, (str, bytes)) or not hasattr(data, "__iter__"):
        raise TypeError(f"{type(data).__name__} is no data for a feed: give rows (any iterable), numpy arrays, a "
                        "pandas DataFrame, an Arrow table or reader, an RDD, a DataFrame or a DStream of Spark")
    if isinstance(data, Sequence):
        rows = list(data)
        if rows and not _is_batch(rows[0]):
            return (RowsPartition(rows[start:end]) for start, end in _slices(len(rows), _row_bytes(rows[0]), workers))
    return _from_iterator(iter(data), workers)


def _from_iterator(source: Iterator[Any], workers: int) -> Iterator[Partition]:
    first = list(itertools.islice(source, 1))
    if not first:
        return
    if _is_batch(first[0]):
        for batch in itertools.chain(first, source):
            found = _tabular(batch, workers)
            if found is None:
                raise TypeError(f"a {type(batch).__name__} follows batches of {type(first[0]).__name__}")
            yield from found
        return
    count = max(1, min(_MOST_ROWS, _PARTITION_BYTES // _row_bytes(first[0])))
    rows = first + list(itertools.islice(source, count - 1))
    while rows:
        yield RowsPartition(rows)
        rows = list(itertools.islice(source, count))


def _module_of(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _is_batch(value: Any) -> bool:
    """Whether an item of an iterable is many rows. A numpy array is one."""
    return _module_of(value) in ("pandas", "pyarrow") and hasattr(value, "columns")


def _tabular(data: Any, workers: int) -> Optional[Iterator[Partition]]:
    """Partitions of data with columns; None for anything else."""
    module = _module_of(data)
    if module == "pyarrow":
        return _from_arrow(data, workers)
    if module == "pandas" and hasattr(data, "columns"):
        return _from_pandas(data, workers)
    if _is_array(data):
        return _from_arrays("one", None, (data,), workers)
    if isinstance(data, tuple) and data and all(map(_is_array, data)):
        return _from_arrays("tuple", None, data, workers)
    if isinstance(data, dict) and data and all(map(_is_array, data.values())):
        return _from_arrays("dict", tuple(map(str, data)), tuple(data.values()), workers)
    return None


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray) and value.ndim > 0


def _from_arrays(kind: str, names: Optional[Tuple[str, ...]], arrays: Tuple[Any, ...], workers: int,
                 python: bool = False) -> Iterator[Partition]:
    rows = len(arrays[0])
    if any(len(values) != rows for values in arrays):
        raise ValueError(f"the arrays have {', '.join(str(len(values)) for values in arrays)} rows; give equally many")
    columns = [_rows.array_column(values, python) for values in arrays]
    if any(column is None for column in columns):
        return _from_objects(kind, names, arrays, workers)
    found = tuple(column for column in columns if column is not None)
    return _array_partitions(_rows.Layout(kind, names, found), arrays, workers)


def _array_partitions(layout: _rows.Layout, arrays: Tuple[Any, ...], workers: int) -> Iterator[Partition]:
    width = sum(column.row_bytes for column in layout.columns)
    whole = ArraysPartition(layout, arrays)
    return (whole.part(start, end) for start, end in _slices(len(arrays[0]), width, workers))


def _from_objects(kind: str, names: Optional[Tuple[str, ...]], arrays: Tuple[Any, ...],
                  workers: int) -> Iterator[Partition]:
    """Arrays of text or objects."""
    lists = [values.tolist() for values in arrays]
    if kind == "one":
        rows: List[Any] = lists[0]
    else:
        rows = list(zip(*lists))
    if kind == "dict":
        rows = [dict(zip(names or (), row)) for row in rows]
    return (RowsPartition(rows[start:end]) for start, end in _slices(len(rows), 100, workers))


def _matrix_layout(frame: Any) -> Optional[_rows.Layout]:
    """Of a frame with many columns that are all of one type: one field, as hundreds of them would cost more than
    their numbers. None for other frames."""
    kinds = set(frame.dtypes)
    kind = getattr(kinds.pop(), "str", None) if len(kinds) == 1 else None
    return _rows.wide_layout(kind, tuple(map(str, frame.columns))) if kind else None


def _from_pandas(frame: Any, workers: int) -> Iterator[Partition]:
    numpy = sys.modules["numpy"]
    matrix = _matrix_layout(frame)
    if matrix is not None:
        return _array_partitions(matrix, (frame.to_numpy(),), workers)
    if all(isinstance(kind, numpy.dtype) and kind.kind in "biuf" for kind in frame.dtypes) and len(frame.columns):
        arrays = tuple(frame.iloc[:, index].to_numpy() for index in range(len(frame.columns)))
        return _from_arrays("tuple", tuple(map(str, frame.columns)), arrays, workers, python=True)
    rows = list(frame.itertuples(index=False, name=None))
    return (RowsPartition(rows[start:end]) for start, end in _slices(len(rows), 100, workers))


def _from_arrow(data: Any, workers: int) -> Iterator[Partition]:
    if hasattr(data, "to_batches"):  # a table
        chunks: Iterable[Any] = data.to_batches()
    elif hasattr(data, "num_rows"):
        chunks = [data]
    elif hasattr(data, "read_next_batch"):
        chunks = data
    else:
        raise TypeError(f"{type(data).__name__} of pyarrow is no data for a feed: give a table, record batch or reader")
    return (ArrowPartition(chunk.slice(start, end - start)) for chunk in chunks if chunk.num_rows
            for start, end in _slices(chunk.num_rows, max(1, chunk.nbytes // chunk.num_rows), workers))


def _row_bytes(row: Any) -> int:
    return max(1, len(pickle.dumps(row, protocol=_rows.PROTOCOL)))


def _slices(rows: int, row_bytes: int, workers: int) -> Iterator[Tuple[int, int]]:
    """Begin and end of partitions: a multiple of the number of workers, so that all get the same number of rows."""
    most = max(1, min(_MOST_ROWS, _PARTITION_BYTES // max(1, row_bytes)))
    count = -(-rows // most)
    count = -(-count // workers) * workers
    for index in range(count):
        start, end = index * rows // count, (index + 1) * rows // count
        if end > start:
            yield start, end
