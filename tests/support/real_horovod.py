"""The common part of tests with Horovod itself; scripts/build-horovod builds it."""

import sys
import unittest

import tony_cli
import yarn_cluster


class OnTwoNodes:
    """For a test case: a cluster of two nodes, each too small for all processes of a job. Not thread
    safe."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = yarn_cluster.YarnCluster("--distinct-hosts", "--nodes", "2")
        cls.addClassCleanup(cls.cluster.stop)


def run_tests():
    """Runs what the arguments name; exits with 77 where Horovod, or on YARN Hadoop, is not there."""
    if tony_cli.horovod_python() is None:
        print("skipped: Horovod is not built; scripts/build-horovod does it")
        sys.exit(yarn_cluster.SKIPPED)
    if any(word.startswith("OnYarn") for word in sys.argv[1:]):
        yarn_cluster.skip_without()
    unittest.main()
