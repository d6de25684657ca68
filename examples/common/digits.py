"""The data of the examples: scikit-learn's digits, the order of the batches, the first weights.

All random values depend only on the seed and on the number of the step. So a job that resumes at
step N sees the same data as without the break.
"""

import functools
import io

import numpy as np

import storage

PIXELS = 64
HIDDEN = 32
CLASSES = 10
TEST_IMAGES = 360


def pixels_and_digits(path, read):
    """Returns scikit-learn's pixels in 0…16 and digits: its own, or those of a file."""
    if path is None:
        from sklearn.datasets import load_digits

        data = load_digits()
        return data.data, data.target
    data = np.load(io.BytesIO(read(path)))
    print(f"read {len(data['digits'])} images from {path}", flush=True)
    return data["pixels"], data["digits"]


@functools.cache
def load(path=None, read=storage.read):
    """Returns (images, labels) for training and (images, labels) for the test.

    Images are float32 of shape [n, 64] in 0…1, labels int64 of shape [n]; n is 1437 and 360.
    They come with scikit-learn, or from a file that write_digits.py has written, whose bytes
    `read(path)` returns.
    """
    pixels, digits = pixels_and_digits(path, read)
    order = np.random.default_rng(0).permutation(len(digits))
    images = (pixels[order] / 16.0).astype(np.float32)
    labels = digits[order].astype(np.int64)
    train = images[TEST_IMAGES:], labels[TEST_IMAGES:]
    test = images[:TEST_IMAGES], labels[:TEST_IMAGES]
    return train, test


def batch_indices(step, batch_size, seed, examples):
    """Returns which of `examples` training examples make up the global batch of a step.

    Steps count from 1; the result is int64 of shape [batch_size], without repetition.
    """
    return np.random.default_rng([seed, step]).choice(examples, batch_size, replace=False)


def initial_parameters(seed):
    """Returns the first parameters of the network 64 → 32 (tanh) → 10, by name, in layer order.

    All are float32; kernels have the shape [inputs, outputs].
    """
    random = np.random.default_rng([seed, 0])

    def kernel(inputs, outputs):
        limit = np.sqrt(6.0 / (inputs + outputs))
        return random.uniform(-limit, limit, (inputs, outputs)).astype(np.float32)

    return {
        "hidden_kernel": kernel(PIXELS, HIDDEN),
        "hidden_bias": np.zeros(HIDDEN, np.float32),
        "output_kernel": kernel(HIDDEN, CLASSES),
        "output_bias": np.zeros(CLASSES, np.float32),
    }
