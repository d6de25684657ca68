"""The base of all tests here: a site of its own, and the claim that a job leaves nothing behind.

A test file is run as `FILE PROGRAMS [unittest's arguments]`; PROGRAMS is the folder of tony-submit.
"""

import concurrent.futures
import importlib
import json
import os
import pathlib
import stat
import subprocess
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import machine
import tony_cli

# Small tasks, so that any machine has room; the short grace is for tests that need it to pass.
SMALL = ("--conf", "tony.worker.memory=64m")
PRINT_ALL = "python3 -c 'import json, os; print(json.dumps(dict(os.environ)))'"
# Parts of a job's folder that must not outlive the job.
TRANSIENT = ("secrets", "containers", "archives", "cache", "am.address")

programs = None  # pylint: disable=invalid-name


def conf(**values):
    """Options that set keys; `__` stands for a dot and `_` for a dash."""
    options = []
    for name, value in values.items():
        key = name.replace("__", ".").replace("_", "-")
        options += ["--conf", f"tony.{key}={value}"]
    return options


class JobTest(unittest.TestCase):
    """A test on a site of its own."""

    @staticmethod
    def yarn_cluster():
        """The YarnCluster where the jobs run; None: they run on this machine."""
        return None

    def setUp(self):
        self.site = tony_cli.Site(self, programs, self.yarn_cluster())
        self.portal = None  # the newest one's process

    def submit(self, command, *arguments, workers=1):
        """Starts a job of workers that run `command`."""
        return self.site.submit(
            *("--executes", command, "--conf", f"tony.worker.instances={workers}"),
            *SMALL,
            *arguments,
        )

    def types(self, **counts):
        """Options for so many small tasks of each type."""
        options = []
        for name, count in counts.items():
            options += conf(**{f"{name}__instances": count, f"{name}__memory": "64m"})
        return options

    def environments(self, *arguments, **counts):
        """Runs a job with so many tasks of each type; returns the environment of each task."""
        names = [f"{name}:{index}" for name, count in counts.items() for index in range(count)]
        printed, gate = self.pipe("printed"), self.pipe("gate")
        # The job does not wait for all types, so no task ends before all have printed.
        job = self.site.submit(
            *("--executes", f"{PRINT_ALL}; echo > {printed.path}; read < {gate.path}"),
            *self.types(**counts),
            *arguments,
        )
        for _ in names:
            printed.read()
        gate.write(len(names))
        self.assert_succeeds(job)
        return {name: json.loads(job.log(name)) for name in names}

    def detach(self, command, *arguments):
        """Starts a detached job of one worker; returns its id."""
        result = self.site.run(
            *("tony-submit", "--detach", "--json", "--executes", command),
            *("--conf", "tony.worker.instances=1", *SMALL, *arguments),
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        job_id = json.loads(result.stdout)["job_id"]
        # Should the test fail, nothing of the job stays.
        self.addCleanup(self.site.run, "tony", "kill", job_id)
        return job_id

    def start_portal(self, *arguments):
        """Starts a portal of the site, which the test's end stops: its process in self.portal. Returns the address to
        visit."""
        portal = subprocess.Popen(self.site.command("tony", "portal", "--json", *arguments), cwd=self.site.folder,
                                  env=self.site.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        for clean_up in (portal.stdout.close, portal.wait, portal.terminate):
            self.addCleanup(clean_up)
        self.portal = portal
        return json.loads(portal.stdout.readline())["url"]

    def assert_ends(self, job, code, reason=None, deadline_seconds=tony_cli.DEADLINE_SECONDS):
        """Waits for the job's end, which leaves nothing behind; returns the verdict's sentence."""
        self.assertEqual(job.wait(deadline_seconds), code, job.describe())
        verdict = job.verdict
        if reason:
            self.assertEqual(verdict["reason"], reason, job.describe())
        self.assert_nothing_left(job.folder)
        return verdict["sentence"]

    def assert_succeeds(self, job):
        """The job ends well and leaves nothing behind."""
        return self.assert_ends(job, 0, "TASKS_SUCCEEDED")

    def assert_nothing_left(self, folder):
        """No process of the job lives, its secrets and containers are gone, the rest is private."""
        self.assertEqual(machine.processes_with(folder.name), {})
        for name in TRANSIENT:
            self.assertFalse((folder / name).exists(), f"{name} is left in {folder}")
        self.assert_private(folder)

    def assert_private(self, folder):
        """All of `folder` is for its owner alone, what the programs themselves made excepted."""
        for path in [folder, *folder.rglob("*")]:
            if (folder / "checkpoints") in path.parents:
                continue
            mode = stat.S_IMODE(path.lstat().st_mode)
            self.assertEqual(oct(mode), oct(0o700 if path.is_dir() else 0o600), path)

    def assert_refused(self, code, *arguments):
        """tony-submit refuses the job before it starts; returns what it says."""
        result = self.site.run("tony-submit", *arguments)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        jobs = self.site.local_dir / "jobs"
        self.assertEqual(list(jobs.iterdir()) if jobs.exists() else [], [])
        return result.stderr

    def write_job(self, *properties, name="job.xml"):
        """Writes a job file, one property a line from line 2 on; returns its path."""
        lines = [
            f"<property><name>{key}</name><value>{value}</value></property>"
            for key, value in properties
        ]
        path = self.site.folder / name
        path.write_text("\n".join(["<configuration>", *lines, "</configuration>\n"]))
        return path

    def executor_of(self, job, task, epoch=0):
        """The id of the executor that runs a task."""
        container = job.wait_for_task(task, "RUNNING", epoch=epoch)["container"]
        (executor,) = (
            pid
            for pid in machine.processes_with(container)
            if machine.name_of(pid) == "tony-executor"
        )
        return executor

    def pipe(self, name):
        """A pipe for lines to and from the job's programs."""
        return tony_cli.Line(self, self.site.folder / name)


def main():
    """Runs the tests of the calling file."""
    global programs  # pylint: disable=global-statement
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()


class OwnSiteTest(JobTest):
    """A test whose own process has the test's site, for the package `tony`."""

    def in_thread(self, function, *arguments):
        """Calls a function in a thread of its own; returns the Future of its result."""
        pool = concurrent.futures.ThreadPoolExecutor(1)
        self.addCleanup(pool.shutdown)
        return pool.submit(function, *arguments)

    def setUp(self):
        super().setUp()
        site = pathlib.Path(self.site.environment["TONY_CONF_DIR"]) / "tony-site.xml"
        text = site.read_text(encoding="utf-8").replace(
            "</configuration>",
            f"<property><name>tony.local.dir</name><value>{self.site.local_dir}</value></property></configuration>")
        site.write_text(text, encoding="utf-8")
        patch = mock.patch.dict(os.environ, {"TONY_CONF_DIR": str(site.parent)})
        patch.start()
        self.addCleanup(patch.stop)


def package_folder():
    """The folder of the build's Python package."""
    return programs.parent / "python"


def import_package(name="tony"):
    """Imports the package beside the programs, or a part of it."""
    if str(package_folder()) not in sys.path:
        sys.path.insert(1, str(package_folder()))
    return importlib.import_module(name)
