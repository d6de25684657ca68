#!/usr/bin/env python3
"""Clients without a ticket, on a real YARN cluster with Kerberos: their right is a file of tokens.

    yarn_tokens_test.py PROGRAMS [unittest's arguments]

PROGRAMS is the folder of tony-submit and its companions, with the runtime bundle built beside it.
Exits with 77 where Hadoop or a KDC cannot run.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import tony_cli
import yarn_cluster

DEADLINE_SECONDS = 180
INFRASTRUCTURE = 3
SMALL = ("--conf", "tony.worker.instances=2", "--conf", "tony.worker.memory=256m",
         "--conf", "tony.am.memory=256m")

programs = None  # pylint: disable=invalid-name


class Tokens(unittest.TestCase):
    """One cluster for all."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = yarn_cluster.YarnCluster("--kerberos", "--protection", "privacy")
        cls.addClassCleanup(cls.cluster.stop)
        cls.tokens = cls.cluster.folder / "tokens"
        with_ticket = {**cls.cluster.environment,
                       "KRB5CCNAME": f"FILE:{cls.cluster.folder}/alice"}
        yarn_cluster.log_in("alice", with_ticket)
        jars = subprocess.run([yarn_cluster.SCRIPT, "fetch"], check=True, capture_output=True,
                              text=True).stdout.strip()
        java = os.environ.get("JAVA_HOME", "/usr/lib/jvm/java-17-openjdk-amd64") + "/bin/java"
        subprocess.run(
            [java, f"-Djava.security.krb5.conf={with_ticket['KRB5_CONFIG']}",
             "-cp", f"{jars}/lib/*:{with_ticket['HADOOP_CONF_DIR']}",
             ROOT / "tests/e2e/FetchTokens.java", cls.tokens],
            env=with_ticket, check=True, timeout=DEADLINE_SECONDS)

    def setUp(self):
        self.site = tony_cli.Site(self, programs, self.cluster)
        # Azkaban names a cache that does not exist.
        self.site.environment["KRB5CCNAME"] = f"/tmp/krb5cc__p__flow__{os.getpid()}"
        self.site.environment["HADOOP_TOKEN_FILE_LOCATION"] = str(self.tokens)

    def be_a_step(self, *properties):
        """What follows is a step of Azkaban."""
        file = self.site.folder / "properties"
        file.write_text("\n".join(["azkaban.flow.execid=7", "azkaban.job.id=train", *properties]))
        outputs = self.site.folder / "outputs"
        outputs.touch()
        self.site.environment.update(JOB_PROP_FILE=str(file), JOB_OUTPUT_PROP_FILE=str(outputs))
        return outputs

    def test_a_step_needs_only_the_file(self):
        outputs = self.be_a_step("executes=test -s $HADOOP_TOKEN_FILE_LOCATION")
        job = self.site.submit("--step", *SMALL)
        self.assertEqual(job.wait(DEADLINE_SECONDS), 0, job.describe() + job.errors())
        # YARN has not cancelled the tokens at the job's end: they are not the job's.
        result = self.site.run("tony", "status", job.id, deadline_seconds=DEADLINE_SECONDS)
        self.assertIn("SUCCEEDED", result.stdout + result.stderr)
        self.assertEqual(json.loads(outputs.read_text())["train.job"], job.id)

    def test_a_job_is_stopped_with_the_file(self):
        job = self.site.submit(*SMALL, "--executes", "sleep 1000")
        for task in ("worker:0", "worker:1"):
            job.wait_for_task(task, "RUNNING", deadline_seconds=DEADLINE_SECONDS)
        result = self.site.run("tony", "kill", job.id, deadline_seconds=DEADLINE_SECONDS)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(job.wait(DEADLINE_SECONDS), 4, job.describe())

    def test_what_is_wrong_with_the_file_is_said(self):
        broken = self.site.folder / "broken"
        broken.write_bytes(self.tokens.read_bytes()[:40])
        for file, words in ((broken, "bytes are announced"),
                            (self.site.folder / "none", "No such file")):
            self.site.environment["HADOOP_TOKEN_FILE_LOCATION"] = str(file)
            result = self.site.run("tony-submit", "--executes", "true", *SMALL)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("HADOOP_TOKEN_FILE_LOCATION: ", result.stderr)
            self.assertIn(str(file), result.stderr)
            self.assertIn(words, result.stderr)

    def test_a_step_gives_settings_of_hadoop(self):
        self.be_a_step("executes=true", "hadoop-inject.hadoop.security.authentication=magic")
        result = self.site.run("tony-submit", "--step", *SMALL)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f"{self.site.folder}/properties:4: hadoop.security.authentication: 'magic'",
                      result.stderr)

    def test_without_both(self):
        del self.site.environment["HADOOP_TOKEN_FILE_LOCATION"]
        result = self.site.run("tony-submit", "--executes", "true", *SMALL)
        self.assertEqual(result.returncode, INFRASTRUCTURE, result.stderr)
        self.assertIn("get a ticket with kinit", result.stderr)
        self.be_a_step("executes=true")
        result = self.site.run("tony-submit", "--step", *SMALL)
        self.assertEqual(result.returncode, INFRASTRUCTURE, result.stderr)
        self.assertIn("Azkaban sets KRB5CCNAME to a cache that does not exist", result.stderr)


def main():
    yarn_cluster.skip_without("krb5kdc", "kadmin.local", "kinit")
    unittest.main()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    main()
