"""TFEstimator and TFModel: a TensorFlow program as stages of a Spark ML pipeline. The names are TensorFlowOnSpark's.

Only this module imports pyspark at its top, as its classes are pyspark's.
"""
# pylint: disable=invalid-name,too-many-ancestors  # TensorFlowOnSpark's names, and pyspark's mixins

import argparse
import logging
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from pyspark.ml.base import Estimator, Model  # type: ignore[import-not-found, unused-ignore]  # pylint: disable=import-error
from pyspark.ml.param import Param, Params, TypeConverters  # type: ignore[import-not-found, unused-ignore]  # pylint: disable=import-error
from pyspark.sql import SparkSession  # type: ignore[import-not-found, unused-ignore]  # pylint: disable=import-error

from . import TFCluster, util
from ._spark import ship_package

_log = logging.getLogger(__name__)

Row = Union[Sequence[Any], Mapping[str, Any]]


class Namespace(argparse.Namespace):
    """Arguments of a program: those of an argparse.Namespace, of a dict, or of a list of words (`argv`)."""

    def __init__(self, d: Any = None) -> None:  # pylint: disable=super-init-not-called
        if isinstance(d, list):
            self.argv = d
        elif d is not None:
            vars(self).update(d if isinstance(d, dict) else vars(d))

    def __iter__(self) -> Iterator[str]:
        return iter(vars(self))


def _dict_of(value: Any) -> Dict[str, str]:
    if isinstance(value, dict):
        return {str(key): str(name) for key, name in value.items()}
    raise TypeError(f"{value!r} is no mapping of columns to tensors; give a dict")


def _param(name: str, doc: str, converter: Callable[[Any], Any]) -> Any:
    return Param(Params._dummy(), name, doc, typeConverter=converter)  # pylint: disable=protected-access


class TFParams(Params):  # type: ignore[misc, unused-ignore]
    """The parameters of both stages, each with its setNAME and getNAME."""

    args: Any = None
    batch_size = _param("batch_size", "rows of a batch", TypeConverters.toInt)
    cluster_size = _param("cluster_size", "number of nodes", TypeConverters.toInt)
    driver_ps_nodes = _param("driver_ps_nodes", "parameter servers besides cluster_size", TypeConverters.toBoolean)
    epochs = _param("epochs", "number of epochs", TypeConverters.toInt)
    export_dir = _param("export_dir", "folder of the exported model", TypeConverters.toString)
    feed_timeout = _param("feed_timeout", "seconds for which nodes may take nothing", TypeConverters.toInt)
    grace_secs = _param("grace_secs", "seconds for the nodes after their data", TypeConverters.toInt)
    input_mapping = _param("input_mapping", "column → tensor", _dict_of)
    input_mode = _param("input_mode", "InputMode.SPARK", TypeConverters.toInt)
    master_node = _param("master_node", "the name of the chief", TypeConverters.toString)
    model_dir = _param("model_dir", "folder of checkpoints", TypeConverters.toString)
    num_ps = _param("num_ps", "number of parameter servers", TypeConverters.toInt)
    output_mapping = _param("output_mapping", "tensor → column", _dict_of)
    protocol = _param("protocol", "without effect", TypeConverters.toString)
    readers = _param("readers", "for the program", TypeConverters.toInt)
    signature_def_key = _param("signature_def_key", "the model's signature", TypeConverters.toString)
    steps = _param("steps", "for the program", TypeConverters.toInt)
    tag_set = _param("tag_set", "the model's tags", TypeConverters.toString)
    tensorboard = _param("tensorboard", "whether TensorBoard runs", TypeConverters.toBoolean)
    tfrecord_dir = _param("tfrecord_dir", "for the program", TypeConverters.toString)

    def merge_args_params(self) -> Namespace:
        """The program's arguments, with the parameters that are set or have a default."""
        merged = Namespace(self.args)
        for param in self.params:
            if self.isDefined(param):
                setattr(merged, param.name, self.getOrDefault(param))
        return merged


def _add_accessors() -> None:
    """setBatchSize(), getBatchSize(), … as pyspark's own parameters have them."""
    def accessors(name: str) -> Tuple[Callable[..., Any], Callable[..., Any]]:
        def setter(self: Any, value: Any) -> Any:
            return self._set(**{name: value})  # pylint: disable=protected-access

        def getter(self: Any) -> Any:
            return self.getOrDefault(getattr(self, name))
        return setter, getter
    for name, value in list(vars(TFParams).items()):
        if isinstance(value, Param):
            words = {"num_ps": "NumPS", "driver_ps_nodes": "DriverPSNodes",
                     "tfrecord_dir": "TFRecordDir"}.get(name, name.title().replace("_", ""))
            setter, getter = accessors(name)
            setattr(TFParams, f"set{words}", setter)
            setattr(TFParams, f"get{words}", getter)


_add_accessors()


class TFEstimator(Estimator, TFParams):  # type: ignore[misc, unused-ignore]
    """Trains train_fn(args, ctx) on the rows of a DataFrame, and gives the TFModel of what it exports to export_dir.

    train_fn gets lists of the columns of input_mapping, in the order of their names, from
    ctx.get_data_feed(input_mapping=…). tf_args: the program's arguments. place, job: as for TFCluster.run().
    """

    def __init__(self, train_fn: Callable[..., Any], tf_args: Any, export_fn: Optional[Callable[..., Any]] = None, *,
                 place: str = "auto", job: Optional[Mapping[str, Any]] = None) -> None:
        super().__init__()
        if export_fn is not None:
            raise ValueError("export_fn is of TensorFlow 1; let train_fn export, by compat.export_saved_model")
        self.train_fn = train_fn
        self.args = Namespace(tf_args)
        self._place, self._job = place, job
        self._setDefault(input_mapping={}, cluster_size=1, num_ps=0, driver_ps_nodes=False, master_node="chief",
                         input_mode=TFCluster.InputMode.SPARK, protocol="grpc", tensorboard=False, model_dir=None,
                         export_dir=None, tfrecord_dir=None, batch_size=100, epochs=1, readers=1, steps=1000,
                         feed_timeout=600, grace_secs=30)

    def _fit(self, dataset: Any) -> "TFModel":
        sc = SparkSession.builder.getOrCreate().sparkContext
        args = self.merge_args_params()
        _log.info("training with %s", args)
        words = self.args.argv if hasattr(self.args, "argv") else args
        cluster = TFCluster.run(sc, self.train_fn, words, args.cluster_size, args.num_ps, args.tensorboard,
                                TFCluster.InputMode.SPARK, driver_ps_nodes=args.driver_ps_nodes,
                                master_node=args.master_node, place=self._place, job=self._job)
        try:
            columns = sorted(args.input_mapping) or dataset.columns
            cluster.train(dataset.select(columns).rdd.map(list), args.epochs, args.feed_timeout)
        except BaseException:
            cluster.nodes.job.ask_to_stop()
            raise
        cluster.shutdown(grace_secs=args.grace_secs)
        model: TFModel = self._copyValues(TFModel(self.args))
        return model


class TFModel(Model, TFParams):  # type: ignore[misc, unused-ignore]
    """Predicts with the SavedModel in export_dir, in Spark's own executors, which need TensorFlow.

    The columns of input_mapping are its inputs; output_mapping names the columns of the DataFrame that transform()
    returns. Each Python process loads the model once.
    """

    def __init__(self, tf_args: Any = None) -> None:
        super().__init__()
        self.args = Namespace(tf_args)
        self._setDefault(input_mapping={}, output_mapping={}, batch_size=100, model_dir=None, export_dir=None,
                         signature_def_key="serving_default", tag_set="serve")

    def _transform(self, dataset: Any) -> Any:
        args = self.merge_args_params()
        if not args.export_dir and not args.model_dir:
            raise ValueError("transform() needs the folder of a SavedModel: setExportDir()")
        if not args.input_mapping or not args.output_mapping:
            raise ValueError("transform() needs setInputMapping({column: input}) and "
                             "setOutputMapping({output: column})")
        spark = SparkSession.builder.getOrCreate()
        ship_package(spark.sparkContext)
        inputs = [name for _, name in sorted(args.input_mapping.items())]
        outputs = sorted(args.output_mapping.items())
        rows = dataset.select(sorted(args.input_mapping)).rdd.mapPartitions(
            _predictor(args.export_dir or args.model_dir, args.signature_def_key, args.tag_set, args.batch_size, inputs,
                       [name for name, _ in outputs]))
        return spark.createDataFrame(rows, [column for _, column in outputs])


def _predictor(folder: str, signature: str, tags: str, batch_size: int, inputs: List[str],
               outputs: List[str]) -> Callable[[Iterable[Row]], Iterator[Tuple[Any, ...]]]:
    """The function of a task that predicts a partition."""
    def predict(rows: Iterable[Row]) -> Iterator[Tuple[Any, ...]]:
        from tony.cluster import pipeline  # pylint: disable=import-outside-toplevel  # in Spark's executor
        function = pipeline.load_signature(folder, signature, tags)
        for batch in yield_batch(rows, batch_size, len(inputs)):
            yield from pipeline.predictions(function, dict(zip(inputs, batch)), outputs)
    return predict


_loaded: Dict[Tuple[str, str, str], Any] = {}


def load_signature(folder: str, signature: str, tags: str) -> Any:
    """A SavedModel's function, loaded once in this process. Raises ValueError for a signature that it does not have."""
    key = (folder, signature, tags)
    if key not in _loaded:
        util.single_node_env()
        import tensorflow as tf  # type: ignore[import-not-found, import-untyped, unused-ignore]  # pylint: disable=import-outside-toplevel,import-error
        model = tf.saved_model.load(folder, tags=tags.split(","))
        if signature not in model.signatures:
            raise ValueError(f"the model in {folder} has no signature {signature!r}, but "
                             f"{', '.join(model.signatures)}; setSignatureDefKey() names one")
        function = model.signatures[signature]
        function.tony_model = model  # whoever keeps the function keeps the model's variables
        _loaded.clear()
        _loaded[key] = function
    return _loaded[key]


def predictions(function: Any, columns: Dict[str, List[Any]], outputs: List[str]) -> Iterator[Tuple[Any, ...]]:
    """One row of outputs for each row of the columns. Raises ValueError if the model gives another number."""
    import tensorflow as tf  # type: ignore[import-not-found, import-untyped, unused-ignore]  # pylint: disable=import-outside-toplevel,import-error
    wanted = function.structured_input_signature[1]
    given = {name: tf.reshape(tf.convert_to_tensor(values, wanted[name].dtype),
                              [-1, *wanted[name].shape[1:]]) if name in wanted else tf.convert_to_tensor(values)
             for name, values in columns.items()}
    found = function(**given)
    rows = len(next(iter(columns.values())))
    lists = [found[name].numpy().tolist() for name in outputs]
    for name, values in zip(outputs, lists):
        if len(values) != rows:
            raise ValueError(f"the model gives {len(values)} values of {name} for {rows} rows; it has to give one for "
                             "each row")
    return iter(zip(*lists))


def yield_batch(iterator: Iterable[Row], batch_size: int, num_tensors: int = 1) -> Iterator[List[List[Any]]]:
    """Batches of up to `batch_size` rows: a list of values for each of the first `num_tensors` fields."""
    tensors: List[List[Any]] = [[] for _ in range(num_tensors)]
    for row in iterator:
        for index in range(num_tensors):
            tensors[index].append(row[index])  # type: ignore[index]
        if len(tensors[0]) == batch_size:
            yield tensors
            tensors = [[] for _ in range(num_tensors)]
    if tensors[0]:
        yield tensors


__all__ = ["Namespace", "TFEstimator", "TFModel", "TFParams", "yield_batch"]
