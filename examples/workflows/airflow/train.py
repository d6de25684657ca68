"""A DAG of Airflow, 2.11 or 3: prepares, trains with a tony job, evaluates."""

from datetime import datetime, timedelta

from tony.airflow import TonyOperator

try:
    from airflow.sdk import dag, task
except ImportError:
    from airflow.decorators import dag, task

JOBS = "/opt/jobs"


@dag(schedule="@daily", start_date=datetime(2026, 1, 1), catchup=False)
def nightly():
    """The task of the job has buttons to the job's page and its TensorBoard. A retry follows the job that is there."""

    @task
    def prepare():
        """Stands for the preparation of data."""
        return 2

    train = TonyOperator(
        task_id="train",
        job=f"{JOBS}/job.xml",
        src_dir=f"{JOBS}/src",
        conf={"tony.worker.instances": "{{ ti.xcom_pull('prepare') }}"},
        env={"DAY": "{{ ds }}"},
        retries=2,
        retry_delay=timedelta(minutes=1),
    )

    @task
    def evaluate(summary):
        """The result of the training is the job's summary."""
        print(summary["verdict"], summary["checkpoint_dir"])

    prepare() >> train
    evaluate(train.output)


nightly()
