"""Writes the examples' data to a file, for jobs that read it from there: `--data`.

    python3 write_digits.py hdfs:///user/me/digits.npz

The path may be a URL of any file system that fsspec knows.
"""

import io
import sys

import fsspec
import numpy as np
from sklearn.datasets import load_digits


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    data = load_digits()
    content = io.BytesIO()
    np.savez(content, pixels=data.data, digits=data.target)
    with fsspec.open(sys.argv[1], "wb") as file:
        file.write(content.getvalue())
    print(f"wrote {len(data.target)} images, {len(content.getvalue())} bytes, to {sys.argv[1]}")


if __name__ == "__main__":
    main()
