"""What holds on each rank for each type with each operation, against Python's own numbers: run by run_checks.py.

For numpy's arrays; torch_type_checks.py has the same for PyTorch's tensors.
"""

import math

import numpy as np

import tony.collective as hvd
from array_checks import everybody, expect_error

INTEGERS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
COUNT = 37  # no multiple of what a processor computes at once


def wrapped(value, kind):
    """An integer, as one of its type has it when it has become too large."""
    if kind not in INTEGERS:
        return value
    bits, signed = int(kind.strip("uint")), not kind.startswith("u")
    half = 1 << bits - 1 if signed else 0
    return (value + half) % (1 << bits) - half


OPS = {"Sum": sum, "Average": sum, "Product": math.prod, "Min": min, "Max": max}


def reduced(op, columns, kind):
    """The expected reduction; ``columns``: all ranks' numbers for one element each."""
    if kind == "bool":
        return [any(column) if op in ("Sum", "Max") else all(column) for column in columns]
    results = [wrapped(OPS[op](column), kind) for column in columns]
    if op != "Average":
        return results
    return [math.trunc(result / hvd.size()) if kind in INTEGERS else result / hvd.size() for result in results]


def numbers(kind, rank, op=None, count=COUNT):
    """A rank's, as a list. What comes of them every type can tell exactly, and of integers some become too large."""
    if kind == "bool":
        return [(place + rank) % 3 == 0 for place in range(count)]
    values = [(place + rank) % 3 + 1 for place in range(count)]
    if not kind.startswith("u"):
        values = [-value if (place + rank) % 5 < 2 else value for place, value in enumerate(values)]
    if op == "Average":  # of numbers with a fraction a whole one, so that it needs no rounding
        return values if kind in INTEGERS else [value * hvd.size() for value in values]
    if kind in INTEGERS:
        values[-1] = wrapped(-1, kind) if kind.startswith("u") else (1 << int(kind.strip("int")) - 1) - 1
    return values


class Kind:
    """Tensors of one type. ``make``: of a list; ``module``: whose operations."""

    def __init__(self, name, dtype, make, module):
        self.name, self.dtype, self.make, self.module = name, dtype, make, module

    def expect(self, tensor, values, what):
        """It has this type, and the values of a list."""
        assert tensor.dtype == self.dtype, f"{what} of {self.name}: {tensor.dtype}"
        assert tensor.tolist() == values, f"{what} of {self.name}: {tensor.tolist()} instead of {values}"

    def ops(self):
        """Names of those that the type has."""
        return [op for op in OPS if self.name != "bool" or op != "Average"]

    def reductions(self):
        """allreduce() and reducescatter() with each op."""
        first = (COUNT // hvd.size()) * hvd.rank() + min(hvd.rank(), COUNT % hvd.size())
        mine = slice(first, first + COUNT // hvd.size() + (hvd.rank() < COUNT % hvd.size()))
        for op in self.ops():
            columns = list(zip(*everybody(lambda rank, op=op: numbers(self.name, rank, op))))
            expected, options = reduced(op, columns, self.name), {"op": getattr(self.module, op)}
            given = self.make(numbers(self.name, hvd.rank(), op))
            self.expect(self.module.allreduce(given, **options), expected, f"allreduce, {op}")
            self.expect(self.module.reducescatter(given, **options), expected[mine], f"reducescatter, {op}")
            for result in self.module.grouped_allreduce([given, given[3:]], **options):
                self.expect(result, expected[-len(result):], f"grouped_allreduce, {op}")
            self.module.allreduce_(given, **options)
            self.expect(given, expected, f"allreduce_, {op}")

    def moves(self):
        """The operations that only move data from rank to rank."""
        size, me = hvd.size(), hvd.rank()
        given = self.make(numbers(self.name, me))
        root = size - 1
        self.expect(self.module.broadcast(given, root), numbers(self.name, root), "broadcast")
        rows = everybody(lambda rank: numbers(self.name, rank, count=rank + 3))
        self.expect(self.module.allgather(self.make(rows[me])), sum(rows, []), "allgather")
        parts = everybody(lambda rank: numbers(self.name, rank, count=3 * size)[3 * me:3 * me + 3])
        self.expect(self.module.alltoall(self.make(numbers(self.name, me, count=3 * size))), sum(parts, []), "alltoall")


def kinds():
    """numpy's types; bfloat16 if the package for it is installed."""
    types = {name: np.dtype(name) for name in (*INTEGERS, "float16", "float32", "float64", "bool")}
    try:
        from ml_dtypes import bfloat16
        types["bfloat16"] = np.dtype(bfloat16)
    except ImportError:
        pass
    return [Kind(name, dtype, lambda values, dtype=dtype: np.array(values, dtype), hvd)
            for name, dtype in types.items()]


def check_reductions():
    for kind in kinds():
        kind.reductions()


def check_moves():
    for kind in kinds():
        kind.moves()


def check_bool_has_no_average():
    expect_error(ValueError, "average", hvd.allreduce, np.array([True]), op=hvd.Average, name="mean")
