#!/usr/bin/env python3
"""The manual pages, as `man` shows them: groff finds nothing to warn of in any of them."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import integration_case


class ManualTest(unittest.TestCase):
    """Pages written by tony-manual, which the build runs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        subprocess.run([integration_case.programs / "tony-manual", self.folder], check=True)
        self.pages = sorted((self.folder / "man").rglob("tony*"))

    def shown(self, page):
        """The page as a terminal of 80 columns has it, without fonts."""
        result = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-P-c", "-P-b", "-P-u", "-rLL=80n", page],
            capture_output=True, text=True, check=True)
        self.assertEqual(result.stderr, "", page)
        return result.stdout

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed (package groff-base)")
    def test_groff_warns_of_nothing(self):
        self.assertGreater(len(self.pages), 10)
        for page in self.pages:
            self.shown(page)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed (package groff-base)")
    def test_a_page_says_what_the_help_says(self):
        page = self.shown(self.folder / "man/man1/tony-wait.1")
        for part in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"):
            self.assertIn(f"\n{part}\n", page)
        self.assertIn("tony-wait - wait for jobs to end, with tony-submit's exit status", page)
        self.assertIn("tony wait [OPTIONS] JOB…", page)
        self.assertIn("--timeout SECONDS", page)
        self.assertRegex(page, r"\n +6 +the job goes on\n")

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed (package groff-base)")
    def test_the_job_file_has_its_example_and_its_keys(self):
        page = self.shown(self.folder / "man/man5/tony-job.5")
        self.assertIn("<property><name>tony.worker.instances</name><value>2</value></property>",
                      page)
        self.assertIn("\n       tony.<type>.memory\n", page)

    @unittest.skipUnless(shutil.which("lexgrog"), "lexgrog is not installed (package man-db)")
    def test_apropos_can_read_every_page(self):
        for page in self.pages:
            result = subprocess.run(["lexgrog", page], capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn(f'"{page.stem} - ', result.stdout)

    def test_every_file_lies_where_its_reader_looks(self):
        files = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")
                 if path.is_file()}
        for name in ("man/man1/tony.1", "man/man1/tony-submit.1", "man/man1/tony-logs.1",
                     "man/man5/tony-job.5", "bash-completion/completions/tony",
                     "bash-completion/completions/tony-submit", "zsh/site-functions/_tony",
                     "fish/vendor_completions.d/tony.fish",
                     "fish/vendor_completions.d/tony-submit.fish"):
            self.assertIn(name, files)

    def test_a_folder_that_cannot_be_made_is_named(self):
        (self.folder / "file").write_text("x")
        result = subprocess.run([integration_case.programs / "tony-manual", self.folder / "file"],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{self.folder}/file/man/man1/tony.1 cannot be written", result.stderr)

    def test_the_build_installs_them(self):
        build = integration_case.programs.parent
        if not (build / "share").exists():
            self.skipTest("this build has no target `share`: a sanitizer's, or not built whole")
        installed = self.folder / "installed with blanks"
        subprocess.run(["cmake", "--install", build, "--prefix", installed,
                        "--component", "share"], check=True, stdout=subprocess.DEVNULL)
        for page in self.pages:
            path = installed / "share" / page.relative_to(self.folder)
            self.assertEqual(path.read_text(), page.read_text())
        self.assertTrue((installed / "share/bash-completion/completions/tony").exists())

    @unittest.skipUnless(shutil.which("man"), "man is not installed (package man-db)")
    def test_man_finds_the_page_of_a_verb(self):
        result = subprocess.run(["man", "-M", self.folder / "man", "tony", "logs"],
                                env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "80",
                                     "LC_ALL": "C.UTF-8"},
                                capture_output=True, text=True, check=True)
        self.assertIn("tony-logs - what the tasks print", result.stdout)


if __name__ == "__main__":
    integration_case.main()
