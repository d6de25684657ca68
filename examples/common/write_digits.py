"""Writes the examples' data to a file, for jobs that read it from there: `--data`.

    python3 write_digits.py hdfs:///user/me/digits.npz

The path may be a URL of any file system that fsspec knows.
"""

import sys

from sklearn.datasets import load_digits

import storage


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    data = load_digits()
    storage.write_arrays(sys.argv[1], {"pixels": data.data, "digits": data.target})
    print(f"wrote {len(data.target)} images to {sys.argv[1]}")


if __name__ == "__main__":
    main()
