#!/usr/bin/env python3
"""Nodes in the executors of real Spark: local-cluster, and a standalone master for the driver's death."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration"), str(HERE.parent / "support")]

# pylint: disable=wrong-import-position
import integration_case
import machine
import tony_cli
from integration_case import JobTest

LOCAL_CLUSTER = "local-cluster[2,1,1024]"
SLEEP = "echo up; exec sleep 600"
DEADLINE_SECONDS = 180


def spark_python():
    """The interpreter of the environment with pyspark."""
    return tony_cli.examples_python(HERE / "requirements.txt")


def spark_program(name):
    """One of Spark's own programs."""
    return next(pathlib.Path(spark_python()).parents[1].glob(f"lib/python3*/site-packages/pyspark/bin/{name}"))


class Driver:
    """A Spark driver in a process of its own (driver.py). Not thread safe."""

    def __init__(self, test, site, master, *settings, submit=False):
        """`submit`: by spark-submit, whose Java process starts the driver's Python."""
        python = spark_python()
        command = [spark_program("spark-submit"), "--master", master] if submit else [python]
        # spark-submit does not pass its standard input on.
        wishes = site.folder / "wishes"
        os.mkfifo(wishes)
        self._wishes = os.open(wishes, os.O_RDWR | os.O_CLOEXEC)
        self._errors = (site.folder / "driver.log").open("ab")
        test.addCleanup(self._errors.close)
        self.process = subprocess.Popen(
            [*command, HERE / "driver.py", integration_case.programs, site.local_dir, master, *settings], cwd=site.folder,
            env={**site.environment, "PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1",
                 "WISHES": str(wishes)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors, text=True, start_new_session=True)
        self._log = site.folder / "driver.log"
        test.addCleanup(self._end)
        self.read()  # it has a SparkContext

    def _end(self):
        os.close(self._wishes)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # also the Python below spark-submit
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()

    def read(self):
        """The next answer."""
        deadline = threading.Timer(DEADLINE_SECONDS, self.process.kill)
        deadline.start()
        line = self.process.stdout.readline()
        deadline.cancel()
        if not line:
            raise AssertionError("the driver has ended\n" + self._log.read_text(errors="replace")[-6000:])
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["answer"]

    def log(self):
        """What the driver has written to its standard error."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def send(self, do, **arguments):
        """Lets the driver do something."""
        os.write(self._wishes, json.dumps({"do": do, **arguments}).encode() + b"\n")

    def call(self, do, **arguments):
        """Lets the driver do something; returns its answer."""
        self.send(do, **arguments)
        return self.read()


class SparkCase(JobTest):
    """The events of a job whose nodes are in Spark's executors."""

    def events(self, job_id):
        """The job's events so far."""
        return tony_cli.json_lines(self.site.local_dir / "jobs" / job_id / "events.jsonl")

    def wait_for(self, job_id, find, what):
        """The first true value of find(events)."""
        found = machine.wait_until(lambda: find(self.events(job_id)), DEADLINE_SECONDS, 0.05)
        self.assertTrue(found, f"no {what}: {self.events(job_id)[-8:]}")
        return found

    def wait_running(self, job_id, workers, epoch=0):
        """Waits until all workers run; returns their containers."""

        def find(events):
            running = {}
            for event in events:
                change = event.get("task_changed", {})
                if change.get("state") == "RUNNING" and change.get("epoch", 0) == epoch:
                    running[tony_cli.task_name(change["task"])] = change["container"]
            return running if len(running) == workers else None

        return self.wait_for(job_id, find, f"{workers} running workers in epoch {epoch}")

    def jvm_of(self, container):
        """The process to which a container's executor is tied."""
        for command in machine.processes_with(container).values():
            tied = re.search(r"--tied-to-pid=(\d+)", command)
            if tied:
                return int(tied[1])
        raise AssertionError(f"no executor of {container}: {machine.processes_with(container)}")

    def assert_nothing_left(self, job_id):
        """No process of the job is there any more, soon."""
        machine.wait_until(lambda: not machine.processes_with(job_id), 30, 0.05)
        self.assertEqual(machine.processes_with(job_id), {})


class LocalClusterTest(SparkCase):
    """One SparkContext for several jobs, since its start takes the longest."""

    def test_nodes_in_a_local_cluster(self):
        driver = Driver(self, self.site, LOCAL_CLUSTER)
        with self.subTest("two workers run in two Spark executors, to their end"):
            job = driver.call("start", workers=2, command="echo $CLUSTER_SPEC; test -n \"$SPARK_EXECUTOR_DIRS\"")
            self.assertIn("2", driver.call("verdict"))
            self.assert_nothing_left(job)
        with self.subTest("a killed JVM is a lost container, which is replaced; Spark goes on"):
            job = driver.call("start", workers=2, command=SLEEP)
            containers = self.wait_running(job, 2)
            jvms = {self.jvm_of(container) for container in containers.values()}
            self.assertEqual(len(jvms), 2)
            victim = self.jvm_of(containers["worker:1"])
            os.kill(victim, signal.SIGKILL)
            again = self.wait_running(job, 2, epoch=1)
            self.assertNotEqual(again["worker:1"], containers["worker:1"])
            self.assertEqual(again["worker:0"], containers["worker:0"])
            self.assertNotEqual(self.jvm_of(again["worker:1"]), victim)
            self.assertFalse(machine.processes_with(f"--container-id={containers['worker:1']}"))
            self.assertEqual(driver.call("count", numbers=100), 100)
        with self.subTest("a killed tony-executor is replaced in the same Spark executor"):
            (executor, *_) = [pid for pid, command in
                              machine.processes_with(f"--container-id={again['worker:0']}").items()
                              if "--tied-to-pid" in command and machine.name_of(pid) == "tony-executor"]
            os.kill(executor, signal.SIGKILL)
            self.wait_running(job, 2, epoch=2)
            driver.call("stop_job")
            self.assert_nothing_left(job)
        with self.subTest("more nodes than Spark executors are refused with a sentence"):
            job = driver.call("start", workers=3, command=SLEEP, deadline=20)
            sentence = driver.call("verdict")
            self.assertIn("2 of 3 Spark executors have answered", sentence)
            self.assert_nothing_left(job)
        with self.subTest("a placing Spark job that the user cancels is tried again"):
            job = driver.call("start", workers=3, command=SLEEP)
            self.assertTrue(machine.wait_until(
                lambda: driver.call("cancel_jobs") and "is tried again" in driver.log(), DEADLINE_SECONDS, 0.05))
            self.assertIn("cancelled", driver.log())
            self.assertTrue(machine.wait_until(lambda: driver.call("cancel_jobs"), DEADLINE_SECONDS, 0.05))
            driver.call("stop_job")
            self.assert_nothing_left(job)
        with self.subTest("sc.stop() in the middle ends the job"):
            job = driver.call("start", workers=2, command=SLEEP)
            self.wait_running(job, 2)
            driver.call("stop")
            self.assert_nothing_left(job)


class DriverDeathTest(SparkCase):
    """What a dead driver leaves."""

    def test_a_killed_driver_leaves_nothing(self):
        driver = Driver(self, self.site, LOCAL_CLUSTER)
        job = driver.call("start", workers=2, command=SLEEP)
        # By the nodes: two applications of this machine that start in the same second have the same id.
        jvms = {self.jvm_of(container) for container in self.wait_running(job, 2).values()}
        self.assertEqual(len(jvms), 2)
        driver.process.kill()
        self.assert_nothing_left(job)
        self.assertTrue(machine.wait_until(lambda: not any(map(machine.lives, jvms)), 60, 0.05), jvms)


class StandaloneTest(SparkCase):
    """A standalone master with two workers of one core, and spark-submit."""

    def daemon(self, *arguments):
        """Starts a daemon of Spark; returns its log."""
        log = self.site.folder / f"{arguments[0].rsplit('.', 1)[1]}-{len(list(self.site.folder.iterdir()))}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [spark_program("spark-class"), *arguments], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return log

    def test_spark_submit_and_a_driver_that_is_killed(self):
        log = self.daemon("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0",
                          "--webui-port", "0")
        master = machine.wait_until(lambda: re.search(r"Starting Spark master at (spark://\S+)", log.read_text()),
                                    DEADLINE_SECONDS, 0.05)[1]
        for number in range(2):
            self.daemon("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory",
                        "1g", "--webui-port", "0", "--work-dir", str(self.site.folder / f"work-{number}"), master)
        driver = Driver(self, self.site, master, "spark.cores.max=2", submit=True)
        driver.call("start", workers=2, command="test -n \"$TF_CONFIG\"")
        self.assertIn("2", driver.call("verdict"))
        job = driver.call("start", workers=2, command=SLEEP)
        containers = self.wait_running(job, 2)
        jvms = {self.jvm_of(container) for container in containers.values()}
        self.assertEqual(len(jvms), 2)
        for pid, command in machine.processes_with(str(self.site.local_dir)).items():  # not another test's driver
            if pid not in jvms and "driver.py" in command:
                os.kill(pid, signal.SIGKILL)
        self.assert_nothing_left(job)


class RefusalTest(SparkCase):
    """Applications that cannot hold nodes."""

    def test_dynamic_allocation_is_refused_with_its_key(self):
        driver = Driver(self, self.site, "local-cluster[1,1,1024]", "spark.dynamicAllocation.enabled=true",
                        "spark.dynamicAllocation.shuffleTracking.enabled=true")
        with self.assertRaisesRegex(RuntimeError, "spark.dynamicAllocation.enabled=true"):
            driver.call("start", workers=1, command="true")

    def test_a_driver_without_executors_is_refused(self):
        driver = Driver(self, self.site, "local[2]")
        with self.assertRaisesRegex(RuntimeError, r"local\[2\] has no executors"):
            driver.call("start", workers=1, command="true")


if __name__ == "__main__":
    integration_case.main()
