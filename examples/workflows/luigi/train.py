"""A Luigi task that trains: python3 -m luigi --module train Evaluate --local-scheduler --day 2026-11-27"""

import json
import pathlib
import sys

import luigi

EXAMPLES = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(EXAMPLES))

from step import run_step  # noqa: E402  # pylint: disable=wrong-import-position


class Train(luigi.Task):
    """Is done when its output exists, which is written at the end and in one go."""

    day = luigi.DateParameter()

    def output(self):
        """The summary of the job."""
        return luigi.LocalTarget(f"train-{self.day}.json")

    def run(self):
        """The key names the task and its parameters, as Luigi's own id does."""
        summary = run_step(f"luigi|{self.task_id}", "--src_dir", str(EXAMPLES / "src"), str(EXAMPLES / "job.xml"))
        with self.output().open("w") as file:
            json.dump(summary, file)


class Evaluate(luigi.Task):
    """Reads what Train has written."""

    day = luigi.DateParameter()

    def requires(self):
        """The training."""
        return Train(self.day)

    def output(self):
        """The result."""
        return luigi.LocalTarget(f"evaluate-{self.day}.txt")

    def run(self):
        """Stands for an evaluation."""
        with self.input().open() as trained, self.output().open("w") as file:
            file.write(json.load(trained)["application_id"] + "\n")
