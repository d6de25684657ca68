"""Files by their path, local or in HDFS: /some/folder/file or hdfs://host:port/some/folder/file.

Other file systems of fsspec work, too, if they can rename a file onto another in one step.
"""

import errno
import io
import os
import uuid

import fsspec
import numpy as np


def is_url(path):
    """Returns whether `path` needs this module, because open() cannot open it."""
    return "://" in path


def exists(path):
    files, place = fsspec.core.url_to_fs(path)
    return files.exists(place)


def names(folder, pattern):
    """Returns the names in `folder` that match, e.g. "*.npz", in their order."""
    files, place = fsspec.core.url_to_fs(folder)
    return sorted(os.path.basename(found) for found in files.glob(os.path.join(place, pattern)))


def read(path):
    """Returns the bytes of a file."""
    files, place = fsspec.core.url_to_fs(path)
    try:
        with files.open(place, "rb") as file:
            return file.read()
    except FileNotFoundError:  # HDFS reports it with a stack trace and without the whole path
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None


def write(path, content):
    """Writes bytes to `path`, under another name first, and makes its folder if needed.

    A reader, and a restart after a kill, finds either all of the bytes or the file as it was
    before. HDFS takes up to half a second for each file that is not empty, so do not write one in
    every step.
    """
    files, place = fsspec.core.url_to_fs(path)
    files.makedirs(os.path.dirname(place), exist_ok=True)
    beside = f"{place}.{uuid.uuid4().hex}.part"
    with files.open(beside, "wb") as file:
        file.write(content)
        if not is_url(path):
            file.flush()
            os.fsync(file.fileno())
    files.mv(beside, place, overwrite=True)


def read_arrays(path):
    """Returns what write_arrays() wrote."""
    with np.load(io.BytesIO(read(path))) as arrays:
        return dict(arrays)


def write_arrays(path, arrays):
    """Writes a dict of NumPy arrays, as write() does."""
    content = io.BytesIO()
    np.savez(content, **arrays)
    write(path, content.getvalue())
