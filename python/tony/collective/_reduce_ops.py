"""How tensors are reduced."""

import ctypes
import functools

from ._library import Reduction


class ReduceOp:
    """One way to reduce; compared by identity."""

    def __init__(self, name, code):
        self.name = name
        self._code = code

    def __repr__(self):
        return self.name

    def __reduce__(self):
        return self.name  # of this module's: copies, and what is unpickled, are the same object

    @functools.lru_cache(maxsize=4096)
    def reduction(self, prescale, postscale):
        """(struct tony_collective_reduction, its address), which lives as long as this op."""
        struct = Reduction(self._code, prescale, postscale)
        return struct, ctypes.addressof(struct)


#: The sum, divided by the number of ranks; of integers without the fraction.
Average = ReduceOp("Average", 4)
#: The sum.
Sum = ReduceOp("Sum", 0)
#: A sum that adds what is orthogonal and averages what is parallel, arXiv 2006.02924; of floating-point types.
Adasum = ReduceOp("Adasum", 5)
#: The least.
Min = ReduceOp("Min", 2)
#: The greatest.
Max = ReduceOp("Max", 3)
#: The product.
Product = ReduceOp("Product", 1)


def choose(op, average=None):
    """``op``; Average where it is None. ``average`` is Horovod's old way to say Average or Sum.

    ValueError: both are given, or it is none.
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
