"""HOROVOD_AUTOTUNE: a training whose settings change while it runs, the table that is written, and bad variables."""

import csv
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import rank_processes  # noqa: E402  pylint: disable=wrong-import-position

try:
    import numpy  # noqa: F401  pylint: disable=unused-import
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

# Trains until rank 0 finds a choice in its table.
TRAIN = """
import os
import numpy
import tony.collective as hvd
hvd.init()
log = os.environ["HOROVOD_AUTOTUNE_LOG"]
shapes = [(300, 200), (200,), (200, 50), (50,)]
step, over = 0, False
while not over and step < 100000:
    handles = [hvd.allreduce_async(numpy.full(shape, hvd.rank() + step, numpy.float32), name=f"gradient.{number}",
                                   op=hvd.Sum) for number, shape in enumerate(shapes)]
    wanted = hvd.size() * step + hvd.size() * (hvd.size() - 1) // 2
    for handle, shape in zip(handles, shapes):
        result = hvd.synchronize(handle)
        assert result.shape == shape and (result == wanted).all(), (step, result)
    mine = hvd.rank() == 0 and any(line.rstrip().endswith(",1") for line in open(log))
    over = hvd.allreduce(numpy.array([mine], numpy.int32), op=hvd.Max, name="over")[0] != 0
    step += 1
assert over
for _ in range(20):
    assert hvd.allreduce(numpy.ones(5), op=hvd.Sum, name="after").sum() == 5 * hvd.size()
"""
INIT = """
import numpy
import tony.collective as hvd
try:
    hvd.init()
    print(hvd.allreduce(numpy.ones(10), op=hvd.Sum, name="sum").sum())
except hvd.HorovodInternalError as error:
    print(error)
"""


class AutotuneTest(unittest.TestCase):
    """Real ranks of this host."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = pathlib.Path(folder.name) / "log.csv"

    def said(self, program, size, **variables):
        """The output of ranks, by rank; all of them have to end well."""
        with rank_processes.Ranks(["-c", program], size, lambda _: {
                "HOROVOD_AUTOTUNE": "1", "HOROVOD_AUTOTUNE_LOG": str(self.log), **variables}) as ranks:
            ended = ranks.wait()
        for rank, (status, output) in ended.items():
            self.assertEqual(status, 0, f"rank {rank}:\n{output}")
        return {rank: output for rank, (_, output) in ended.items()}

    def table(self):
        with open(self.log, encoding="ascii", newline="") as file:
            return list(csv.DictReader(file))

    def train(self, size=2, **variables):
        """(the table, what rank 0 has said); the others say nothing."""
        said = self.said(TRAIN, size, HOROVOD_AUTOTUNE_WARMUP_SAMPLES="0", HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE="2",
                         **variables)
        self.assertEqual([output for rank, output in said.items() if rank > 0], [""] * (size - 1))
        return self.table(), said[0]

    def test_a_training_ends_with_a_choice(self):
        table, said = self.train()
        chosen = table[-1]
        self.assertEqual([row["chosen"] for row in table], ["0"] * (len(table) - 1) + ["1"])
        self.assertEqual({row["tensor_fusion_threshold"] for row in table},
                         {str(size << 20) for size in (1, 4, 16, 64, 128)})
        self.assertEqual({row["cycle_time_ms"] for row in table}, {"0", "0.25", "1", "4"})
        self.assertTrue(all(float(row["score"]) > 0 for row in table))
        self.assertRegex(said, f"^tony.collective: autotune has chosen HOROVOD_FUSION_THRESHOLD="
                               f"{chosen['tensor_fusion_threshold']} HOROVOD_CYCLE_TIME={chosen['cycle_time_ms']}, "
                               r"after \d+ samples: [0-9.e+]+ MB of tensors a second\n$")

    def test_what_the_environment_sets_stays(self):
        table, _ = self.train(3, HOROVOD_FUSION_THRESHOLD="5000000")
        self.assertEqual({row["tensor_fusion_threshold"] for row in table}, {"5000000"})
        self.assertGreater(len({row["cycle_time_ms"] for row in table}), 1)
        table, _ = self.train(HOROVOD_CYCLE_TIME="0.5")
        self.assertEqual({row["cycle_time_ms"] for row in table}, {"0.5"})
        self.assertGreater(len({row["tensor_fusion_threshold"] for row in table}), 1)

    def test_nothing_to_try(self):
        said = self.said(INIT, 2, HOROVOD_CYCLE_TIME="0", HOROVOD_FUSION_THRESHOLD="1")
        self.assertEqual(said[0], "tony.collective: there is nothing to tune: all is fixed, or there is one rank only\n"
                                  "20.0\n")
        self.assertEqual(said[1], "20.0\n")

    def test_off(self):
        self.assertEqual(set(self.said(INIT, 2, HOROVOD_AUTOTUNE="0").values()), {"20.0\n"})
        self.assertFalse(self.log.exists())

    def test_bad_variables(self):
        for name, value, text in (
                ("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "0",
                 "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE is '0' instead of a number from 1 on\n"),
                ("HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "few", "instead of a number from 0 on\n"),
                ("HOROVOD_AUTOTUNE_LOG", "/nowhere/log.csv",
                 "cannot be written to /nowhere/log.csv: No such file or directory\n"),
                ("HOROVOD_CYCLE_TIME", "-1", "instead of a number of milliseconds, 10000 at most\n")):
            with self.subTest(name):
                self.assertTrue(self.said(INIT, 1, **{name: value})[0].endswith(text))


if __name__ == "__main__":
    unittest.main()
