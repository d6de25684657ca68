"""Buttons of a task in Airflow's pages: to the job's page and to its TensorBoard.

The operator pushes the addresses as XComs right after the submission, so the buttons work while the task runs.
"""

from __future__ import annotations

from typing import Any

from tony.airflow._compat import BaseOperatorLink, xcom_value

# The summary's member behind each XCom.
LINKS = {"tony_page": "page", "tony_tensorboard": "tensorboard"}


class TonyPageLink(BaseOperatorLink):
    """The page of the job."""

    name = "Job page"
    xcom_key = "tony_page"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The address that the attempt has pushed; empty without one."""
        return xcom_value(ti_key, self.xcom_key) or ""


class TonyTensorBoardLink(BaseOperatorLink):
    """The TensorBoard beside the job, or the notebook, if it has one."""

    name = "TensorBoard"
    xcom_key = "tony_tensorboard"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The address that the attempt has pushed; empty without one."""
        return xcom_value(ti_key, self.xcom_key) or ""
