"""The flags of a cluster, as a program's parser reads them."""

import argparse
import contextlib
import io
import unittest

from tony.cluster import flags


class FlagsTest(unittest.TestCase):
    """What users type, and what TFCluster.run() gets."""

    def parse(self, *words):
        """The arguments, or the parser's complaint."""
        parser = argparse.ArgumentParser(prog="train.py")
        flags.add_arguments(parser)
        complaint = io.StringIO()
        with contextlib.redirect_stderr(complaint):
            try:
                return parser.parse_args(words)
            except SystemExit:
                return complaint.getvalue()

    def test_announcement(self):
        args = self.parse("--cluster_size", "9", "--num_gpus", "1", "--num_ps_tasks", "1", "--sync_replicas", "True",
                          "--replicas_to_aggregate", "8", "--tensorboard", "--rdma")
        self.assertEqual(flags.run_arguments(args, master_node="chief"), {
            "num_executors": 9, "num_ps": 1, "tensorboard": True, "master_node": "chief",
            "job": {"tony.worker.gpus": "1", "tony.chief.gpus": "1", "tony.application.rdma": "true"}})
        self.assertTrue(args.sync_replicas)
        self.assertEqual(args.replicas_to_aggregate, 8)

    def test_defaults(self):
        self.assertEqual(flags.run_arguments(self.parse()), {
            "num_executors": 1, "num_ps": 0, "tensorboard": False, "master_node": None, "job": {}})
        self.assertFalse(self.parse("--tensorboard=false").tensorboard)

    def test_spark_says_the_size(self):
        class Context:
            """What is asked of a SparkContext."""
            @staticmethod
            def getConf():  # pylint: disable=invalid-name
                return {"spark.executor.instances": "4"}
        self.assertEqual(flags.run_arguments(self.parse(), Context())["num_executors"], 4)

    def test_wrong_values(self):
        self.assertIn("argument --cluster_size: '0' is not a number from 1 on", self.parse("--cluster_size", "0"))
        self.assertIn("argument --num_gpus: 'all' is not a number", self.parse("--num_gpus", "all"))
        self.assertIn("argument --rdma: 'maybe' is neither true nor false", self.parse("--rdma=maybe"))


if __name__ == "__main__":
    unittest.main()
