"""A Prefect flow that trains: python3 flow.py"""

import pathlib
import sys

from prefect import flow, task
from prefect.runtime import flow_run

EXAMPLES = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(EXAMPLES))

from step import run_step  # noqa: E402  # pylint: disable=wrong-import-position


@task(retries=2)
def train():
    """The key names the run of the flow and the task, and not the attempt: a retry follows the job that is there."""
    return run_step(f"prefect|{flow_run.id}|train", "--src_dir", str(EXAMPLES / "src"), str(EXAMPLES / "job.xml"))


@task
def evaluate(summary):
    """Stands for an evaluation."""
    print(summary["verdict"], summary["application_id"])


@flow
def nightly():
    """Trains and evaluates."""
    evaluate(train())


if __name__ == "__main__":
    nightly()
