#!/usr/bin/env python3
"""Trains on data in a real HDFS, which the examples' programs read by themselves.

    hdfs_test.py PROGRAMS [unittest's arguments]

PROGRAMS is the folder of tony-submit and its companions. Exits with 77 where Hadoop cannot run.
"""

import json
import os
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


class HdfsTests:
    """A cluster whose nodes have libhdfs, for all tests of a class. Not thread safe."""

    cluster_options = ()
    submit_options = ()
    user = ""

    @classmethod
    def setUpClass(cls):
        cls.python = tony_cli.examples_python()
        cls.cluster = yarn_cluster.YarnCluster("--libhdfs", *cls.cluster_options)
        cls.addClassCleanup(cls.cluster.stop)
        cls.environment = {**cls.cluster.environment, "HADOOP_USER_NAME": cls.user}
        cls.log_in()
        cls.path = f"/user/{cls.user}/digits.npz"
        cls.run_on_cluster(cls.python, "-B", ROOT / "examples/common/write_digits.py",
                           f"hdfs://{cls.path}")
        # Who reads it is its owner.
        cls.run_on_cluster("hadoop", "fs", "-chmod", "600", f"hdfs://{cls.path}")

    @classmethod
    def log_in(cls):
        """Becomes the user where a name is not enough."""

    @classmethod
    def run_on_cluster(cls, *command):
        """Runs a command as a user with the cluster's configuration; returns its output."""
        return subprocess.run(command, env=cls.environment, check=True, capture_output=True,
                              text=True, timeout=DEADLINE_SECONDS).stdout

    def start(self, example, data):
        """Starts the example on data at a URL; returns the job."""
        site = tony_cli.Site(self, programs)
        site.environment.update(self.environment)
        self.checkpoints = site.folder / "checkpoints"
        self.checkpoints.mkdir()
        return site.submit(
            *self.submit_options,
            *("--python_binary_path", self.python, "--executes", "train.py"),
            *("--task_params", f"--steps {STEPS} --data {data}"),
            *("--conf", f"tony.application.checkpoint-dir={self.checkpoints}"),
            *("--conf", "tony.am.retry-count=0"),
            ROOT / "examples" / example / "job.xml",
        )

    def reads(self):
        """How often the user has opened the data, as the NameNode says."""
        log = (self.cluster.folder / "log/namenode.log").read_text()
        line = rf"audit: allowed=true\tugi={self.user}\b.*\tcmd=open\tsrc={self.path}\t"
        return len(re.findall(line, log))

    def train(self, example, readers, check, address=""):
        """The job's programs read the data, and come to the result that the example's check knows.
        """
        before = self.reads()
        job = self.start(example, f"hdfs://{address}{self.path}")
        self.assertEqual(job.wait(DEADLINE_SECONDS), 0, job.describe())
        self.assertGreaterEqual(self.reads() - before, readers)
        result = subprocess.run(
            [self.python, "-B", ROOT / "examples/checks" / check, self.checkpoints],
            capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


class OnThisMachine(HdfsTests, unittest.TestCase):
    """The local backend, with Hadoop's configuration in the user's environment."""

    user = "bob"

    def test_tensorflow(self):
        self.train("tensorflow-mwms", 2, "check_synchronous.py")

    def test_pytorch(self):
        self.train("pytorch-ddp", 2, "check_synchronous.py")


class OnYarn(HdfsTests, unittest.TestCase):
    """Containers of another user, whom the cluster takes for bob."""

    submit_options = ("--backend", "yarn")
    user = "bob"

    def test_tensorflow_parameter_server(self):
        self.train("tensorflow-ps", 1, "check_parameter_server.py")

    def test_tensorflow_multi_worker(self):
        self.train("tensorflow-mwms", 2, "check_synchronous.py")

    def test_pytorch(self):
        self.train("pytorch-ddp", 2, "check_synchronous.py")

    def test_a_file_that_is_not_there_is_named(self):
        for example in ("tensorflow-mwms", "pytorch-ddp"):
            with self.subTest(example):
                job = self.start(example, f"hdfs:///user/{self.user}/nothing.npz")
                self.assertNotEqual(job.wait(DEADLINE_SECONDS), 0)
                self.assertIn("nothing.npz", json.dumps(job.verdict))


class OnYarnWithKerberos(HdfsTests, unittest.TestCase):
    """Programs have no ticket: their right is the token in their container's file."""

    cluster_options = ("--kerberos", "--protection", "privacy")
    submit_options = ("--backend", "yarn")
    user = "alice"

    @classmethod
    def log_in(cls):
        yarn_cluster.log_in(cls.user, cls.environment)

    def test_tensorflow(self):
        self.train("tensorflow-mwms", 2, "check_synchronous.py")
        self.assert_private()

    def assert_private(self):
        """Nobody else reads what the job has left: in HDFS, or on the nodes."""
        tickets = f"FILE:{self.cluster.folder}/bob"
        environment = {**self.environment, "KRB5CCNAME": tickets}
        yarn_cluster.log_in("bob", environment)
        self.assertIn("application_",
                      self.run_on_cluster("hadoop", "fs", "-ls", "/user/alice/.tony/jobs"))
        listed = subprocess.run(["hadoop", "fs", "-ls", "/user/alice/.tony"], env=environment,
                                text=True, capture_output=True, check=False,
                                timeout=DEADLINE_SECONDS)
        self.assertIn("Permission denied: user=bob", listed.stderr)
        if os.geteuid() != 0:
            return
        # What stops others has to be the files' own rights, not those of the cluster's folder.
        self.cluster.folder.chmod(0o755)
        self.addCleanup(self.cluster.folder.chmod, 0o700)
        nodes = list(self.cluster.folder.glob("data/node*"))
        self.assertTrue([*self.cluster.folder.glob("data/node*/local/**/container_*")])
        found = subprocess.run(
            ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "find", *nodes,
             "-type", "f", "-readable", "-path", "*application_*"],
            text=True, capture_output=True, check=False, timeout=DEADLINE_SECONDS)
        self.assertEqual(found.stdout, "")

    def test_pytorch(self):
        # Its reader takes a token for the very address that stands in it, and that has no name.
        printed = self.run_on_cluster("hadoop", "org.apache.hadoop.hdfs.tools.GetConf", "-confKey",
                                      "fs.defaultFS")
        (port,) = re.findall(r"^hdfs://localhost:(\d+)$", printed, re.MULTILINE)
        self.train("pytorch-ddp", 2, "check_synchronous.py", f"127.0.0.1:{port}")


def main():
    yarn_cluster.skip_without("cargo", "krb5kdc", "kadmin.local", "kinit")
    unittest.main()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    main()
