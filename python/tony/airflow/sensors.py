"""The sensor: waits for a job that somebody else has submitted."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from tony.airflow._compat import (
    AirflowException,
    BaseSensorOperator,
    Context,
    default_deferrable,
)
from tony.airflow.hooks import TonyHook
from tony.airflow.triggers import TonyTrigger


class TonySensor(BaseSensorOperator):
    """Waits until a job has succeeded. The job stays its client's: the end of this task does not end it.

    :param application_id: the job (templated), e.g. ``{{ ti.xcom_pull("train")["application_id"] }}``
    :param tony_conn_id: the connection; see TonyHook
    :param deferrable: wait in the triggerer
    """

    template_fields: Sequence[str] = ("application_id",)
    ui_color = "#e8f0fb"

    def __init__(
        self,
        *,
        application_id: str,
        tony_conn_id: str = TonyHook.default_conn_name,
        deferrable: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.application_id = application_id
        self.tony_conn_id = tony_conn_id
        self.deferrable = default_deferrable() if deferrable is None else deferrable

    def execute(self, context: Context) -> Any:
        """Waits here, or in the triggerer. AirflowException: the job did not succeed."""
        if not self.deferrable:
            return super().execute(context)
        if not self.poke(context):
            settings = TonyHook(self.tony_conn_id).settings
            self.defer(
                trigger=TonyTrigger(self.application_id, settings),
                method_name="execute_complete",
                timeout=self.execution_timeout,
            )
        return None

    def poke(self, context: Context) -> bool:
        """Whether the job has succeeded. AirflowException: it has ended otherwise, or there is no such job."""
        return _has_succeeded(TonyHook(self.tony_conn_id).status(self.application_id))

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> None:
        """Called with the trigger's event."""
        if event.get("error"):
            raise AirflowException(f"job {event['id']}: {event['error']}")
        _has_succeeded(event)


def _has_succeeded(status: Mapping[str, Any]) -> bool:
    """Whether the job of ``status`` has succeeded. AirflowException: it has ended otherwise."""
    if status.get("alive"):
        return False
    verdict = status.get("verdict") or {}
    if verdict.get("outcome") == "SUCCEEDED":
        return True
    sentence = verdict.get("sentence") or status.get("sentence")
    raise AirflowException(f"job {status['id']} ended: {status['state']}: {sentence}")
