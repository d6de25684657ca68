#!/usr/bin/env python3
"""MNIST: a small convolutional network for handwritten digits.

The digits are scikit-learn's, enlarged to MNIST's 28 by 28 pixels, in lines of CSV as TensorFlowOnSpark's
example has them: the label and 784 pixels in 0…255.
"""

import os
import sys

import clusters
import numpy as np

import digits

FRAMEWORK, NODES = "tensorflow", "keras_nodes"
SIZE = FULL_SIZE = 28
IMAGES = 1400  # for training
STEPS, BATCH_SIZE = 100, 64
ACCURACY = 0.85  # what it has to reach


def build(tf, full):
    """Returns the network."""
    layers = tf.keras.layers
    filters, hidden = (32, 512) if full else (8, 64)
    return tf.keras.Sequential([
        layers.Input((SIZE, SIZE, 1)),
        layers.Conv2D(filters, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(2 * filters, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(hidden, activation="relu"),
        layers.Dense(10),
    ])


def write(folder, count, size):
    """Writes a file of `count` / 10 lines for each digit, and one for the test."""
    for part, (images, labels) in zip(("train", "test"), digits.load()):
        os.makedirs(os.path.join(folder, part), exist_ok=True)
        for label in range(10):
            chosen = images[labels == label][: count // 10]
            with open(os.path.join(folder, part, f"digit-{label}.csv"), "w", encoding="ascii") as file:
                for image in chosen.reshape(-1, 8, 8):
                    pixels = np.kron(image * 255, np.ones((3, 3))).astype(int)
                    file.write(",".join(map(str, [label, *np.pad(pixels, (size - 24) // 2).flat])) + "\n")


def dataset(tf, paths):
    """The (pixels as text, label) of files, as a tf.data.Dataset."""
    def parse(line):
        label = tf.strings.to_number(tf.strings.regex_replace(line, ",.*", ""), tf.int64)
        return tf.strings.regex_replace(line, "^[0-9]+,", ""), label

    return tf.data.TextLineDataset(paths).map(parse)


def parse(line):
    """A line as (pixels as text, label)."""
    label, pixels = line.split(",", 1)
    return pixels, int(label)


def rows(paths):
    """The (pixels as text, label) of files, one after the other."""
    for path in paths:
        with open(path, encoding="ascii") as file:
            yield from map(parse, file)


def rdd(sc, folder):
    """The (pixels as text, label) of a folder's files, as an RDD of Spark."""
    return sc.textFile(folder).map(parse)


def decode(tf, pixels, size):
    """Pixels as text, a string tensor, as numbers in 0…1 of shape [size, size, 1]."""
    return tf.reshape(tf.strings.to_number(tf.strings.split(pixels, ",")), [size, size, 1]) / 255.0


if __name__ == "__main__":
    sys.exit(clusters.main("mnist", __doc__))
