#!/usr/bin/env python3
"""tony.keras.ReportCallback in a real training. Ends with 77, "skipped", where there is no TensorFlow."""

import os
import tempfile
import unittest
from unittest import mock

import examples_python
from report_test import Reports


class KerasTest(unittest.TestCase):
    """What a training of two epochs reports."""

    def test_steps_values_and_evaluations(self):
        import numpy
        import tensorflow as tf
        import tony.keras
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
        model.compile("sgd", "mse", metrics=["mae"])
        inputs, outputs = numpy.ones((8, 2)), numpy.ones((8, 1))
        with tempfile.TemporaryDirectory(prefix="tony-test-") as folder:
            reports = Reports(folder)
            with mock.patch.dict(os.environ, TONY_PROGRESS=reports.path):
                train = {"batch_size": 4, "verbose": 0, "validation_data": (inputs, outputs)}
                model.fit(inputs, outputs, epochs=2, callbacks=[tony.keras.ReportCallback()], **train)
                model.fit(inputs, outputs, epochs=1, callbacks=[tony.keras.ReportCallback()], **train)
            lines = [dict(pair.split("=") for pair in line.split()) for line in reports.lines()]
        steps = [line for line in lines if "step" in line]
        self.assertEqual([line["step"] for line in steps], ["1", "2", "3", "4", "5", "6"])
        for line in steps:
            self.assertGreater(float(line["loss"]), 0)
            self.assertGreater(float(line["mae"]), 0)
        self.assertEqual([line["phase"] for line in lines if "phase" in line], ["evaluate", ""] * 3)
        epochs = [line for line in lines if "epoch" in line]
        self.assertEqual([line["epoch"] for line in epochs], ["1", "2", "1"])
        self.assertGreater(float(epochs[0]["val_loss"]), 0)


if __name__ == "__main__":
    examples_python.run_tests()
