"""DataFeed: the data that a node is fed, by rows, as arrays, or as a dataset of TensorFlow or PyTorch."""

from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from . import _frames, _rows
from ._reader import Piece, Reader
from .TFManager import TFManager

# More than this is not set aside for rows that have not come yet.
_GATHERED_BYTES = 64 << 20

Arrays = Union[Any, Tuple[Any, ...], Dict[str, Any]]


class DataFeed:
    """A feed of this node. Not thread safe: use it in the thread, and the process, of map_fun.

    mgr: ctx.mgr. train_mode: False for inference, where a batch never has rows of two partitions. qname_in: the feed's
    name, that of TFCluster.train(qname=…). qname_out: without effect; results return on the rows' own way.
    input_mapping: column → name: next_batch() then returns {name: [values]}, by the columns' names if the data have
    names, else by their order: the first field is that of the first column in alphabetical order.
    """

    def __init__(self, mgr: TFManager, train_mode: bool = True, qname_in: str = "input", qname_out: str = "output",
                 input_mapping: Optional[Dict[str, str]] = None) -> None:
        self.mgr = mgr
        self.train_mode = train_mode
        self.qname_in = qname_in
        self.qname_out = qname_out
        self.input_mapping = input_mapping
        self.input_tensors = [name for _, name in sorted((input_mapping or {}).items())] if input_mapping else None

    @property
    def _reader(self) -> Reader:
        """Attached at its first use: a feed that the program does not read is not held open."""
        readers: Dict[str, Reader] = self.mgr.get("readers") or {}
        if self.qname_in not in readers:
            readers[self.qname_in] = Reader(self.qname_in)
            self.mgr.set("readers", readers)
        return readers[self.qname_in]

    @property
    def done_feeding(self) -> bool:
        """As should_stop()."""
        return self.should_stop()

    def should_stop(self) -> bool:
        """Whether the feed has ended, or terminate() was called. The last batch is short or empty."""
        reader = self._reader
        return reader.terminated or (reader.ended and reader.empty)

    def next_batch(self, batch_size: int) -> Union[List[Any], Dict[str, List[Any]]]:
        """Up to `batch_size` rows as they were fed; waits for them.

        Fewer at the end of the feed, and with train_mode=False at the end of a partition; none after terminate().
        Raises FeedError if the feed breaks.
        """
        rows: List[Any] = []
        names: Optional[Tuple[str, ...]] = None
        for piece in self._pieces(batch_size):
            batch = piece.batch
            if batch.decoded is None:
                batch.decoded = _rows.decode(batch.encoding, batch.view, batch.rows)
                if batch.encoding != _frames.PICKLED and self.input_mapping:
                    batch.names = _rows.names_of(batch.encoding, batch.view)
                self._reader.release(batch)
            names = batch.names
            rows += batch.decoded[piece.start:piece.end]
        return rows if self.input_mapping is None else self._mapped(rows, names)

    def next_numpy(self, n: int) -> Optional[Arrays]:
        """Up to `n` rows as numpy arrays, whose first dimension are the rows; None at the end of the feed.

        One array for rows that are one value or one list of numbers, as for tables of more than 64 columns that are of
        one type; else a tuple with an array for each field, or a dict for rows with names. Fewer than n rows as
        next_batch(). The arrays are the caller's own.
        """
        gathered: List[_Gathered] = []
        kind, names = "one", None
        for piece in self._pieces(n):
            kind, names = self._gather(piece, n, gathered)
            # No array looks into the slot any more.
            if piece.batch.decoded is None and piece.batch.left == 0:
                self._reader.release(piece.batch)
        return _shaped(kind, names, [field.array() for field in gathered]) if gathered else None

    def next_arrow_batch(self) -> Any:
        """The next rows as a pyarrow.RecordBatch, as many as one batch of the feed has; None at the end of the feed."""
        piece = self._reader.next_piece(1 << 62)
        if piece is None:
            return None
        from . import _arrow  # pylint: disable=import-outside-toplevel  # needs pyarrow
        batch = piece.batch
        if batch.decoded is not None:
            return _arrow.batch_of_rows(batch.decoded[piece.start:piece.end])
        made = _arrow.batch_of(batch.encoding, batch.view, batch.rows).slice(piece.start)
        self._reader.release(batch)
        return made

    def batch_results(self, results: List[Any]) -> None:
        """Gives the results of rows, one for each, in their order. Raises FeedError for too many of them.

        Too few are an error as soon as rows of the next partition are wanted.
        """
        self._reader.answer(results)

    def terminate(self) -> None:
        """Wants no more data: producers stop, in all nodes. next_batch() then returns [] at once."""
        self.mgr.set("state", "terminating")
        self._reader.terminate()

    def dataset(self, batch_size: int) -> Any:
        """A tf.data.Dataset of whole batches of `batch_size` rows, in the form of next_numpy(). Waits for the first.

        It can be iterated once. The last batch may be smaller.
        """
        import tensorflow as tf  # type: ignore[import-not-found, import-untyped, unused-ignore]  # pylint: disable=import-outside-toplevel,import-error
        first = self.next_numpy(batch_size)
        if first is None:
            return tf.data.Dataset.from_tensor_slices(tf.zeros([0, 0])).batch(batch_size)
        signature = tf.nest.map_structure(lambda array: tf.TensorSpec((None, *array.shape[1:]), array.dtype), first)
        batches = self._batches(first, batch_size)
        return tf.data.Dataset.from_generator(lambda: batches, output_signature=signature)

    def torch(self, batch_size: int) -> Any:
        """An IterableDataset of PyTorch whose items are whole batches, in the form of next_numpy() with tensors.

        Give it to a DataLoader with batch_size=None and no workers, or iterate it as it is, once.
        """
        from . import _torch  # pylint: disable=import-outside-toplevel  # needs PyTorch
        return _torch.batches(self, batch_size)

    def _batches(self, first: Optional[Arrays], batch_size: int) -> Iterator[Arrays]:
        while first is not None:
            yield first
            first = self.next_numpy(batch_size)

    def _pieces(self, most: int) -> Iterator[Piece]:
        """Pieces with `most` rows together, or with what there is until the feed's or the partition's end."""
        if most < 1:
            raise ValueError(f"a batch of {most} rows; give 1 or more")
        reader = self._reader
        while most > 0:
            piece = reader.next_piece(most)
            if piece is None:
                return
            most -= piece.end - piece.start
            yield piece
            if most > 0 and not self.train_mode and reader.partition_ends(piece.batch.partition):
                return

    def _gather(self, piece: Piece, most: int, gathered: List["_Gathered"]) -> Tuple[str, Optional[Tuple[str, ...]]]:
        """Adds the rows of a piece to the fields, which the first one makes. Returns their kind and names."""
        kind, names, columns = self._columns(piece)
        if not gathered:
            gathered += [_Gathered(most, column) for column in columns]
        if len(gathered) != len(columns):
            raise _frames.FeedError(f"rows with {len(columns)} fields follow rows with {len(gathered)}; arrays "
                                    "need rows that are alike, next_batch() takes any")
        for field, column in zip(gathered, columns):
            field.add(column)
        return kind, names

    @staticmethod
    def _columns(piece: Piece) -> _rows.NumpyColumns:
        """The rows of a piece as arrays, which look into the slot if the batch is not decoded."""
        batch = piece.batch
        if batch.decoded is not None:
            return _rows.numpy_of_rows(batch.decoded[piece.start:piece.end])
        if batch.columns is None:
            batch.columns = _rows.numpy_columns(batch.encoding, batch.view, batch.rows)
        kind, names, columns = batch.columns
        return kind, names, [column[piece.start:piece.end] for column in columns]

    def _mapped(self, rows: List[Any], names: Optional[Tuple[str, ...]]) -> Dict[str, List[Any]]:
        mapping = sorted((self.input_mapping or {}).items())
        by_name = names is not None and all(column in names for column, _ in mapping)
        tensors: Dict[str, List[Any]] = {}
        for index, (column, tensor) in enumerate(mapping):
            if rows and isinstance(rows[0], dict):
                tensors[tensor] = [row[column] for row in rows]
            else:
                place = names.index(column) if by_name and names is not None else index
                tensors[tensor] = [row[place] for row in rows]
        return tensors


class _Gathered:
    """One field of up to `most` rows, which come in pieces: copied once, to where they stay. Not thread safe.

    Copying each piece and joining the copies takes far more than twice as long, since all that memory is new to the
    process, and the kernel clears it.
    """

    def __init__(self, most: int, first: Any) -> None:
        import numpy  # type: ignore[import-not-found, unused-ignore]  # pylint: disable=import-outside-toplevel
        self._numpy: Any = numpy
        fits = most * (first.nbytes // len(first)) <= _GATHERED_BYTES
        self._array: Any = numpy.empty((most if fits else len(first), *first.shape[1:]), first.dtype)
        self._rows = 0
        self._more: List[Any] = []  # what does not fit into the array

    def add(self, piece: Any) -> None:
        """Copies the rows of a piece."""
        end = self._rows + len(piece)
        alike = piece.dtype == self._array.dtype and piece.shape[1:] == self._array.shape[1:]
        if self._more or not alike or end > len(self._array):
            self._more.append(piece.copy())
            return
        self._array[self._rows:end] = piece
        self._rows = end

    def array(self) -> Any:
        """All rows."""
        taken = self._array[:self._rows]
        if self._more:
            return self._numpy.concatenate([taken, *self._more])
        return taken.copy() if len(taken) < len(self._array) else self._array


def _shaped(kind: str, names: Optional[Tuple[str, ...]], arrays: List[Any]) -> Arrays:
    if kind == "one":
        return arrays[0]
    if kind == "dict" or names is not None:
        return dict(zip(names or (), arrays))
    return tuple(arrays)
