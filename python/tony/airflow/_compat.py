"""What the provider needs of Airflow 2.11 and 3.x, which have it at different places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = [
    "AirflowException",
    "AirflowFailException",
    "AirflowNotFoundException",
    "BaseHook",
    "BaseOperator",
    "BaseOperatorLink",
    "BaseSensorOperator",
    "Context",
    "ResumableJobMixin",
    "default_deferrable",
    "waits_for",
    "xcom_value",
]

if TYPE_CHECKING:
    from airflow.sdk import BaseHook, BaseOperator, BaseOperatorLink, BaseSensorOperator
    from airflow.sdk.configuration import conf
    from airflow.sdk.definitions.context import Context
    from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowNotFoundException

    IS_AIRFLOW_3 = True
else:
    try:
        from airflow.sdk import BaseHook, BaseOperator, BaseOperatorLink, BaseSensorOperator

        IS_AIRFLOW_3 = True
    except ImportError:
        from airflow.hooks.base import BaseHook
        from airflow.models import BaseOperator
        from airflow.models.baseoperatorlink import BaseOperatorLink
        from airflow.sensors.base import BaseSensorOperator

        IS_AIRFLOW_3 = False

    try:  # from 3.2 on
        from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowNotFoundException
    except ImportError:
        from airflow.exceptions import AirflowException, AirflowFailException, AirflowNotFoundException

    try:
        from airflow.sdk.configuration import conf
    except ImportError:
        from airflow.configuration import conf

    Context = Any

try:  # from 3.3 on
    from airflow.sdk import ResumableJobMixin
except ImportError:

    class ResumableJobMixin:  # type: ignore[no-redef]
        """Airflow before 3.3 keeps no state between the attempts of a task. tony's step key does."""

        def __init__(self, *, durable: bool = True, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.durable = durable

        def execute_resumable(self, context: Context) -> Any:
            """Submits, waits for the end, and returns the result."""
            application_id = self.submit_job(context)  # type: ignore[attr-defined]
            self.poll_until_complete(application_id, context)  # type: ignore[attr-defined]
            return self.get_job_result(application_id, context)  # type: ignore[attr-defined]


def xcom_value(ti_key: Any, key: str) -> Any:
    """The XCom ``key`` that an attempt has pushed; None without one."""
    if IS_AIRFLOW_3:
        from airflow.sdk.execution_time.xcom import XCom
    else:
        from airflow.models import XCom
    return XCom.get_value(ti_key=ti_key, key=key)


def default_deferrable() -> bool:
    """Whether the site wants operators to be deferrable where a DAG says nothing."""
    return bool(conf.getboolean("operators", "default_deferrable", fallback=False))


async def waits_for(ti: Any, trigger_id: int | None) -> bool:
    """Whether Airflow still counts the task ``ti`` as deferred to the trigger ``trigger_id``."""
    from asgiref.sync import sync_to_async

    return bool(await sync_to_async(_waits_in_3 if IS_AIRFLOW_3 else _waits_in_2)(ti, trigger_id))


def _waits_in_3(ti: Any, _trigger_id: int | None) -> bool:
    """Tells only whether the task is deferred. Airflow 3.3 calls on_kill(), and needs this not at all."""
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

    states = RuntimeTaskInstance.get_task_states(
        dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id], map_index=ti.map_index
    )
    # A mapped task's name has its index behind it.
    return next(iter(states.get(ti.run_id, {}).values()), None) == "deferred"


def _waits_in_2(ti: Any, trigger_id: int | None) -> bool:
    """The next attempt of a cleared task may be deferred again, to another trigger, before the old one looks here."""
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session

    with create_session() as session:
        return bool(
            session.query(TaskInstance)
            .filter_by(dag_id=ti.dag_id, task_id=ti.task_id, run_id=ti.run_id, map_index=ti.map_index)
            .filter_by(state="deferred", trigger_id=trigger_id)
            .count()
        )
