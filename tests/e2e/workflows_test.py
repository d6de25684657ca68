#!/usr/bin/env python3
"""The examples for workflow systems, each run by its own system: cron's line, make, Luigi, Prefect, Dagster."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/workflows"
sys.path.insert(0, str(ROOT / "tests/integration"))

# pylint: disable=wrong-import-position
import integration_case
import machine
import tony_cli
from integration_case import JobTest

END_SECONDS = 20
SYSTEM_SECONDS = 180  # Prefect starts a server, Dagster a process for each step


class WorkflowTest(JobTest):
    """A workflow system whose steps find tony-submit on the PATH, and jobs in the test's folder."""

    def setUp(self):
        super().setUp()
        self.folder = self.site.folder / "home"
        self.folder.mkdir()
        (self.folder / "bin").mkdir()
        program = self.folder / "bin/tony-submit"
        options = [f"--conf=tony.local.dir={self.site.local_dir}", "--conf=tony.worker.memory=64m"]
        program.write_text(f'#!/bin/sh\nexec {self.site.programs}/tony-submit "$@" {" ".join(options)}\n')
        program.chmod(0o700)
        self.environment = {
            **self.site.environment,
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def start(self, command):
        """Starts a command of the workflow system."""
        # A file: Prefect leaves its temporary server behind, which would hold a pipe open.
        with open(self.folder / "output", "wb") as output:
            process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )
        self.addCleanup(self._end, process)
        return process

    @staticmethod
    def _end(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def output(self):
        """What the system has printed, its end at least."""
        return (self.folder / "output").read_text(errors="replace")[-6000:]

    def finish(self, process, code=0):
        """The output of a command, which ends with `code`."""
        try:
            process.wait(SYSTEM_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(self.output()) from None
        self.assertEqual(process.returncode, code, self.output())
        return self.output()

    def run_system(self, command, code=0):
        """Runs a command of the workflow system to its end; returns its output."""
        return self.finish(self.start(command), code)

    def python(self, system):
        """The interpreter of a workflow system's environment, and its folder."""
        python = tony_cli.examples_python(EXAMPLES / system / "requirements.txt")
        self.environment["PATH"] = f"{self.folder}/bin:{pathlib.Path(python).parent}:{os.environ['PATH']}"
        return python

    def slow_job(self):
        """From now on the job's tasks say that they run, and do not end by themselves; returns the pipe."""
        ready = self.pipe("ready")
        program = self.folder / "bin/tony-submit"
        program.write_text(
            program.read_text().rstrip("\n") + f" '--conf=tony.worker.command=echo > {ready.path}; sleep 600'\n"
        )
        return ready

    def await_line(self, process, ready):
        """Waits until the job's task runs."""
        try:
            ready.read(SYSTEM_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{process.poll()}\n{self.output()}") from error

    def assert_stops(self, process, number, ready):
        """A signal to the workflow system's process stops the job."""
        self.await_line(process, ready)
        process.send_signal(number)
        process.wait(SYSTEM_SECONDS)
        job = self.site.verb("list")[0]
        self.site.run("tony", "wait", job["id"], "--timeout", str(END_SECONDS))
        self.assertEqual(self.site.verb("status", job["id"])["state"], "KILLED", self.output())
        self.assertTrue(machine.wait_until(lambda: not machine.processes_with(job["id"]), END_SECONDS))
        self.assertNotEqual(process.returncode, 0)

    def only_job(self):
        """The job, which has succeeded and is the only one."""
        (job,) = self.site.verb("list")
        self.assertEqual(job["state"], "SUCCEEDED")
        return job["id"]


class CronTest(WorkflowTest):
    """The line of the crontab, as cron runs it: by sh, without the day's percent sign escaped."""

    def test_line(self):
        jobs = self.folder / "jobs"
        jobs.mkdir()
        for name in ("job.xml", "src"):
            (jobs / name).symlink_to(EXAMPLES / name)
        (line,) = (line for line in (EXAMPLES / "cron/crontab").read_text().splitlines() if line[0] != "#")
        command = line.split(maxsplit=5)[5].replace(r"\%", "%").replace("job.xml >", "--src_dir src job.xml >")
        self.run_system(["/bin/sh", "-c", command])
        summary = json.loads((jobs / "nightly.json").read_text())
        self.assertEqual(summary["application_id"], self.only_job())
        self.assertRegex(summary["step_key"], r"^cron\|nightly\|20\d\d-\d\d-\d\d$")
        self.assertIn("SUCCEEDED", (jobs / "nightly.log").read_text())


class MakeTest(WorkflowTest):
    """make: a target that is made once, and a Ctrl-C."""

    def command(self, *arguments):
        """A call of make that leaves the example's folder as it is."""
        return ["make", "-f", EXAMPLES / "make/Makefile", f"JOB={EXAMPLES}/job.xml", f"SRC={EXAMPLES}/src", *arguments]

    def test_makes_once(self):
        self.run_system(self.command())
        self.run_system(self.command())
        self.only_job()
        self.assertEqual((self.folder / "report.txt").read_text(), "SUCCEEDED\n")

    def test_control_c(self):
        ready = self.slow_job()
        process = self.start(["setsid", "--wait", *map(str, self.command())])
        self.await_line(process, ready)
        # A terminal sends SIGINT to the whole group.
        (make,) = (pid for pid, line in machine.processes_with("Makefile").items() if line.startswith("make"))
        os.killpg(os.getpgid(make), signal.SIGINT)
        self.finish(process, 2)
        (job,) = self.site.verb("list")
        self.assertEqual(job["state"], "KILLED")
        self.assertFalse((self.folder / "model.json").exists())


class LuigiTest(WorkflowTest):
    """Luigi, with its local scheduler."""

    def command(self):
        """A call of Luigi."""
        self.environment.update(PYTHONPATH=str(EXAMPLES / "luigi"), LUIGI_CONFIG_PATH=str(EXAMPLES / "luigi/luigi.cfg"))
        arguments = ["--module", "train", "Evaluate", "--local-scheduler", "--day", "2026-11-27"]
        return [self.python("luigi"), "-m", "luigi", *arguments]

    def test_flow(self):
        self.run_system(self.command())
        self.run_system(self.command())
        job_id = self.only_job()
        self.assertEqual((self.folder / "evaluate-2026-11-27.txt").read_text(), f"{job_id}\n")

    def test_sigterm(self):
        ready = self.slow_job()
        self.assert_stops(self.start(self.command()), signal.SIGTERM, ready)


class PrefectTest(WorkflowTest):
    """Prefect, with the server that a flow starts for itself."""

    def command(self):
        """A run of the flow."""
        self.environment.update(DO_NOT_TRACK="1", PREFECT_HOME=str(self.folder / "prefect"),
                                PREFECT_SERVER_ANALYTICS_ENABLED="false",
                                PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS=str(SYSTEM_SECONDS))
        return [self.python("prefect"), EXAMPLES / "prefect/flow.py"]

    def test_flow(self):
        text = self.run_system(self.command())
        self.assertIn(f"SUCCEEDED {self.only_job()}", text)

    def test_sigterm(self):
        ready = self.slow_job()
        self.assert_stops(self.start(self.command()), signal.SIGTERM, ready)


class DagsterTest(WorkflowTest):
    """Dagster, with an asset by Dagster Pipes."""

    def command(self):
        """A materialization of the asset."""
        home = self.folder / "dagster"
        home.mkdir()
        (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
        self.environment["DAGSTER_HOME"] = str(home)
        python = self.python("dagster")
        arguments = ["asset", "materialize", "--select", "model", "-f", EXAMPLES / "dagster/assets.py"]
        return [python, "-m", "dagster", *arguments]

    def test_asset(self):
        text = self.run_system(self.command())
        job_id = self.only_job()
        self.assertTrue(re.search(r"ASSET_MATERIALIZATION", text), text)
        self.assertIn(job_id, text)

    def test_sigint(self):
        ready = self.slow_job()
        self.assert_stops(self.start(self.command()), signal.SIGINT, ready)


if __name__ == "__main__":
    integration_case.main()
