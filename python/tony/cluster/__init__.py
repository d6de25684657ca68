"""TensorFlowOnSpark's interface on tony: nodes of a TensorFlow (or any other) program, and a feed of their data.

    from tony.cluster import TFCluster

    cluster = TFCluster.run(sc, main_fun, args, num_executors, num_ps, input_mode=TFCluster.InputMode.SPARK)
    cluster.train(rdd, num_epochs)
    cluster.shutdown()

`sc` is a SparkContext, or None for a cluster without Spark. docs/spark.md describes the package and what is different
from TensorFlowOnSpark. Submodules are imported when they are first used; none imports TensorFlow by itself.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

_MODULES = ("TFCluster", "TFManager", "TFNode", "TFParallel", "TFSparkNode", "compat", "dfutil", "pipeline",
            "reservation", "util")

TYPE_CHECKING = False  # type checkers take it for true

if TYPE_CHECKING:
    from . import (TFCluster as TFCluster, TFManager as TFManager, TFNode as TFNode, TFParallel as TFParallel,
                   TFSparkNode as TFSparkNode, compat as compat, dfutil as dfutil, pipeline as pipeline,
                   reservation as reservation, util as util)

__all__ = list(_MODULES)  # pylint: disable=invalid-all-format


def __getattr__(name: str) -> ModuleType:
    """Imports a submodule at its first use (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module 'tony.cluster' has no attribute {name!r}")
    return import_module(f".{name}", __name__)
