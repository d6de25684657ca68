#!/usr/bin/env python3
"""Traps of the first hour: what tony says before, or when, a user falls into one."""

import contextlib
import os
import signal

import integration_case
import machine
from integration_case import SMALL, JobTest

END_SECONDS = 20
WORKER = ("--conf", "tony.worker.instances=1", *SMALL)


class TrapTest(JobTest):
    """One trap each."""

    def run_job(self, *arguments, code=0):
        """Runs a job to its end; returns what tony-submit says on both streams."""
        result = self.site.run("tony-submit", "--quiet", *arguments)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout + result.stderr


class LeftBehindTest(TrapTest):
    """The program is in this folder, and nothing brings it to the tasks."""

    NOTE = "note: v.py is in this folder, but tasks start in one of their own: --src_dir .\n"

    def setUp(self):
        super().setUp()
        (self.site.folder / "v.py").write_text("print('here')\n")

    def test_a_note_says_which_option_brings_it(self):
        result = self.site.run("tony-submit", "--executes", "python3 v.py", *WORKER)
        self.assertEqual(result.returncode, 1)
        self.assertIn("can't open file", result.stdout)
        self.assertEqual(result.stderr, self.NOTE)

    def test_with_the_option_there_is_no_note(self):
        result = self.site.run("tony-submit", "--executes", "python3 v.py", "--src_dir", ".", *WORKER)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_the_dry_run_and_validate_say_it_too(self):
        command = ("--conf", "tony.worker.command=python3 v.py", *WORKER)
        result = self.site.run("tony-submit", "--dry-run", *command)
        self.assertEqual((result.returncode, result.stderr), (0, self.NOTE))
        result = self.site.run("tony", "validate", *command)
        self.assertTrue(result.stdout.startswith(self.NOTE), result.stdout)

    def test_a_script_in_place_of_a_job_file(self):
        said = self.assert_refused(2, "v.py")
        self.assertEqual(said, (
            "tony-submit: 'v.py' is no job file. Two ways to run this program in two tasks:\n"
            "  tony run -np 2 python3 v.py\n"
            "  tony-submit --executes 'python3 v.py' --src_dir . --conf tony.worker.instances=2 "
            "--conf tony.application.framework=pytorch\n"))


class InterpreterTest(TrapTest):
    """Which Python runs, and which one was meant."""

    def test_the_path_inside_the_environment_is_named(self):
        (self.site.folder / "venv/bin").mkdir(parents=True)
        (self.site.folder / "venv/bin/python").symlink_to("/usr/bin/python3")
        said = self.assert_refused(
            2, "--executes=-c pass", "--python_venv", "venv",
            "--python_binary_path", "venv/bin/python", *WORKER)
        self.assertEqual(said, (
            "--python_binary_path: tony.application.python-binary-path: there is no venv/bin/python in "
            f"the environment {self.site.folder}/venv; write the path inside the environment: "
            "bin/python\n"))

    def test_a_missing_module_names_the_python_that_lacks_it(self):
        said = self.run_job("--executes", "python3 -c 'import no_such.module'", *WORKER, code=1)
        self.assertRegex(
            said,
            r"^FAILED \(TASK_FAILED\): worker:0 exited with code 1: python3 is /\S+/python3; is no_such "
            r"installed there\? --python_venv gives the tasks an environment\n")


class FrameworkTest(TrapTest):
    """Variables that only another framework's tasks have."""

    MESSAGE = "environment variable MASTER_ADDR expected, but not set"
    HINT = ("PyTorch looks for variables that only PyTorch jobs have, and this is a tensorflow job: "
            "set tony.application.framework to pytorch")

    def test_the_hint_is_for_other_frameworks_only(self):
        command = ("--executes", f"echo '{self.MESSAGE}' >&2; exit 1", *WORKER)
        self.assertIn(f"worker:0 exited with code 1: {self.HINT}\n", self.run_job(*command, code=1))
        said = self.run_job(*command, "--conf", "tony.application.framework=pytorch", code=1)
        self.assertIn("worker:0 exited with code 1\n", said)


class SiteFileTest(TrapTest):
    """Keys that stand in many files and mean nothing to this job."""

    def test_the_portals_keys_in_a_site_file_are_notes(self):
        site = self.site.folder / "site/tony-site.xml"
        site.write_text(site.read_text().replace("</configuration>", (
            "<property><name>tony.history.location</name><value>/logs</value></property>"
            "<property><name>tony.https.keystore.path</name></property></configuration>")))
        result = self.site.run("tony-submit", "--executes", "true", *WORKER)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, rf"^note: {site}:1: tony.history.location: [^\n]+\n$")

    def test_a_key_of_a_role_that_the_job_lacks(self):
        result = self.site.run("tony-submit", "--executes", "true", *WORKER,
                               "--conf", "tony.chief.memory=1g")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(
            result.stderr,
            "note: --conf: tony.chief.memory: has no effect: tony.chief.instances is not set\n")


class CheckpointFolderTest(TrapTest):
    """A checkpoint folder of one's own."""

    KEY = "tony.application.checkpoint-dir"

    def conf(self, folder="deep/checkpoints"):
        """The options of a job with this checkpoint folder."""
        return ("--conf", f"{self.KEY}={folder}")

    def gated(self, name, *arguments):
        """Starts a job that runs until its gate is opened; returns the job and the gate."""
        ready, gate = self.pipe(f"{name}-ready"), self.pipe(name)
        job = self.submit(f"echo > {ready.path}; read < {gate.path}", *arguments)
        ready.read()
        return job, gate

    def refusal_by(self, holder):
        """The sentence that refuses a job, whose folder `holder`, a job's id, has."""
        return (
            f"--conf: {self.KEY}: job {holder} uses {self.site.folder}/deep/checkpoints, and two jobs "
            f"would write over each other's checkpoints; wait for it (tony wait {holder}) or end it "
            f"(tony kill {holder}), name another folder, or set {self.KEY}-shared=true\n")

    def second_job(self, *arguments):
        """Submits another job with the same folder; returns its result."""
        return self.site.run("tony-submit", "--quiet", "--executes", "true", *WORKER, *self.conf(),
                             *arguments)

    def test_is_made_with_its_parents(self):
        job = self.submit("echo x > $TONY_CHECKPOINT_DIR/1.pt", *self.conf())
        self.assert_succeeds(job)
        folder = self.site.folder / "deep/checkpoints"
        self.assertEqual([path.name for path in folder.iterdir()], ["1.pt"])

    def test_what_cannot_be_one_is_refused_before_the_start(self):
        (self.site.folder / "file").write_text("")
        said = self.assert_refused(2, "--executes", "true", *WORKER, *self.conf("file/x"))
        self.assertEqual(said, (
            f"--conf: {self.KEY}: {self.site.folder}/file is no folder; name a folder, or remove what "
            "has its name\n"))
        said = self.assert_refused(2, "--executes", "true", *WORKER, *self.conf("/proc/tony/x"))
        self.assertRegex(said, (
            rf"^--conf: {self.KEY}: checkpoints cannot be written there: [^;]+; name a folder to which "
            "you may write, or give yourself the right to\n$"))

    def test_the_dry_run_makes_nothing(self):
        dry = ("tony-submit", "--dry-run", "--executes", "true", *WORKER)
        self.assertEqual(self.site.run(*dry, *self.conf()).returncode, 0)
        self.assertFalse((self.site.folder / "deep").exists())
        (self.site.folder / "deep").write_text("")
        self.assertEqual(self.site.run(*dry, *self.conf()).returncode, 2)

    def test_a_second_job_is_refused_while_the_first_one_runs(self):
        first, gate = self.gated("first", *self.conf())
        result = self.second_job()
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr, self.refusal_by(first.id))
        shared = self.second_job("--conf", f"{self.KEY}-shared=true")
        self.assertEqual((shared.returncode, shared.stderr), (0, ""))
        other = self.second_job(*self.conf("elsewhere"))
        self.assertEqual((other.returncode, other.stderr), (0, ""))
        gate.write()
        self.assert_succeeds(first)
        self.assertEqual(self.second_job().returncode, 0)

    def test_a_job_keeps_its_folder_when_its_master_is_lost(self):
        first, gate = self.gated("first", *self.conf())
        (master,) = machine.programs_of(first.id, "tony-am")
        os.kill(master, signal.SIGKILL)
        self.assertEqual(self.second_job().stderr, self.refusal_by(first.id))
        self.assertTrue(machine.wait_until(
            lambda: [pid for pid in machine.programs_of(first.id, "tony-am") if pid != master],
            END_SECONDS))
        self.assertEqual(self.second_job().stderr, self.refusal_by(first.id))
        gate.write()
        self.assertEqual(first.wait(), 0, first.describe())
        self.assertEqual(self.second_job().returncode, 0)

    def test_a_detached_job_has_its_folder_without_its_client(self):
        ready, gate = self.pipe("ready"), self.pipe("gate")
        job_id = self.detach(f"echo > {ready.path}; read < {gate.path}", *self.conf())
        ready.read()
        self.assertEqual(self.second_job().stderr, self.refusal_by(job_id))
        for pid in machine.processes_with(job_id):
            with contextlib.suppress(ProcessLookupError):  # some end with the others
                os.kill(pid, signal.SIGKILL)
        # The kernel has freed it, however the processes ended.
        self.assertTrue(machine.wait_until(lambda: not machine.processes_with(job_id), END_SECONDS))
        self.assertEqual(self.second_job().returncode, 0)

    def test_a_rerun_resumes_from_it(self):
        step = "ls $TONY_CHECKPOINT_DIR; touch $TONY_CHECKPOINT_DIR/1.pt"
        self.assert_succeeds(self.submit(step, *self.conf()))
        result = self.site.run("tony", "rerun", "--resume", "--quiet")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.site.run("tony", "logs", "--stdout", "latest", "worker:0").stdout, "1.pt\n")


class DurationTest(TrapTest):
    """What ran has taken some time."""

    def test_a_short_job_took_less_than_a_tenth(self):
        self.run_job("--executes", "exit 3", *WORKER, code=1)
        status = self.site.run("tony", "status").stdout
        self.assertNotRegex(status, r"\b0\.0s")


if __name__ == "__main__":
    integration_case.main()
