#!/usr/bin/env python3
"""`tony doctor`: what a machine lacks, in words that say what to do."""

import json

import integration_case
from integration_case import JobTest


class DoctorTest(JobTest):
    """The machine of the tests runs jobs, so nothing may be wrong with it."""

    def test_a_machine_that_runs_jobs_has_nothing_wrong(self):
        result = self.site.run("tony", "doctor")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for what in ("jobs' folder", "ledger", "memory", "GPUs", "containment", "Python",
                     "open files", "processes"):
            self.assertRegex(result.stdout, rf"(?m)^(ok|note) +{what} +\S")
        self.assertNotIn("WRONG", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^ok +ledger +private, as tony.local.ledger says$")

    def test_what_is_wrong_has_a_remedy_and_an_exit_code(self):
        folder = self.site.folder / "mine"
        folder.mkdir(mode=0o700)
        (folder / "thesis.txt").write_text("mine")
        result = self.site.run_bare("tony", "doctor", "--json", "--conf",
                                    f"tony.local.dir={folder}")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        (wrong,) = [each for each in json.loads(result.stdout) if each["kind"] == "WRONG"
                    and each["what"] == "jobs' folder"]
        self.assertIn("has something in it", wrong["sentence"])
        self.assertIn("tony.local.dir", wrong["remedy"])

    def test_a_ledger_that_is_missing_is_made_by_one_line(self):
        ledger = self.site.folder / "ledger"
        result = self.site.run("tony", "doctor", "--conf", f"tony.local.ledger={ledger}")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(f"sudo install -d -m 1777 {ledger}", result.stdout)
        ledger.mkdir()
        ledger.chmod(0o1777)
        result = self.site.run("tony", "doctor", "--conf", f"tony.local.ledger={ledger}")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("the jobs of all users see each other", result.stdout)


if __name__ == "__main__":
    integration_case.main()
