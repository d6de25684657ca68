"""The reductions of tensors."""

import ctypes
import functools

from ._library import Reduction


class ReduceOp:
    """One reduction; compared by identity."""

    def __init__(self, name, code):
        self.name = name
        self._code = code

    def __repr__(self):
        return self.name

    def __reduce__(self):
        return self.name  # an attribute of this module: copies and unpickled values are the same object

    @functools.lru_cache(maxsize=4096)
    def reduction(self, prescale, postscale):
        """(struct tony_collective_reduction, its address), which live as long as this op."""
        struct = Reduction(self._code, prescale, postscale)
        return struct, ctypes.addressof(struct)


#: The sum divided by the number of ranks; for integers the fraction is dropped.
Average = ReduceOp("Average", 4)
#: The sum.
Sum = ReduceOp("Sum", 0)
#: Adds orthogonal vectors and averages parallel ones, arXiv 2006.02924; for floating-point types.
Adasum = ReduceOp("Adasum", 5)
#: The minimum.
Min = ReduceOp("Min", 2)
#: The maximum.
Max = ReduceOp("Max", 3)
#: The product.
Product = ReduceOp("Product", 1)


def choose(op, average=None):
    """``op``, or Average if it is None. ``average`` is Horovod's old way to say Average or Sum.

    ValueError: both are given, or ``op`` is no reduction.
    """
    if average is not None:
        if op is not None:
            raise ValueError("The op parameter supersedes average. Please provide only one of them.")
        return Average if average else Sum
    if op is None:
        return Average
    if not isinstance(op, ReduceOp):
        raise ValueError(f"op is {op!r}: it is one of Average, Sum, Adasum, Min, Max, Product")
    return op
