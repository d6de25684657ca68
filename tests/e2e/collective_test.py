#!/usr/bin/env python3
"""Trains by tony.collective, which tony brings along: the program of the Horovod example.

    collective_test.py PROGRAMS [unittest's arguments]

PROGRAMS is the folder of tony-submit and its companions.
"""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import examples
import examples_test


class CollectiveTests(examples.CollectivePyTorch):
    """Tests for every meeting place of ranks. Not thread safe."""

    def make_site(self):
        """A folder of this machine, whose user has no package of ours anywhere."""
        site = examples_test.ExampleTests.make_site(self)
        site.environment.pop("PYTHONPATH", None)
        return site

    def train(self, ranks):
        """A whole job."""
        self.loggers = tuple(f"worker-{index}" for index in range(ranks))
        job = self.start(conf=(f"tony.worker.instances={ranks}", "tony.worker.memory=600m"))
        self.assert_trained_in_one_epoch(job)
        names = sorted(path.name for path in self.checkpoints.glob("parameters-*.npz"))
        self.assertEqual(names, [f"parameters-rank-{rank}.npz" for rank in range(ranks)])


class OnThisMachine(CollectiveTests, examples_test.SynchronousTests, unittest.TestCase):
    """Ranks meet at the job's driver."""

    def test_four_ranks(self):
        self.train(4)


class InTorchsStore(CollectiveTests, examples_test.ExampleTests, unittest.TestCase):
    """Ranks meet in torch.distributed's store."""

    def conf(self):
        return ("tony.application.framework=pytorch",)

    def test_three_ranks(self):
        # Into which 64 does not divide.
        self.loggers = ("worker-0", "worker-1", "worker-2")
        job = self.start("--batch-size 63", conf=("tony.worker.instances=3",))
        self.assert_trained_in_one_epoch(job)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    examples_test.programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
