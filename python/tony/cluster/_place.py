"""Where the nodes of a cluster run: as tasks of tony's own backends, or inside the executors of a Spark application."""

import os
import sys
from typing import Any, Mapping, Optional

from .._job import Job, submit
from ..spec import JobSpec, Value
from . import _spark_place

AUTO, SPARK, TONY = "auto", "spark", "tony"
_BACKEND = "tony.backend"


def choose(place: str, sc: Any, job: Mapping[str, Value]) -> str:
    """SPARK or TONY.

    "auto" is SPARK for the SparkContext of a cluster, and TONY without one, for one of this machine (`local[…]`), with
    dynamic allocation, which would end executors with nodes in them, and if `job` names a backend.
    Raises ValueError for a place that cannot be.
    """
    if place not in (AUTO, SPARK, TONY):
        raise ValueError(f"place={place!r} is neither {AUTO!r}, {SPARK!r} nor {TONY!r}")
    if place == TONY:
        return TONY
    if place == SPARK:
        if sc is None:
            raise ValueError("place='spark' needs a SparkContext: give sc, or place='tony'")
        _spark_place.check(sc)
        return SPARK
    if sc is None or _BACKEND in job or _spark_place.is_dynamic(sc) or _spark_place.is_local(sc):
        return TONY
    return SPARK


def python_of_nodes(place: str, sc: Any, backend: str) -> str:
    """The interpreter of the nodes: Spark's for its workers, this one on this machine, else python3 of the hosts."""
    if sc is not None and (place == SPARK or backend != "local"):
        return str(sc.pythonExec)
    return sys.executable if backend == "local" else os.environ.get("PYSPARK_PYTHON", "python3")


def start(place: str, sc: Any, spec: JobSpec, backend: Optional[str]) -> Job:
    """Submits the job of the nodes, whose tasks are then placed where `place` says."""
    if place == TONY:
        return submit(spec, backend=backend)
    return _spark_place.start_in_spark(sc, spec)
