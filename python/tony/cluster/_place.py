"""Where the nodes of a cluster run: as tasks of tony's own backends, or inside the executors of a Spark application."""

import os
import sys
from typing import Any, Mapping, Optional

from .._job import Job, submit
from ..spec import JobSpec, Value

AUTO, SPARK, TONY = "auto", "spark", "tony"
_BACKEND = "tony.backend"
_DYNAMIC_ALLOCATION = "spark.dynamicAllocation.enabled"


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
    dynamic = sc is not None and str(sc.getConf().get(_DYNAMIC_ALLOCATION, "false")).lower() == "true"
    if place == SPARK:
        if sc is None:
            raise ValueError("place='spark' needs a SparkContext: give sc, or place='tony'")
        if dynamic:
            raise ValueError(f"place='spark' with {_DYNAMIC_ALLOCATION}=true: Spark would end executors whose only "
                             "work is a node; set it to false, or give place='tony'")
        return SPARK
    if sc is None or dynamic or _BACKEND in job or is_local(sc):
        return TONY
    return SPARK


def is_local(sc: Any) -> bool:
    """Whether Spark's executor is the driver itself."""
    master: str = sc.master
    return master == "local" or master.startswith("local[")


def python_of_nodes(place: str, sc: Any, backend: str) -> str:
    """The interpreter of the nodes: Spark's for its workers, this one on this machine, else python3 of the hosts."""
    if sc is not None and (place == SPARK or backend != "local"):
        return str(sc.pythonExec)
    return sys.executable if backend == "local" else os.environ.get("PYSPARK_PYTHON", "python3")


def start(place: str, sc: Any, spec: JobSpec, backend: Optional[str]) -> Job:
    """Submits the job of the nodes, whose tasks are then placed where `place` says."""
    if place == TONY:
        return submit(spec, backend=backend)
    return start_in_spark(sc, spec)


def start_in_spark(sc: Any, spec: JobSpec) -> Job:
    """Submits the job so that each task runs in another executor of the Spark application `sc`.

    The job belongs to this process, as one of submit(). Files of tony.containers.resources lie on this machine, and
    reach the executors. Raises what submit() raises, and ValueError for an application that cannot hold the tasks.
    """
    del sc, spec
    raise NotImplementedError("this version of tony does not place nodes in Spark's executors: give place='tony', "
                              "whose nodes run beside Spark, on this machine or (job={'tony.backend': 'yarn'}) on YARN")
