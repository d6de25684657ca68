#!/usr/bin/env python3
"""Inception: towers of convolutions of several sizes, side by side. --full is Inception V3 of 299 by 299 pixels.

The pictures are generated, in ImageNet's format (pictures.py).
"""

import sys

import clusters
import pictures
from pictures import dataset, decode, rdd, rows, write  # noqa: F401

FRAMEWORK, NODES = "tensorflow", "keras_nodes"
SIZE, FULL_SIZE = 32, 299
IMAGES = 2000  # for training
STEPS, BATCH_SIZE = 120, 64
ACCURACY = 0.75  # what it has to reach


def build(tf, full):
    """Returns the network."""
    if full:
        return tf.keras.applications.InceptionV3(
            weights=None, input_shape=(FULL_SIZE, FULL_SIZE, 3), classes=pictures.CLASSES, classifier_activation=None)
    layers = tf.keras.layers

    def convolution(x, filters, size):
        return layers.Conv2D(filters, size, padding="same", activation="relu")(x)

    def module(x, filters):
        return layers.Concatenate()([
            convolution(x, filters, 1),
            convolution(convolution(x, filters, 1), filters, 3),
            convolution(convolution(convolution(x, filters, 1), filters, 3), filters, 3),
            convolution(layers.AveragePooling2D(3, 1, "same")(x), filters, 1),
        ])

    image = layers.Input((SIZE, SIZE, 3))
    x = layers.MaxPooling2D()(convolution(image, 16, 5))
    x = layers.MaxPooling2D()(module(x, 8))
    x = layers.GlobalAveragePooling2D()(module(x, 16))
    return tf.keras.Model(image, layers.Dense(pictures.CLASSES)(x))


if __name__ == "__main__":
    sys.exit(clusters.main("inception", __doc__))
