"""Functions that python_package_test.py runs as jobs. They lie in a module, as they are pickled by their names."""

import os


class CityError(Exception):
    """An exception with a place."""

    def __init__(self, city, number):
        super().__init__(city, number)
        self.city = city
        self.number = number


def rank_and(value, plus=0):
    """What the rank is, and the arguments."""
    return int(os.environ["TASK_INDEX"]), value + plus


def fail_in(rank, gate):
    """Raises in one rank; the others wait for it."""
    if int(os.environ["TASK_INDEX"]) != rank:
        with open(gate, encoding="utf-8") as never:
            never.read()
    raise CityError("Ulm", rank)


def end_without_a_word():
    """Ends as a crash does."""
    os._exit(7)


def megabytes(count):
    """That many, from a source that does not take twice as much."""
    return bytes(count << 20)
