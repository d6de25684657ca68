#!/usr/bin/env python3
"""Job files and requests that are refused before anything starts: place, reason and remedy."""

import os
import shutil
import unittest

import integration_case
from integration_case import JobTest

NOBODY = 65534


class BadJobFileTest(JobTest):
    """Mistakes in the text of a job file. Exit code 2."""

    def assert_says(self, properties, *lines):
        """The job file is refused with `lines`; they leave its folder out."""
        path = self.write_job(*properties)
        self.assertEqual(
            self.assert_refused(2, path), "".join(f"{path}:{line}\n" for line in lines)
        )

    def test_malformed_xml(self):
        path = self.site.folder / "job.xml"
        path.write_text("<configuration>\n\n<property><name>tony.worker.instances</nam>\n")
        said = self.assert_refused(2, path)
        self.assertRegex(said, rf"^{path}:3: malformed XML: .*; correct the XML\n$")

    def test_unknown_key(self):
        self.assert_says(
            [
                ("tony.worker.instances", 1),
                ("tony.worker.command", "true"),
                ("tony.worker.memroy", "1g"),
            ],
            "4: tony.worker.memroy: unknown key; did you mean tony.worker.memory?",
        )

    def test_wrong_unit(self):
        self.assert_says(
            [
                ("tony.worker.instances", 1),
                ("tony.worker.command", "true"),
                ("tony.worker.memory", "2gb"),
                ("tony.application.timeout", "10s"),
            ],
            "4: tony.worker.memory: '2gb' is not an amount of memory; write a whole number of "
            "megabytes (2048 or 2048m) or gigabytes (2g)",
            "5: tony.application.timeout: '10s' is not a whole number of milliseconds; write 10000",
        )

    def test_negative_count(self):
        self.assert_says(
            [("tony.worker.instances", -2), ("tony.worker.command", "true")],
            "2: tony.worker.instances: -2 is out of range; write 0 to 10000",
        )

    def test_an_image_that_is_not_named(self):
        self.assert_says(
            [
                ("tony.worker.instances", 1),
                ("tony.worker.command", "true"),
                ("tony.docker.enabled", "true"),
            ],
            "4: tony.docker.enabled: there is no image for worker; set tony.docker.containers.image "
            "or tony.docker.worker.image",
        )

    def test_all_problems_at_once_as_validate_says_them(self):
        path = self.write_job(
            ("tony.worker.instances", 1),
            ("tony.worker.command", "true"),
            ("tony.worker.gpus", "-1"),
            ("tony.application.src-dir", "no-folder"),
        )
        said = self.assert_refused(2, path)
        self.assertEqual(len(said.splitlines()), 2, said)
        validated = self.site.run("tony", "validate", path)
        self.assertEqual((validated.returncode, validated.stderr), (2, said))
        problems = self.site.run("tony", "validate", path, "--json")
        self.assertEqual(problems.returncode, 2)
        self.assertIn('"line": 4', problems.stdout)
        self.assertIn('"line": 5', problems.stdout)


class MissingFileTest(JobTest):
    """Files that are not there, or that the user may not read. Exit code 2."""

    def assert_missing(self, place, key, path):
        said = self.assert_refused(
            2,
            self.write_job(
                ("tony.worker.instances", 1), ("tony.worker.command", "true"), (key, path.name)
            ),
        )
        self.assertEqual(
            said, f"{self.site.folder}/{place}: {key}: {path} does not exist; correct the path\n"
        )

    def test_job_file(self):
        path = self.site.folder / "job.xml"
        self.assertEqual(
            self.assert_refused(2, path), f"{path}: does not exist; correct the path\n"
        )

    def test_program_environment_and_resource(self):
        path = self.site.folder / "nothing here"
        for key in (
            "tony.application.src-dir",
            "tony.application.python-venv",
            "tony.containers.resources",
            "tony.worker.resources",
        ):
            with self.subTest(key=key):
                self.assert_missing("job.xml:4", key, path)

    def test_options_name_themselves(self):
        for option in ("--src_dir", "--python_venv"):
            with self.subTest(option=option):
                said = self.assert_refused(
                    2, "--executes=true", "--conf=tony.worker.instances=1", f"{option}=nothing"
                )
                self.assertTrue(said.startswith(f"{option}: "), said)
                self.assertIn(f"{self.site.folder}/nothing does not exist; correct the path", said)


class UnreadableFileTest(JobTest):
    """Files of another user; root, who can read all, becomes nobody here."""

    def setUp(self):
        super().setUp()
        self.user = []
        if os.geteuid() == 0:
            if shutil.which("setpriv") is None:
                self.skipTest(
                    "root can read everything, and there is no setpriv to become another user"
                )
            self.user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
            os.chmod(self.site.folder, 0o755)
            self.site.local_dir.mkdir()
            os.chown(self.site.local_dir, NOBODY, NOBODY)
            if self.site.run_as(self.user, "tony", "list").returncode != 0:
                self.skipTest("another user cannot run the programs where they lie")

    def assert_refused_for_the_user(self, *arguments):
        result = self.site.run_as(self.user, "tony-submit", *arguments)
        self.assertEqual(result.returncode, 2, result.stderr + result.stdout)
        jobs = self.site.local_dir / "jobs"
        self.assertEqual(list(jobs.iterdir()) if jobs.exists() else [], [])
        return result.stderr

    def test_job_file(self):
        path = self.write_job(("tony.worker.instances", 1))
        os.chmod(path, 0)
        self.assertEqual(
            self.assert_refused_for_the_user(path),
            f"{path}: cannot be read: Permission denied; "
            "make it readable for the user who submits\n",
        )

    def test_resource(self):
        resource = self.site.folder / "data.csv"
        resource.touch(mode=0)
        path = self.write_job(
            ("tony.worker.instances", 1),
            ("tony.worker.command", "true"),
            ("tony.containers.resources", "data.csv"),
        )
        said = self.assert_refused_for_the_user(path)
        self.assertIn(f"{path}:4: tony.containers.resources: {resource} cannot be read", said)

    def test_file_in_the_program_folder(self):
        program = self.site.folder / "src"
        program.mkdir()
        (program / "secret.py").touch(mode=0)
        said = self.assert_refused_for_the_user(
            "--executes=true", "--conf=tony.worker.instances=1", f"--src_dir={program}"
        )
        self.assertIn(f"{program}/secret.py", said)
        self.assertIn("Permission denied", said)


class TooLargeTest(JobTest):
    """Requests that this machine can never grant. Exit code 5."""

    def test_memory(self):
        said = self.assert_refused(
            5, "--executes=true", "--conf=tony.worker.instances=3", "--conf=tony.worker.memory=999g"
        )
        self.assertIn("the job needs 3068928 MiB of memory (3 x worker with 1022976)", said)
        self.assertIn("lower tony.worker.memory or tony.worker.instances", said)

    def test_gpus(self):
        said = self.assert_refused(
            5,
            *("--executes=true", "--conf=tony.worker.instances=2", "--conf=tony.worker.gpus=3"),
            "--conf=tony.local.gpus=4",
        )
        self.assertIn("the job needs 6 GPUs (2 x worker with 3)", said)
        self.assertIn("has 4 GPUs in total", said)

    def test_limits_of_the_site(self):
        said = self.assert_refused(
            2,
            *("--executes=true", "--conf=tony.worker.instances=5"),
            "--conf=tony.task.max-total-instances=4",
        )
        self.assertIn("tony.task.max-total-instances", said)

    def test_vcores_are_shares_unless_they_are_declared(self):
        vcores = (
            "--executes=true",
            "--conf=tony.worker.instances=4",
            "--conf=tony.worker.vcores=64",
            "--conf=tony.worker.memory=16m",
        )
        result = self.site.run("tony-submit", "--dry-run", *vcores)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("256 vcores", self.assert_refused(5, *vcores, "--conf=tony.local.vcores=2"))


if __name__ == "__main__":
    integration_case.main()
