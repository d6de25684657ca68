#!/usr/bin/env python3
"""Jobs as tasks of a real Airflow, 2.11 and 3.3: kills, retries, clears, links and results."""

import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))

# pylint: disable=wrong-import-position
import integration_case
import airflow_site
import machine
import tony_cli
from airflow_site import COMMAND_SECONDS, AirflowSite
from integration_case import JobTest

START_SECONDS = 90  # for a task that is to run, on a busy machine
END_SECONDS = 90  # for a job to be over that was told to stop, on a busy machine


class AirflowTest(JobTest):
    """A test with an Airflow of its own."""

    version = 3

    def setUp(self):
        super().setUp()
        self.airflow = AirflowSite(self.site, self.version)
        self.addCleanup(self._stop_jobs)
        self.airflow.migrate()

    def _stop_jobs(self):
        for job in self.site.verb("list"):
            if job["alive"]:
                self.site.run("tony", "kill", job["id"])

    def gated(self, name, code=0):
        """A command that says that it runs, and ends when its gate is opened; with both pipes."""
        ready, gate = self.pipe(f"{name}-ready"), self.pipe(f"{name}-gate")
        return f"echo > {ready.path}; read < {gate.path}; exit {code}", ready, gate

    def jobs(self):
        """The jobs, the first one first."""
        return self.site.verb("list")[::-1]

    def assert_over(self, job_id, outcome, seconds=END_SECONDS):
        """The job is over soon, and none of its processes lives."""
        self.site.run("tony", "wait", job_id, "--timeout", str(seconds))
        self.assertEqual(self.site.verb("status", job_id)["state"], outcome)
        self.assertEqual(machine.wait_until(lambda: not machine.processes_with(job_id), END_SECONDS), True)

    def followers(self, job_id):
        """The clients of triggers that follow the job."""
        return [pid for pid, line in machine.processes_with(job_id).items() if "attach" in line]

    def await_trigger(self, job_id):
        """Waits until a trigger follows the job."""
        self.assertTrue(machine.wait_until(lambda: self.followers(job_id), COMMAND_SECONDS, 0.1))


class DagsTest(AirflowTest):
    """`airflow dags test`, which needs no server."""

    def test_a_flow_and_its_end(self):
        links = self.airflow.run("providers", "links")
        self.assertIn("tony.airflow.links.TonyPageLink", links)
        text = self.airflow.run("dags", "test", "flow", "--conf", '{"command": "echo trained"}')
        self.assertRegex(text, r"trained")
        (job,) = self.jobs()
        self.assertEqual(job["state"], "SUCCEEDED")
        self.assertIn(job["id"], text)
        self.term()
        text = self.airflow.run("dags", "test", "deferred", "--conf", '{"command": "sleep 3"}')
        self.assertEqual([job["state"] for job in self.jobs()], ["SUCCEEDED", "KILLED", "SUCCEEDED"], text[-6000:])

    def term(self):
        """SIGTERM to the process that executes the task."""
        command, ready, _ = self.gated("term")
        process = self.airflow.start(
            *("dags", "test", "flow", "--conf", f'{{"command": "{command}"}}'),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        ready.read(COMMAND_SECONDS)
        process.send_signal(signal.SIGTERM)
        text, _ = process.communicate(timeout=COMMAND_SECONDS)
        self.assert_over(self.jobs()[-1]["id"], "KILLED")
        self.assertEqual(process.returncode, 1, text)
        self.assertEqual(len(self.jobs()), 2)


class ChecksTest(unittest.TestCase):
    """What needs Airflow's classes and no Airflow that runs, with both versions."""

    def test_checks(self):
        for version in (2, 3):
            with self.subTest(version), tempfile.TemporaryDirectory() as folder:
                result = subprocess.run(
                    [tony_cli.examples_python(airflow_site.requirements(version)), "-B", ROOT / "tests/e2e/airflow_checks.py",
                     integration_case.programs],
                    env={**os.environ, "AIRFLOW_HOME": folder, "PYTHONPATH": str(ROOT / "python")},
                    capture_output=True, text=True, check=False, timeout=COMMAND_SECONDS)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


class TypesTest(unittest.TestCase):
    """The provider's types, with those of Airflow 3."""

    def test_strict(self):
        python = tony_cli.examples_python(airflow_site.requirements(3))
        checker = tony_cli.examples_python(ROOT / "tests/python/requirements.txt")
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run(
                [checker, "-m", "mypy", "--strict", "--config-file", "/dev/null", "--cache-dir", folder,
                 "--python-executable", python, "-p", "tony.airflow"],
                cwd=ROOT / "python", capture_output=True, text=True, check=False, timeout=COMMAND_SECONDS)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


class DagsOfTwoTest(DagsTest):
    """The same with Airflow 2.11."""

    version = 2


class TriggererOfTwoTest(AirflowTest):
    """The triggerer of Airflow 2.11, which tells no trigger that its task was cleared."""

    version = 2

    def test_cleared(self):
        self.airflow.run("dags", "reserialize")  # the scheduler does it, too: both at once violate a constraint
        self.addCleanup(self.airflow.stop)
        self.airflow.start_servers("scheduler", "triggerer")
        for day, clear in (("2026-01-01", self.clear), ("2026-01-02", self.clear_late)):
            with self.subTest(clear.__name__):
                self.clear_deferred(day, clear)

    def clear_deferred(self, day, clear):
        """The job of a deferred task that is cleared is stopped, and the next attempt's is a new one."""
        command, ready, gate = self.gated(f"cleared-{day}")
        self.airflow.run("dags", "trigger", "deferred", "--exec-date", day, "--conf", json.dumps({"command": command}))
        ready.read(COMMAND_SECONDS)
        first = self.jobs()[-1]["id"]
        self.await_trigger(first)
        clear(day)
        self.assert_over(first, "KILLED")
        ready.read(COMMAND_SECONDS)
        gate.write()
        state = machine.wait_until(lambda: self.instance(day)[0] == "success", COMMAND_SECONDS, 0.25)
        self.assertTrue(state, self.airflow.outputs())
        self.assertEqual([job["state"] for job in self.jobs()[-2:]], ["KILLED", "SUCCEEDED"])

    def clear(self, day):
        """What the button "clear" does."""
        self.airflow.run("tasks", "clear", "--yes", "deferred", "--start-date", day, "--end-date", day)

    def clear_late(self, day):
        """The triggerer hears of it when the next attempt has adopted the job, and is deferred to another trigger."""
        deferred = self.instance(day)
        with self.airflow.stopped("triggerer"):
            self.clear(day)
            machine.wait_until(
                lambda: self.instance(day)[0] == "deferred" and self.instance(day) != deferred, COMMAND_SECONDS, 0.25)
            self.assertNotEqual(self.instance(day), deferred)

    def instance(self, day):
        """The state and the trigger of the task in a run."""
        with contextlib.closing(sqlite3.connect(self.airflow.home / "airflow.db", timeout=airflow_site.BUSY_SECONDS)) as db:
            return db.execute(
                "select state, trigger_id from task_instance where dag_id = 'deferred' and run_id like ?",
                (f"%{day}%",)).fetchone()


class ServerTest(AirflowTest):
    """Airflow's servers, and what a user does in the pages. One test, because the servers take long to start."""

    def setUp(self):
        super().setUp()
        self.airflow.run("dags", "reserialize")
        self.addCleanup(self.airflow.stop)
        self.airflow.serve("api-server", "scheduler", "triggerer")

    def start(self, dag, code=0):
        """Starts a run; returns it, its job's id and its gate, once the job runs."""
        command, ready, gate = self.gated(f"{dag}-{len(self.jobs())}", code)
        before = {job["id"] for job in self.jobs()}
        run = self.airflow.trigger(dag, command)
        run.ready = ready
        self.await_job(run)
        (job_id,) = {job["id"] for job in self.jobs()} - before
        return run, job_id, gate

    def clients(self, run):
        """The processes of tony-submit for a run."""
        return machine.processes_with(f"|{run.run_id}|")

    def await_client(self, run, former):
        """Waits until the next attempt has a client."""
        found = machine.wait_until(lambda: set(self.clients(run)) - {former}, START_SECONDS, 0.1)
        self.assertTrue(found, "no other attempt has begun")

    def await_job(self, run):
        """Waits until the run's job runs."""
        try:
            run.ready.read(START_SECONDS)
        except AssertionError as error:
            task = run.get()
            log = "\n".join(map(str, run.log(max(1, task["try_number"]))))
            raise AssertionError(f"{task}\n{log[-6000:]}") from error

    def test_tasks(self):
        for case in (self.link_and_clear, self.mark_failed, self.lost_process, self.kept,
                     self.deferred, self.deferred_and_marked, self.timed, self.watched, self.lost_triggerer,
                     self.mapped):
            with self.subTest(case.__name__):
                case()

    def link_and_clear(self):
        """The page's link works while the task runs; a green task that is cleared runs again."""
        run, first, gate = self.start("plain")

        def shown():
            links = run.get("/links")["extra_links"]
            return links if links.get("Job page") else None

        links = machine.wait_until(shown, END_SECONDS, 0.25)
        self.assertIsNotNone(links, "the task has no link to the job's page")
        self.assertRegex(links["Job page"], r"^http")
        gate.write()
        run.wait_for("success")
        self.assertEqual(run.summary()["application_id"], first)
        self.assertEqual(run.summary()["verdict"], "SUCCEEDED")
        self.assertEqual(run.get("/links")["extra_links"]["Job page"], links["Job page"])
        # Airflow's scheduler forgets a task that is cleared while it ends the run.
        run.wait_for_run("success")
        run.clear()
        self.await_job(run)
        gate.write()
        run.wait_for("success", tries=2)
        self.assertNotEqual(run.summary()["application_id"], first)

    def mark_failed(self):
        """The job of a task that is marked failed is stopped."""
        run, job_id, _ = self.start("plain")
        run.mark("failed")
        self.assert_over(job_id, "KILLED")
        run.wait_for("failed")

    def lost_process(self):
        """The retry of a task whose process was killed follows the job that is there."""
        run, job_id, gate = self.start("plain")
        (client,) = self.clients(run)
        os.kill(machine.parent_of(client), signal.SIGKILL)
        self.await_client(run, client)
        gate.write()
        run.wait_for("success", tries=2)
        self.assertEqual(run.summary()["application_id"], job_id)
        self.assertTrue(run.summary()["adopted"])

    def kept(self):
        """With on_kill_action="keep" the job waits for the next attempt."""
        run, job_id, gate = self.start("kept")
        (client,) = self.clients(run)
        run.clear()
        self.await_client(run, client)
        gate.write()
        run.wait_for("success", tries=2)
        self.assertEqual(run.summary()["application_id"], job_id)

    def deferred(self):
        """The result of a deferred task is the summary, too."""
        run, job_id, gate = self.start("deferred")
        run.wait_for("deferred")
        gate.write()
        run.wait_for("success")
        self.assertEqual(run.summary()["application_id"], job_id)
        self.assertEqual(run.summary()["verdict"], "SUCCEEDED")

    def deferred_and_marked(self):
        """The job of a deferred task that is marked failed is stopped."""
        run, job_id, _ = self.start("deferred")
        run.wait_for("deferred")
        self.await_trigger(job_id)
        run.mark("failed")
        self.assert_over(job_id, "KILLED")

    def timed(self):
        """The job of a task that has run for its execution_timeout is stopped, also that of a deferred one."""
        for dag in ("timed", "deferred-timed"):
            run, job_id, _ = self.start(dag)
            run.wait_for("failed")
            # The triggerer asks for the task's state, and loads a server into itself for its first question.
            self.assert_over(job_id, "KILLED", COMMAND_SECONDS)

    def watched(self):
        """A deferred sensor waits for a job of somebody else."""
        command, ready, gate = self.gated("watched")
        job = self.site.run("tony-submit", "--detach", "--json", "--executes", command,
                            *integration_case.conf(worker__instances=1), *integration_case.SMALL)
        job_id = json.loads(job.stdout)["job_id"]
        ready.read(START_SECONDS)
        run = self.airflow.trigger("watched", job_id)
        self.await_trigger(job_id)
        gate.write()
        run.wait_for("success")

    def lost_triggerer(self):
        """The job of a deferred task whose triggerer was killed goes on, and the next triggerer follows it."""
        run, job_id, gate = self.start("deferred")
        self.await_trigger(job_id)
        self.airflow.kill("triggerer")
        self.assertTrue(machine.wait_until(lambda: not self.followers(job_id), END_SECONDS, 0.1))
        self.airflow.start_servers("triggerer")
        self.await_trigger(job_id)
        gate.write()
        run.wait_for("success")
        self.assertEqual(run.summary()["application_id"], job_id)

    def mapped(self):
        """Each instance of a mapped task is a step of its own."""
        before = len(self.jobs())
        self.airflow.trigger("mapped")
        machine.wait_until(lambda: len(self.jobs()) >= before + 2, COMMAND_SECONDS, 0.25)
        self.assertEqual(len(self.jobs()), before + 2)


if __name__ == "__main__":
    integration_case.main()
