"""Checks on each rank for each of PyTorch's types with each operation: run by run_checks.py."""

import torch

import tony.collective.torch as hvd
import type_checks

NAMES = ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "bool")


def kinds():
    for name in NAMES:
        dtype = getattr(torch, name)
        yield type_checks.Kind(name, dtype, lambda values, dtype=dtype: torch.tensor(values, dtype=dtype), hvd)


def check_reductions():
    for kind in kinds():
        kind.reductions()


def check_moves():
    for kind in kinds():
        kind.moves()
