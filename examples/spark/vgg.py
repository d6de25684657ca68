#!/usr/bin/env python3
"""VGG: blocks of small convolutions, then dense layers. --full is VGG-16 of 224 by 224 pixels.

The pictures are generated, in ImageNet's format (pictures.py).
"""

import sys

import clusters
import pictures
from pictures import dataset, decode, rdd, rows, write  # noqa: F401

FRAMEWORK, NODES = "tensorflow", "keras_nodes"
SIZE, FULL_SIZE = 32, 224
IMAGES = 2000  # for training
STEPS, BATCH_SIZE = 150, 64
ACCURACY = 0.75  # what it has to reach


def build(tf, full):
    """Returns the network."""
    if full:
        return tf.keras.applications.VGG16(
            weights=None, input_shape=(FULL_SIZE, FULL_SIZE, 3), classes=pictures.CLASSES, classifier_activation=None)
    layers = tf.keras.layers
    network = tf.keras.Sequential([layers.Input((SIZE, SIZE, 3))])
    for filters, convolutions in ((8, 2), (16, 2), (32, 3)):
        for _ in range(convolutions):
            network.add(layers.Conv2D(filters, 3, padding="same", activation="relu"))
        network.add(layers.MaxPooling2D())
    network.add(layers.Flatten())
    network.add(layers.Dense(64, activation="relu"))
    network.add(layers.Dense(pictures.CLASSES))
    return network


if __name__ == "__main__":
    sys.exit(clusters.main("vgg", __doc__))
