#!/usr/bin/env python3
"""Trains on data in a real HDFS, which the examples' programs read by themselves.

    hdfs_test.py PROGRAMS [--submit=OPTION]… [unittest's arguments]

PROGRAMS is the folder of tony-submit and its companions, OPTION one more option for tony-submit,
such as --submit=--backend=yarn. Exits with 77 where Hadoop cannot run.
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import tony_cli
import yarn_cluster

STEPS = 40
DEADLINE_SECONDS = 120

programs = None  # pylint: disable=invalid-name
submit_options = []


class HdfsTests(unittest.TestCase):
    """A cluster for all tests of a class, whose nodes have libhdfs. Not thread safe."""

    cluster_options = ()
    user = ""

    @classmethod
    def setUpClass(cls):
        cls.python = tony_cli.examples_python()
        cls.cluster = yarn_cluster.YarnCluster("--libhdfs", *cls.cluster_options)
        cls.addClassCleanup(cls.cluster.stop)
        cls.environment = {**cls.cluster.environment, "HADOOP_USER_NAME": cls.user}

    @classmethod
    def run_on_cluster(cls, *command):
        """What a user with the cluster's configuration does."""
        subprocess.run(command, env=cls.environment, check=True, capture_output=True,
                       timeout=DEADLINE_SECONDS)

    @classmethod
    def write_data(cls, path):
        cls.run_on_cluster(cls.python, "-B", ROOT / "examples/common/write_digits.py", path)

    def start(self, example, data, environment=None):
        """Starts the example on data at a URL; returns the job."""
        site = tony_cli.Site(self, programs)
        site.environment.update(environment or self.environment)
        self.checkpoints = site.folder / "checkpoints"
        self.checkpoints.mkdir()
        return site.submit(
            *submit_options,
            *("--python_binary_path", self.python, "--executes", "train.py"),
            *("--task_params", f"--steps {STEPS} --data {data}"),
            *("--conf", f"tony.application.checkpoint-dir={self.checkpoints}"),
            *("--conf", "tony.am.retry-count=0"),
            ROOT / "examples" / example / "job.xml",
        )

    def check(self, script):
        """The example's own check, which knows what the data are."""
        result = subprocess.run(
            [self.python, "-B", ROOT / "examples/checks" / script, self.checkpoints],
            capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def reads(self):
        """How often the user has opened the data, as the NameNode says."""
        log = (self.cluster.folder / "log/namenode.log").read_text()
        line = rf"audit: allowed=true\tugi={self.user}\b.*\tcmd=open\tsrc=/user/{self.user}/digits.npz\t"
        return len(re.findall(line, log))

    def assert_succeeds(self, job):
        self.assertEqual(job.wait(DEADLINE_SECONDS), 0, job.describe())
        self.assertEqual(job.verdict["outcome"], "SUCCEEDED")


class PlainHdfs(HdfsTests):
    """Whoever says that he is bob is bob."""

    user = "bob"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = "hdfs:///user/bob/digits.npz"
        cls.write_data(cls.data)

    def train(self, example, readers, check):
        before = self.reads()
        self.assert_succeeds(self.start(example, self.data))
        self.assertGreaterEqual(self.reads() - before, readers)
        self.check(check)

    def test_tensorflow_parameter_server(self):
        self.train("tensorflow-ps", 1, "check_parameter_server.py")

    def test_tensorflow_multi_worker(self):
        self.train("tensorflow-mwms", 2, "check_synchronous.py")

    def test_pytorch(self):
        self.train("pytorch-ddp", 2, "check_synchronous.py")

    def test_a_file_that_is_not_there_is_named(self):
        for example in ("tensorflow-mwms", "pytorch-ddp"):
            with self.subTest(example):
                job = self.start(example, "hdfs:///user/bob/nothing.npz")
                self.assertNotEqual(job.wait(DEADLINE_SECONDS), 0)
                self.assertIn("nothing.npz", json.dumps(job.verdict))


class KerberosHdfs(HdfsTests):
    """Programs have no ticket: their right is a token in the file that a container gets."""

    cluster_options = ("--kerberos", "--protection", "privacy")
    user = "alice"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_on_cluster("kinit", "-kt", f"{cls.environment['KEYTABS']}/alice.keytab", "alice")
        cls.write_data("hdfs:///user/alice/digits.npz")
        tokens = cls.cluster.folder / "tokens"
        cls.run_on_cluster("hadoop", "org.apache.hadoop.hdfs.tools.DelegationTokenFetcher",
                           "--renewer", "alice", tokens)
        cls.run_on_cluster("kdestroy")
        # PyTorch's reader takes a token for the very address that stands in it only.
        (address,) = set(re.findall(rb"127\.0\.0\.1:\d+", tokens.read_bytes()))
        cls.data = f"hdfs://{address.decode()}/user/alice/digits.npz"
        cls.with_token = {**cls.environment, "HADOOP_TOKEN_FILE_LOCATION": str(tokens)}

    def train(self, example):
        before = self.reads()
        self.assert_succeeds(self.start(example, self.data, self.with_token))
        self.assertGreaterEqual(self.reads() - before, 2)
        self.check("check_synchronous.py")

    def test_tensorflow(self):
        self.train("tensorflow-mwms")

    def test_pytorch(self):
        self.train("pytorch-ddp")

    def test_there_is_no_other_way(self):
        job = self.start("pytorch-ddp", self.data)
        self.assertNotEqual(job.wait(DEADLINE_SECONDS), 0)
        self.assertIn("Kerberos", json.dumps(job.verdict))


def main():
    yarn_cluster.skip_without("cargo", "krb5kdc", "kadmin.local", "kinit")
    unittest.main()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    while len(sys.argv) > 1 and sys.argv[1].startswith("--submit="):
        submit_options.append(sys.argv.pop(1).removeprefix("--submit="))
    main()
