"""The tests' DAGs: a job as a task, in each way that the operator knows. A run's conf has the job's command."""

from datetime import datetime, timedelta

try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG
from tony.airflow import TonyOperator, TonySensor

COMMAND = "{{ dag_run.conf['command'] }}"
ONE_WORKER = {
    "tony.worker.instances": 1,
    "tony.worker.memory": "64m",
    # Longer than a test, so that nobody takes the end of the lease for a stop.
    "tony.client.lease": "600000",
}


def dag(name):
    """A DAG that only the test starts."""
    return DAG(name, schedule=None, start_date=datetime(2025, 1, 1))


def train(**options):
    """The task with the job."""
    options = {"retries": 1, "retry_delay": timedelta(0), "command": COMMAND, **options}
    return TonyOperator(task_id="train", conf=ONE_WORKER, **options)


with dag("flow"):
    train(retries=0) >> TonySensor(
        task_id="look", application_id="{{ ti.xcom_pull('train')['application_id'] }}", poke_interval=1
    )

with dag("plain"):
    train()

with dag("kept"):
    train(on_kill_action="keep")

with dag("deferred"):
    train(deferrable=True)

with dag("timed"):
    train(retries=0, execution_timeout=timedelta(seconds=20))

with dag("deferred-timed"):
    train(retries=0, deferrable=True, execution_timeout=timedelta(seconds=20))

with dag("watched"):
    TonySensor(task_id="train", application_id=COMMAND, deferrable=True)

with dag("mapped"):
    TonyOperator.partial(task_id="train", conf=ONE_WORKER).expand(
        command=["echo 'first|part'", "echo second"]
    )
