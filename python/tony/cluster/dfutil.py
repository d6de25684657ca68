"""DataFrames of Spark as TFRecord files of tf.train.Example, and back. Needs no TensorFlow.

Names are TensorFlowOnSpark's. Its jar is not needed to read, nor to write to a file system that all executors share.
"""
# pylint: disable=invalid-name  # TensorFlowOnSpark's names

import io
import os
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from ..errors import TonyError
from . import _example, _tfrecord
from ._spark import ship_package

# The folders of the DataFrames that loadTFRecords() has returned, by their identity.
loadedDF: Dict[Any, str] = {}

_FLOATS = ("float", "double")
_INTEGERS = ("boolean", "tinyint", "smallint", "int", "bigint", "long")
_BYTES = ("binary", "string")
_OUTPUT_FORMAT = "org.tensorflow.hadoop.io.TFRecordFileOutputFormat"


def isLoadedDF(df: Any) -> bool:
    """Whether loadTFRecords() has returned it."""
    return df in loadedDF


def _kind_of(dtype: str) -> Tuple[int, bool]:
    """The feature's kind, and whether the column is an array. Raises TypeError."""
    array = dtype.startswith("array<")
    inner = dtype[len("array<"):-1] if array else dtype
    for kind, names in ((_example.FLOAT, _FLOATS), (_example.INT64, _INTEGERS), (_example.BYTES, _BYTES)):
        if inner in names:
            return kind, array
    raise TypeError(f"a column of type {dtype} has no form in tf.train.Example; convert it to {', '.join(_FLOATS)}, "
                    f"{', '.join(_INTEGERS)}, {', '.join(_BYTES)} or an array of them")


def toTFExample(dtypes: Sequence[Tuple[str, str]]) -> Callable[[Iterable[Any]], Iterator[Tuple[bytearray, None]]]:
    """The function that makes rows to (serialized tf.train.Example, None), for mapPartitions.

    dtypes: DataFrame.dtypes. Raises TypeError for a column that has no form in tf.train.Example.
    """
    kinds = {name: _kind_of(dtype) for name, dtype in dtypes}

    def convert(rows: Iterable[Any]) -> Iterator[Tuple[bytearray, None]]:
        for row in rows:
            fields = row.asDict()
            yield bytearray(_example.encode({name: _feature(fields[name], *kinds[name]) for name in kinds})), None
    return convert


def _feature(value: Any, kind: int, array: bool) -> _example.Feature:
    values = [] if value is None else list(value) if array else [value]
    if kind == _example.BYTES:
        values = [entry.encode() if isinstance(entry, str) else bytes(entry) for entry in values]
    return _example.Feature(kind, values)


def saveAsTFRecords(df: Any, output_dir: str) -> None:
    """Writes a DataFrame as a folder of TFRecord files, one for each partition. The folder must not exist.

    A path with `file:` or without a scheme on a local default file system is written by the tasks themselves; any other
    needs the jar of tensorflow-hadoop. Raises TonyError.
    """
    ship_package(df.rdd.context)
    records = df.rdd.mapPartitions(toTFExample(df.dtypes))
    local = _local_path(df.rdd.context, output_dir)
    if local is None:
        records.saveAsNewAPIHadoopFile(output_dir, _OUTPUT_FORMAT, keyClass="org.apache.hadoop.io.BytesWritable",
                                       valueClass="org.apache.hadoop.io.NullWritable")
        return
    try:
        os.makedirs(local)
    except FileExistsError:
        raise TonyError(f"{local} exists already; name a new folder") from None
    records.mapPartitionsWithIndex(_writer(local)).foreach(_nothing)
    with open(os.path.join(local, "_SUCCESS"), "wb"):
        pass


def _nothing(_row: Any) -> None:
    pass


def _local_path(sc: Any, path: str) -> Optional[str]:
    from ._paths import LOCAL, default_fs  # pylint: disable=import-outside-toplevel
    if path.startswith("file:"):
        return "/" + path[len("file:"):].lstrip("/")
    if "://" in path or default_fs(sc) != LOCAL:
        return None
    return os.path.abspath(path)


def _writer(folder: str) -> Callable[[int, Iterable[Tuple[bytearray, None]]], Iterator[int]]:
    """The function of a task that writes its partition. A task that is repeated writes the same file again."""
    def write(index: int, records: Iterable[Tuple[bytearray, None]]) -> Iterator[int]:
        os.makedirs(folder, exist_ok=True)
        content = io.BytesIO()
        count = 0
        for record, _ in records:
            _tfrecord.write_record(content, bytes(record))
            count += 1
        path = os.path.join(folder, f"part-r-{index:05d}")
        part = f"{path}.{os.getpid()}.part"
        with open(part, "wb") as file:
            file.write(content.getvalue())
        os.replace(part, path)
        yield count
    return write


def loadTFRecords(sc: Any, input_dir: str, binary_features: Sequence[str] = ()) -> Any:
    """The DataFrame of a folder of TFRecord files on any file system of Hadoop. Each file is read as a whole.

    Its columns are those of the first record: integers, floats and, of bytes, strings unless binary_features names
    them; arrays where it has more or fewer than one value. Raises TonyError for an empty folder.
    """
    from pyspark.sql import SparkSession  # type: ignore[import-not-found, unused-ignore]  # pylint: disable=import-outside-toplevel,import-error
    ship_package(sc)
    records = sc.binaryFiles(input_dir).filter(_is_data).flatMap(_records_of)
    first = records.take(1)
    if not first:
        raise TonyError(f"{input_dir} has no records")
    schema = infer_schema(_example.decode(first[0]), binary_features)
    binary = list(binary_features)
    rows = records.mapPartitions(lambda part: fromTFExample(part, binary))
    names = [field.name for field in schema.fields]
    arrays = [field.dataType.typeName() == "array" for field in schema.fields]
    frame = SparkSession.builder.getOrCreate().createDataFrame(
        rows.map(lambda row: _in_order(row, names, arrays)), schema)
    loadedDF[frame] = input_dir
    return frame


def _is_data(file: Tuple[str, bytes]) -> bool:
    name = file[0].rsplit("/", 1)[-1]
    return not name.startswith(("_", "."))


def _records_of(file: Tuple[str, bytes]) -> Iterator[bytes]:
    return _tfrecord.read_records(file[1], file[0])


def _in_order(row: Dict[str, List[Any]], names: Sequence[str], arrays: Sequence[bool]) -> List[Any]:
    ordered: List[Any] = []
    for name, array in zip(names, arrays):
        values = row.get(name, [])
        ordered.append(values if array else values[0] if values else None)
    return ordered


def infer_schema(example: Dict[str, _example.Feature], binary_features: Sequence[str] = ()) -> Any:
    """The StructType of a decoded tf.train.Example (_example.decode()), by the names of its features."""
    from pyspark.sql import types  # type: ignore[import-not-found, unused-ignore]  # pylint: disable=import-outside-toplevel,import-error
    fields = []
    for name in sorted(example):
        feature = example[name]
        text = types.BinaryType() if name in binary_features else types.StringType()
        kind = {_example.FLOAT: types.FloatType(), _example.INT64: types.LongType()}.get(feature.kind, text)
        fields.append(types.StructField(name, kind if len(feature.values) == 1 else types.ArrayType(kind), True))
    return types.StructType(fields)


def fromTFExample(records: Iterable[bytes], binary_features: Sequence[str] = ()) -> Iterator[Dict[str, List[Any]]]:
    """Serialized tf.train.Examples as {name: [values]}, for mapPartitions. Bytes become text unless they are named."""
    for record in records:
        features = _example.decode(bytes(record))
        yield {name: [value.decode() if isinstance(value, bytes) and name not in binary_features else value
                      for value in feature.values] for name, feature in features.items()}
