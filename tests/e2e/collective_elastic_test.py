#!/usr/bin/env python3
"""Elastic jobs of the examples with tony.collective: workers come and are killed, and training goes on.

    collective_elastic_test.py PROGRAMS [unittest's arguments]

PROGRAMS is the folder of tony-submit and its companions.
"""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import examples
import horovod_elastic_test


class CollectiveTests(horovod_elastic_test.OneHostTests):
    """Tests for every framework. Not thread safe."""

    # Losses are noticed at once; a new process may take long to begin.
    GLOO_TIMEOUT_SECONDS = examples.DEADLINE_SECONDS
    COOLDOWN_SECONDS = 20

    def make_site(self):
        """A folder of this machine, whose user has no package of ours anywhere."""
        site = super().make_site()
        site.environment.pop("PYTHONPATH", None)
        return site


class PyTorch(CollectiveTests, examples.CollectiveElasticPyTorch, unittest.TestCase):
    """The program of the Horovod example."""


class Keras(CollectiveTests, examples.CollectiveElasticKeras, unittest.TestCase):
    """model.fit()."""

    SMALL = ("tony.worker.memory=800m",)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    horovod_elastic_test.programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
