"""A Spark driver for place_test.py: holds one SparkContext, and carries out lines of JSON from the pipe $WISHES.

    driver.py PROGRAMS LOCAL_DIR MASTER [KEY=VALUE…]

Each line is {"do": …}; each answer is a line of JSON. The last line is the SparkContext's end.
"""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

# pylint: disable=wrong-import-position,import-error
import pyspark
from tony.cluster import _spark_place
from tony.spec import JobSpec, Type


class Driver:
    """The lines' functions."""

    def __init__(self, programs, local_dir, master, settings):
        # The same master as spark-submit's, if that has started this program.
        conf = pyspark.SparkConf().setMaster(master).setAppName("place_test").set("spark.ui.enabled", "false")
        for setting in settings:
            conf.set(*setting.split("=", 1))
        self._programs = pathlib.Path(programs)
        self._local_dir = local_dir
        self._sc = pyspark.SparkContext(conf=conf)
        self._job = None

    def application(self):
        """The application's id."""
        return self._sc.applicationId

    def start(self, workers, command, deadline=120):
        """Starts a job; returns its id."""
        keys = {"tony.local.dir": self._local_dir, "tony.worker.memory": "64m"}
        spec = JobSpec(command=command, conf=keys, worker=Type(workers))
        self._job = _spark_place.start_in_spark(self._sc, spec, str(self._programs / "tony-executor"), deadline)
        return self._job.id

    def verdict(self):
        """Waits for the job's end; returns its sentence."""
        return self._job.wait(120).sentence

    def stop_job(self):
        """Ends the job."""
        return self._job.stop().sentence

    def count(self, numbers):
        """A Spark job of the user's."""
        return self._sc.parallelize(range(numbers)).count()

    def cancel_jobs(self):
        """Cancels all Spark jobs, as a user might; returns whether there were any."""
        active = list(self._sc.statusTracker().getActiveJobsIds())
        self._sc.cancelAllJobs()
        return bool(active)

    def stop(self):
        """Ends the SparkContext."""
        self._sc.stop()


def main():
    """Reads lines until the end."""
    os.environ["TONY_HOME"] = str(pathlib.Path(sys.argv[1]).parent)
    driver = Driver(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
    print(json.dumps({"answer": driver.application()}), flush=True)
    with open(os.environ["WISHES"], encoding="utf-8") as wishes:
        for line in wishes:
            wish = json.loads(line)
            try:
                answer = {"answer": getattr(driver, wish.pop("do"))(**wish)}
            except Exception as error:  # pylint: disable=broad-except  # the test judges it
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
