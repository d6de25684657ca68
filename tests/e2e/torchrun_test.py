#!/usr/bin/env python3
"""torchrun in each task of a PyTorch job starts ranks that form one group.

    torchrun_test.py PROGRAMS [unittest's arguments]
"""

import pathlib
import re
import sys
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import tony_cli

DEADLINE_SECONDS = 180
PROGRAM = """
    import os
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    total = torch.tensor([2.0 ** dist.get_rank()])
    dist.all_reduce(total)
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}, local {os.environ['LOCAL_RANK']}, sum {int(total)}")
    """
# torchrun of PyTorch 1.13 cannot read its own defaults of these options with Python 3.11.
OPTIONS = "--redirects 1 --tee 1 --log_dir torchrun"

programs = None  # pylint: disable=invalid-name


class TorchrunTest(unittest.TestCase):
    """Two tasks with two ranks each."""

    def start(self):
        """Starts the job; returns it."""
        site = tony_cli.Site(self, programs)
        source = site.folder / "src"
        source.mkdir()
        source.joinpath("train.py").write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
        python = tony_cli.examples_python()
        launch = f"{python} -B -m torch.distributed.run --nproc_per_node 2 {OPTIONS}"
        return site.submit(
            *("--executes", f"{launch} train.py", "--src_dir", source),
            *("--conf", "tony.worker.instances=2", "--conf", "tony.worker.memory=1g"),
            *("--conf", "tony.application.framework=pytorch"),
        )

    def ranks(self, job):
        """What the ranks of each task have printed, in their order."""
        self.assertEqual(job.wait(DEADLINE_SECONDS), 0, job.describe())
        printed = [job.log(f"worker:{index}").decode() for index in range(2)]
        return [sorted(re.findall(r"^\[default\d\]:(.*)$", text, re.MULTILINE)) for text in printed]

    def test_one_group_of_all_tasks(self):
        first, second = self.ranks(self.start())
        self.assertEqual(len(first), 2, first)
        self.assertEqual(
            sorted(first + second),
            [f"rank {rank} of 4, local {rank % 2}, sum 15" for rank in range(4)],
        )
        # torchrun numbers the ranks of a node in sequence.
        self.assertEqual({line.split(",")[0] for line in first}, {"rank 0 of 4", "rank 1 of 4"})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
