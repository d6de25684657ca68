#!/usr/bin/env python3
"""tony.collective with Keras: one to three ranks train together, and hear of one that is gone. Ends with 77, "skipped",
where there is no TensorFlow."""

import textwrap
import time
import unittest

import examples_python
import rank_processes

BEGIN = """
import os, signal
import numpy as np, tensorflow as tf
import tony.collective.tensorflow.keras as hvd
hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01)), loss="mse")
"""


class KerasTest(examples_python.EachNumberOfRanks):
    """All of keras_checks.py; in one and two ranks keras_elastic_checks.py, in two keras_session_checks.py, in one
    keras_argument_checks.py."""

    checks = "keras_checks"

    def test_elastic_states_of_one_rank(self):
        self.run_checks(1, "keras_elastic_checks")

    def test_elastic_states_of_two_ranks(self):
        self.run_checks(2, "keras_elastic_checks")

    def test_arguments(self):
        self.run_checks(1, "keras_argument_checks")

    def test_sessions_of_two_ranks(self):
        self.run_checks(2, "keras_session_checks")


class FaultsTest(unittest.TestCase):
    """Failures in model.fit()."""

    def run_ranks(self, body, expected, size=2):
        """Outputs by rank. ``expected``: exit statuses by rank, if not 0."""
        command = ["-c", BEGIN + textwrap.dedent(body)]
        with rank_processes.Ranks(command, size, examples_python.variables) as ranks:
            ended = ranks.wait(examples_python.DEADLINE_SECONDS)
        for rank, (status, output) in ended.items():
            self.assertEqual(status, expected.get(rank, 0), f"rank {rank}:\n{output}")
        return [output for _, (_, output) in sorted(ended.items())]

    def test_a_killed_rank_is_told_in_time(self):
        for victim in range(2):
            with self.subTest(victim=victim):
                outputs = self.run_ranks(f"""
                    import time
                    class Killing(tf.keras.callbacks.Callback):
                        def on_train_batch_end(self, batch, logs=None):
                            self.ended = time.monotonic()
                            if batch == 20 and hvd.rank() == {victim}:
                                os.kill(os.getpid(), signal.SIGKILL)
                    killing = Killing()
                    try:
                        model.fit(np.ones((100000, 3)), np.ones(100000), batch_size=1, verbose=0, callbacks=[killing])
                    except tf.errors.UnknownError as error:
                        assert "rank {victim} has ended" in str(error), error
                        print("told after", time.monotonic() - killing.ended, "s")
                    try:
                        hvd.allreduce(1.0)
                    except hvd.HorovodInternalError as error:
                        assert "rank {victim} has ended" in str(error), error
                        print("and again")
                    """, {victim: -9})
                lines = outputs[1 - victim].splitlines()
                told = [line for line in lines if line.startswith("told after")]
                self.assertEqual(len(told), 1, outputs)
                self.assertLess(float(told[0].split()[2]), 60)
                self.assertIn("and again", lines)

    def test_a_rank_with_less_data_leaves(self):
        """And says so, instead of being waited for."""
        began = time.monotonic()
        outputs = self.run_ranks("""
            batches = 5 if hvd.rank() == 1 else 50
            try:
                model.fit(np.ones((batches, 3)), np.ones(batches), batch_size=1, verbose=0)
            except tf.errors.UnknownError as error:
                assert "rank 1 has left" in str(error), error
                print("told")
            """, {})
        self.assertIn("told", outputs[0])
        self.assertLess(time.monotonic() - began, examples_python.DEADLINE_SECONDS / 2)


if __name__ == "__main__":
    examples_python.run_tests()
