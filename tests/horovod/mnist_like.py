"""Data in the files of MNIST's format, made up: ten figures, each somewhere else and with noise."""

import pathlib
import struct

import numpy

_TRAIN, _TEST = 2400, 600


def write(folder):
    """Writes ``folder``/MNIST/raw, where torchvision's datasets.MNIST looks before it downloads anything."""
    raw = pathlib.Path(folder) / "MNIST" / "raw"
    raw.mkdir(parents=True)
    random = numpy.random.default_rng(5)
    figures = random.integers(0, 2, (10, 7, 7)).repeat(3, axis=1).repeat(3, axis=2)
    for name, count in (("train", _TRAIN), ("t10k", _TEST)):
        images, labels = _draw(random, figures, side=28, count=count)
        # http://yann.lecun.com/exdb/mnist: a number for type and dimensions, the dimensions, the values.
        (raw / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4i", 0x803, *images.shape) + images.tobytes())
        (raw / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 0x801, count) + labels.tobytes())


def write_for_keras(folder, ranks):
    """Writes the files mnist-RANK.npz of the examples for TensorFlow to ``folder``, that of Keras's data sets. Images are
    of 8 by 8 instead of 28 by 28: those examples do thousands of steps, and cannot be told to do fewer."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    random = numpy.random.default_rng(5)
    figures = random.integers(0, 2, (10, 6, 6))
    arrays = {}
    for name, count in (("train", _TRAIN), ("test", _TEST)):
        arrays[f"x_{name}"], arrays[f"y_{name}"] = _draw(random, figures, side=8, count=count)
    for rank in range(ranks):
        numpy.savez(folder / f"mnist-{rank}.npz", **arrays)


def _draw(random, figures, side, count):
    """(images, labels), both of uint8."""
    labels = random.integers(0, 10, count).astype(numpy.uint8)
    images = random.integers(0, 56, (count, side, side)).astype(numpy.uint8)
    size = figures.shape[1]
    # Not at the edge, where there is room.
    edge = (side - size) // 4
    for image, label, (top, left) in zip(images, labels, random.integers(edge, side - size - edge + 1, (count, 2))):
        image[top:top + size, left:left + size] += (200 * figures[label]).astype(numpy.uint8)
    return images, labels
