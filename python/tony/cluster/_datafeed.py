"""DataFeed: the data that a node is fed, by rows, as arrays, or as a dataset of TensorFlow or PyTorch."""

from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from . import _frames, _rows
from ._reader import Piece, Reader
from .TFManager import TFManager

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
        one type; else a tuple with an array for each field, or a dict for rows with names. Fewer than n rows as next_batch(). The arrays are the caller's own.
        """
        parts: List[List[Any]] = []
        kind, names = "one", None
        for piece in self._pieces(n):
            kind, names, columns = self._columns(piece)
            if parts and len(parts[0]) != len(columns):
                raise _frames.FeedError(f"rows with {len(columns)} fields follow rows with {len(parts[0])}; arrays "
                                        "need rows that are alike, next_batch() takes any")
            parts.append(columns)
        if not parts:
            return None
        return _shaped(kind, names, [_joined(list(field)) for field in zip(*parts)])

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

    def _columns(self, piece: Piece) -> Tuple[str, Optional[Tuple[str, ...]], List[Any]]:
        """The rows of a piece as arrays that do not look into the slot."""
        batch = piece.batch
        if batch.decoded is not None:
            return _rows.numpy_of_rows(batch.decoded[piece.start:piece.end])
        if batch.columns is None:
            batch.columns = _rows.numpy_columns(batch.encoding, batch.view, batch.rows)
        kind, names, columns = batch.columns
        copies = [column[piece.start:piece.end].copy() for column in columns]
        if batch.left == 0:
            del columns  # no array may look into memory that is given back
            self._reader.release(batch)
        return kind, names, copies

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


def _joined(parts: List[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    import numpy  # type: ignore[import-not-found, unused-ignore]  # pylint: disable=import-outside-toplevel
    return numpy.concatenate(parts)


def _shaped(kind: str, names: Optional[Tuple[str, ...]], arrays: List[Any]) -> Arrays:
    if kind == "one":
        return arrays[0]
    if kind == "dict" or names is not None:
        return dict(zip(names or (), arrays))
    return tuple(arrays)
