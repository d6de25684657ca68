"""Generated pictures with ten classes, and ImageNet's format: TFRecords of JPEG pictures.

There is one file for each class. So a node that reads its own files, and learns from no other node,
never sees the other classes. `tf` is TensorFlow, an argument, since
Spark's driver and executors do without it.
"""

import os

import numpy as np

CLASSES = 10
TEST_IMAGES = 200
_NOISE = 25.0  # standard deviation, of pixels in 0…255


def generate(label, count, size, seed):
    """Returns `count` pictures of a class, uint8 of shape [count, size, size, 3].

    The class is the direction of stripes (five of them), and whether there are others across. Colours,
    width and position of the stripes are random, and there is noise on top.
    """
    random = np.random.default_rng([seed, label])
    angles = np.pi / 5 * (label % 5) + random.normal(0, 0.05, count)
    waves = random.uniform(4, 6, count)
    y, x = np.mgrid[0:size, 0:size] / size
    pictures = np.empty((count, size, size, 3), np.uint8)
    for picture, angle, wave in zip(pictures, angles, waves):
        along = np.sin(2 * np.pi * (wave * (x * np.cos(angle) + y * np.sin(angle)) + random.random()))
        across = np.sin(2 * np.pi * (wave * (y * np.cos(angle) - x * np.sin(angle)) + random.random()))
        pattern = (along * across if label >= 5 else along)[..., np.newaxis]
        dark, light = random.uniform(20, 110, 3), random.uniform(145, 235, 3)
        colours = np.where(pattern > 0, light, dark) + random.normal(0, _NOISE, (size, size, 3))
        picture[:] = np.clip(colours, 0, 255)
    return pictures


def class_files(folder, count, size, suffix):
    """Yields (path, label, pictures) of the files for training and for the test."""
    for part, images, seed in (("train", count, 1), ("test", TEST_IMAGES, 2)):
        os.makedirs(os.path.join(folder, part), exist_ok=True)
        for label in range(CLASSES):
            path = os.path.join(folder, part, f"class-{label}.{suffix}")
            yield path, label, generate(label, images // CLASSES, size, seed)


def write(folder, count, size):
    """Writes TFRecords with `count` pictures for training, and others for the test."""
    import tensorflow as tf

    for path, label, images in class_files(folder, count, size, "tfrecord"):
        with tf.io.TFRecordWriter(path) as file:
            for image in images:
                file.write(_example(tf, tf.io.encode_jpeg(image, quality=90).numpy(), label))


def _example(tf, jpeg, label):
    features = {
        "image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[jpeg])),
        "image/class/label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def dataset(tf, paths):
    """The (JPEG, label) of files, as a tf.data.Dataset."""
    features = {
        "image/encoded": tf.io.FixedLenFeature([], tf.string),
        "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    }

    def parse(record):
        example = tf.io.parse_single_example(record, features)
        return example["image/encoded"], example["image/class/label"]

    return tf.data.TFRecordDataset(paths).map(parse)


def rows(paths):
    """The (JPEG, label) of files, one after the other."""
    import tensorflow as tf

    for jpeg, label in dataset(tf, paths).as_numpy_iterator():
        yield jpeg, int(label)


def rdd(sc, folder):
    """The (JPEG, label) of a folder's files, as an RDD of Spark. Needs no TensorFlow."""
    from tony.cluster import dfutil

    frame = dfutil.loadTFRecords(sc, folder, binary_features=["image/encoded"])
    return frame.rdd.map(lambda row: (bytes(row["image/encoded"]), row["image/class/label"]))


def decode(tf, jpeg, size):
    """A JPEG picture, a string tensor, as numbers in 0…1 of shape [size, size, 3]."""
    return tf.image.resize(tf.io.decode_jpeg(jpeg, channels=3), [size, size]) / 255.0
