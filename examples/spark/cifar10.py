#!/usr/bin/env python3
"""CIFAR-10: the network of TensorFlow's tutorial for it, convolutions with two dense layers.

The pictures are generated, in CIFAR-10's own binary format: a byte with the label and 32 by 32 pixels, first
all red values, then green, then blue. --data_dir may have the real files, spread over train/ and test/.
"""

import sys

import clusters
import pictures

FRAMEWORK, NODES = "tensorflow", "keras_nodes"
SIZE = FULL_SIZE = 32
IMAGES = 2000  # for training
STEPS, BATCH_SIZE = 120, 64
ACCURACY = 0.75  # what it has to reach
BYTES = 1 + 3 * 32 * 32


def build(tf, full):
    """Returns the network."""
    layers = tf.keras.layers
    filters, hidden = (64, (384, 192)) if full else (16, (64, 32))
    return tf.keras.Sequential([
        layers.Input((SIZE, SIZE, 3)),
        layers.Conv2D(filters, 5, padding="same", activation="relu"),
        layers.MaxPooling2D(3, 2),
        layers.Conv2D(filters, 5, padding="same", activation="relu"),
        layers.MaxPooling2D(3, 2),
        layers.Flatten(),
        layers.Dense(hidden[0], activation="relu"),
        layers.Dense(hidden[1], activation="relu"),
        layers.Dense(10),
    ])


def write(folder, count, size):
    """Writes files with `count` pictures for training, and others for the test."""
    for path, label, images in pictures.class_files(folder, count, size, "bin"):
        with open(path, "wb") as file:
            for image in images:
                file.write(bytes([label]) + image.transpose(2, 0, 1).tobytes())


def dataset(tf, paths):
    """The (pixels, label) of files, as a tf.data.Dataset."""
    def parse(record):
        return tf.strings.substr(record, 1, BYTES - 1), tf.cast(tf.io.decode_raw(record, tf.uint8)[0], tf.int64)

    return tf.data.FixedLengthRecordDataset(paths, BYTES).map(parse)


def rows(paths):
    """The (pixels, label) of files, one after the other."""
    for path in paths:
        with open(path, "rb") as file:
            while record := file.read(BYTES):
                yield record[1:], record[0]


def rdd(sc, folder):
    """The (pixels, label) of a folder's files, as an RDD of Spark."""
    return sc.binaryRecords(folder, BYTES).map(lambda record: (bytes(record[1:]), record[0]))


def decode(tf, pixels, size):
    """The bytes of pixels, a string tensor, as numbers in 0…1 of shape [size, size, 3]."""
    colours = tf.reshape(tf.io.decode_raw(pixels, tf.uint8), [3, size, size])
    return tf.cast(tf.transpose(colours, [1, 2, 0]), tf.float32) / 255.0


if __name__ == "__main__":
    sys.exit(clusters.main("cifar10", __doc__))
