"""tony's provider for Airflow, 2.11 and 3.x: jobs as tasks of a DAG.

    from tony.airflow import TonyOperator

    train = TonyOperator(task_id="train", job="/jobs/train.xml", conf={"tony.worker.instances": 2})

docs/workflows.md describes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tony.airflow.hooks import TonyHook
    from tony.airflow.operators import TonyOperator
    from tony.airflow.sensors import TonySensor

__all__ = ["TonyHook", "TonyOperator", "TonySensor", "get_provider_info"]

_MODULES = {"TonyHook": "hooks", "TonyOperator": "operators", "TonySensor": "sensors"}


def __getattr__(name: str) -> Any:
    """Imports Airflow only when something of it is needed: Airflow calls get_provider_info() while it starts."""
    import importlib

    if name in _MODULES:
        return getattr(importlib.import_module(f"tony.airflow.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'tony.airflow' has no attribute {name!r}")


def get_provider_info() -> dict[str, Any]:
    """What Airflow asks the entry point ``apache_airflow_provider`` for."""
    return {
        "package-name": "tony",
        "name": "tony",
        "description": "Distributed training jobs on this machine and on YARN.",
        "connection-types": [{"connection-type": "tony", "hook-class-name": "tony.airflow.hooks.TonyHook"}],
        "extra-links": ["tony.airflow.links.TonyPageLink", "tony.airflow.links.TonyTensorBoardLink"],
    }
