#!/usr/bin/env python3
"""An installed tony: `cmake --install` into a folder, and jobs from there.

The folder of the programs is part of a build, from which everything is installed.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import integration_case
import tony_cli

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import tony.collective as hvd
hvd.init()
print("ranks", hvd.allgather_object(hvd.rank()), "of", hvd.__file__)
"""


def install(prefix):
    """Installs the build in the folder `prefix`."""
    result = subprocess.run(
        ["cmake", "--install", integration_case.programs.parent, "--prefix", prefix],
        capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


class InstallTest(integration_case.JobTest):
    """A tree in a folder with a blank, and a user who knows nothing but its programs."""

    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tony-test-"))
        cls.addClassCleanup(shutil.rmtree, folder)
        # Of another name than the one that it was installed in: no path is compiled in.
        install(folder / "first")
        cls.prefix = (folder / "first").rename(folder / "a place")

    def setUp(self):
        self.site = tony_cli.Site(self, self.prefix / "bin")
        self.home = self.site.folder / "home"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        (self.project / "train.py").write_text(PROGRAM)

    def user_runs(self, *command):
        """Runs a command in the user's project, in a plain environment; returns what it printed."""
        result = subprocess.run(
            command, cwd=self.project, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=tony_cli.DEADLINE_SECONDS, check=False,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.home),
                 "TONY_CONF_DIR": self.site.environment["TONY_CONF_DIR"]})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def assert_trains(self, tony):
        """Two ranks started by the program `tony` meet by the installed package."""
        printed = self.user_runs(tony, "run", "-np", "2", "--memory", "200m", sys.executable, "-B",
                                 "train.py").splitlines()
        package = self.prefix / "lib/tony/python/tony/collective/__init__.py"
        self.assertEqual(sorted(line for line in printed if line.startswith("worker:")),
                         [f"worker:{rank} | ranks [0, 1] of {package}" for rank in range(2)])
        self.assertIn("SUCCEEDED", printed[-1])

    def test_a_job_trains(self):
        self.assert_trains(self.prefix / "bin/tony")

    def test_a_job_trains_by_a_symbolic_link(self):
        link = self.home / "bin/tony"
        link.parent.mkdir()
        link.symlink_to(os.path.relpath(self.prefix / "bin/tony", link.parent))
        self.assert_trains(link)

    def test_a_running_job_survives_another_installation_over_its_own(self):
        gate = tony_cli.Line(self, self.site.folder / "gate")
        job = self.site.submit("--executes", f"read < {gate.path}",
                               "--conf", "tony.worker.instances=1",
                               "--conf", "tony.worker.memory=64m")
        executor = self.executor_of(job, "worker:0")
        install(self.prefix)
        # The lost container's place is taken by an executor that is started from the new files.
        os.kill(executor, signal.SIGKILL)
        job.wait_until_running("worker:0", epoch=1)
        gate.write()
        self.assertEqual(job.wait(), 0, job.describe())

    def test_the_tree_has_what_users_and_clusters_need(self):
        for name in ("bin/tony", "bin/tony-submit", "libexec/tony/tony-am",
                     "libexec/tony/tony-executor", "libexec/tony/tony-driver", "libexec/tony/tony-portal",
                     "lib/tony/python/tony/collective/__init__.py",
                     "lib/tony/python/tony/collective/libtony_collective.so",
                     "lib/tony/tony-runtime.tar.gz", "include/tony/collective.h",
                     "share/doc/tony/README.md", "share/doc/tony/LICENSE",
                     "share/doc/tony/docs/configuration.md",
                     "share/doc/tony/examples/pytorch-ddp/job.xml"):
            self.assertTrue((self.prefix / name).is_file(), name)
        self.assertEqual(list(self.prefix.rglob("__pycache__")), [])

    def test_programs_are_stripped(self):
        for name in ("bin/tony", "libexec/tony/tony-am",
                     "lib/tony/python/tony/collective/libtony_collective.so"):
            sections = subprocess.run(["readelf", "--sections", "--wide", self.prefix / name],
                                      capture_output=True, text=True, check=True).stdout
            self.assertIn(".text", sections)
            self.assertNotIn(".symtab", sections, name)

    def test_a_copied_client_names_what_is_missing(self):
        alone = self.home / "tony-submit"
        shutil.copy(self.prefix / "bin/tony-submit", alone)
        result = subprocess.run(
            [alone, "--executes", "true", "--conf", f"tony.local.dir={self.site.local_dir}",
             "--conf", "tony.worker.instances=1", "--conf", "tony.worker.memory=64m"],
            env=self.site.environment, capture_output=True, text=True, check=False,
            timeout=tony_cli.DEADLINE_SECONDS)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn(f"there is no program {self.home}/tony-am, which is a part of tony; "
                      "install tony as a whole (docs/install.md)", result.stderr)


class VersionTest(unittest.TestCase):
    """What --version prints, and where the commit comes from."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tony-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.source = self.folder / "source"
        (self.source / "cmake").mkdir(parents=True)
        shutil.copy(ROOT / "cmake/commit.txt", self.source / "cmake")

    def text(self):
        """The text that a build of self.source has in it."""
        output = self.folder / "version.cc"
        subprocess.run(
            ["cmake", "-D", f"SOURCE={self.source}", "-D", "VERSION=1.2.3",
             "-D", f"OUTPUT={output}", "-P", ROOT / "cmake/version.cmake"], check=True)
        return re.search('return "(.*)"', output.read_text()).group(1)

    def git(self, *arguments):
        """Runs git in self.source; returns what it printed."""
        if not shutil.which("git"):
            self.skipTest("there is no git")
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        return subprocess.run(["git", "-C", self.source, *identity, *arguments],
                              capture_output=True, text=True, check=True).stdout.strip()

    def test_each_program_prints_the_same(self):
        version = re.search(r"^project\(tony VERSION ([0-9.]+)",
                            (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE).group(1)
        lines = set()
        for name in ("tony", "tony-submit", "tony-am", "tony-executor", "tony-driver", "tony-portal"):
            result = subprocess.run([integration_case.programs / name, "--version"],
                                    capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, ""), name)
            lines.add(result.stdout)
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(
            lines.pop(), rf"^tony {version} \(commit (unknown|[0-9a-f]{{7,}}, \d{{4}}-\d\d-\d\d)\)\n$")

    def test_without_a_repository_the_commit_is_unknown(self):
        self.assertEqual(self.text(), "tony 1.2.3 (commit unknown)")

    def test_a_repositorys_commit(self):
        self.git("init", "--quiet")
        self.assertEqual(self.text(), "tony 1.2.3 (commit unknown)")
        self.git("commit", "--quiet", "--allow-empty", "--message", "one",
                 "--date", "2020-02-02T00:00:00Z")
        commit = self.git("log", "-1", "--abbrev=7", "--format=%h, %cs")
        self.assertEqual(self.text(), f"tony 1.2.3 (commit {commit})")

    def test_a_source_archive_brings_its_commit_along(self):
        shutil.copy(ROOT / ".gitattributes", self.source)
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "one")
        commit = self.git("log", "-1", "--format=%h, %cs")
        self.git("archive", "--output", self.folder / "source.tar", "HEAD")
        shutil.rmtree(self.source)
        shutil.unpack_archive(self.folder / "source.tar", self.source)
        self.assertEqual(self.text(), f"tony 1.2.3 (commit {commit})")


class RecordedJobsTest(integration_case.JobTest):
    """Jobs of released versions, which have failed once and then succeeded."""

    def setUp(self):
        super().setUp()
        self.jobs = {}
        for version in (pathlib.Path(__file__).parent / "recorded").iterdir():
            for folder in version.iterdir() if version.is_dir() else ():
                copy = self.site.local_dir / "jobs" / folder.name
                shutil.copytree(folder, copy)
                self.jobs[version.name] = copy
        self.assertIn("0.1.0", self.jobs)
        self.site.local_dir.chmod(0o700)
        for path in self.site.local_dir.rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)

    def test_their_state_and_logs_are_read(self):
        listed = {job["id"]: job for job in self.site.verb("list")}
        for version, folder in self.jobs.items():
            with self.subTest(version):
                self.assertEqual(listed[folder.name]["state"], "SUCCEEDED")
                status = self.site.verb("status", folder.name)
                self.assertEqual(status["verdict"]["reason"], "TASKS_SUCCEEDED")
                self.assertEqual({task["task"]: (task["state"], task["attempt"])
                                  for task in status["tasks"]},
                                 {"worker:0": ("SUCCEEDED", 2), "worker:1": ("SUCCEEDED", 2)})
                shown = self.site.run("tony", "status", folder.name)
                self.assertIn("SUCCEEDED (TASKS_SUCCEEDED): All 2 tracked tasks succeeded",
                              shown.stdout, shown.stderr)
                logs = self.site.run("tony", "logs", folder.name, "worker:1")
                self.assertIn("hello from worker:1, attempt 2", logs.stdout, logs.stderr)

    def test_they_are_submitted_again(self):
        for version, folder in self.jobs.items():
            with self.subTest(version):
                result = self.site.run("tony", "rerun", folder.name)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertIn("All 2 tracked tasks succeeded", result.stdout)

    def test_they_are_removed(self):
        for folder in self.jobs.values():
            removed = self.site.run("tony", "rm", folder.name)
            self.assertEqual(removed.returncode, 0, removed.stderr)
            self.assertFalse(folder.exists())

    def test_a_newer_versions_job_is_named_and_not_guessed_at(self):
        folder = self.jobs["0.1.0"]
        events = folder / "events.jsonl"
        events.write_text(events.read_text().replace('"schema_version":1', '"schema_version":2'))
        self.assertEqual([job["state"] for job in self.site.verb("list")
                          if job["id"] == folder.name], ["UNREADABLE"])
        shown = self.site.run("tony", "status", folder.name)
        self.assertEqual(
            shown.stdout,
            f"{folder.name}  UNREADABLE\n"
            "UNREADABLE: a newer tony has recorded this job, in version 2 of the record, and this "
            "tony reads versions up to 1; use the newer tony for this job\n")


if __name__ == "__main__":
    integration_case.main()
