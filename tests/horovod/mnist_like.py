"""Data in the files of MNIST's format, made up: ten figures, each somewhere else and with noise."""

import pathlib
import struct

import numpy

_SIDE = 28


def write(folder, train=2400, test=600):
    """Writes ``folder``/MNIST/raw, where torchvision's datasets.MNIST looks before it downloads anything."""
    raw = pathlib.Path(folder) / "MNIST" / "raw"
    raw.mkdir(parents=True)
    random = numpy.random.default_rng(5)
    figures = random.integers(0, 2, (10, 7, 7)).repeat(3, axis=1).repeat(3, axis=2) * 200
    for name, count in (("train", train), ("t10k", test)):
        labels = random.integers(0, 10, count).astype(numpy.uint8)
        images = random.integers(0, 56, (count, _SIDE, _SIDE)).astype(numpy.uint8)
        for image, label, (top, left) in zip(images, labels, random.integers(2, 6, (count, 2))):
            image[top:top + 21, left:left + 21] += figures[label].astype(numpy.uint8)
        # http://yann.lecun.com/exdb/mnist: a number for type and dimensions, the dimensions, the values.
        (raw / f"{name}-images-idx3-ubyte").write_bytes(
            struct.pack(">4i", 0x803, count, _SIDE, _SIDE) + images.tobytes())
        (raw / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 0x801, count) + labels.tobytes())
