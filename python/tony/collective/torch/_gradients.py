"""The gradients of one optimizer, averaged among ranks during the backward pass."""

import threading
import weakref

import torch

from .. import _process
from .._reduce_ops import Average, Max
from ._differentiable import plain
from ._sparse import sparse_allreduce_async

# The kinds of a parameter's gradient, as all ranks know them.
_UNKNOWN, _DENSE, _SPARSE = 0, 1, 2
_all = weakref.WeakSet()

TOO_MANY_PASSES = ("Gradients were computed more than backward_passes_per_step times before call to step(). Increase "
                   "backward_passes_per_step to accumulate gradients locally.")


@_process.on_start
def _learn_kinds_anew():
    # New ranks of an elastic job know no kinds, so all ranks have to ask again together.
    for gradients in _all:
        gradients.forget_kinds()


def watch(p, method):
    """Calls the bound ``method`` with ``p`` when a backward pass has added to its gradient, as long as the method's
    object lives. Parameters outlive optimizers, so they must not keep an abandoned optimizer working.

    Returns: an object that the method's owner has to keep.
    """
    reference = weakref.WeakMethod(method)

    def call(p):
        called = reference()
        if called is not None:
            called(p)
        elif hook is not None:
            hook.remove()

    if hasattr(p, "register_post_accumulate_grad_hook"):  # since PyTorch 2.1
        hook = p.register_post_accumulate_grad_hook(call)
        return hook
    # The autograd node that adds to p.grad. It lives as long as somebody holds it.
    hook, node = None, p.expand_as(p).grad_fn.next_functions[0][0]
    node.register_hook(lambda *_: call(p))
    return node


class Gradients:
    """Submits each gradient when it is there, and waits for all of them.

    Parameters with the same tuple in ``groups`` are submitted when all of them are there. Not thread safe, except for
    the hooks: PyTorch calls them from one thread for each device, each for other parameters.
    """

    def __init__(self, names, groups, compression, op, predivide, passes, sparse_as_dense, process_set):
        """``names``: by parameter, for all parameters of the optimizer. ``passes``: backward passes for each step."""
        self._names = names
        self._group_of = {p: group for group in groups for p in group}
        self._compression = compression
        self._op = op
        self._scales = (1.0 / predivide, predivide) if op is Average else (1.0, 1.0)
        self._sparse_as_dense = sparse_as_dense
        self._process_set = process_set
        self._passes = passes
        self._left = {p: passes for p in names}  # passes left until the gradient is submitted
        self._counting = threading.Lock()  # a group may have parameters of several devices
        self._handles = {}  # by group: the handle, and the sent tensors unless the gradient was sparse
        self._densified = {}  # sparse dimensions by parameter whose sparse gradient is sent as dense
        self._unfinished = False  # whether gradients may have been summed up, or sent, for an unfinished step
        self._watched = [p for p in names if p.requires_grad]
        self._kinds = {}  # by parameter, the same on all ranks
        self._hooks = [watch(p, self._on_gradient) for p in self._watched]
        _all.add(self)
        _process.begins_anew(self)

    @property
    def pending(self):
        """Whether there have been backward passes since the last synchronize()."""
        return bool(self._handles) or any(left != self._passes for left in self._left.values())

    def set_passes(self, passes):
        """Sets the number of backward passes for each step, from the next one on."""
        self._passes = passes
        self._left = {p: passes for p in self._left}

    def _on_gradient(self, p):
        group = self._group_of.get(p, (p,))
        with self._counting:
            if group in self._handles or self._left[p] <= 0:
                raise AssertionError(TOO_MANY_PASSES)
            self._left[p] -= 1
            complete = all(self._left[each] == 0 for each in group)
        if complete:
            self._submit(group)

    def _submit(self, group):
        for p in group:
            if p.grad is None:
                # Another rank may have a gradient for this parameter.
                p.grad = _empty_sparse(p) if self._kinds.get(p) == _SPARSE else torch.zeros_like(p)
            if p.grad.is_sparse and (self._sparse_as_dense or len(group) > 1):
                self._densified[p] = p.grad.sparse_dim()
                p.grad = p.grad.to_dense()
        if group[0].grad.is_sparse:
            self._handles[group] = self._submit_sparse(group[0]), None
            return
        compressed = [self._compression.compress(p.grad.detach()) for p in group]
        sent = [tensor for tensor, _ in compressed]
        name = self._names[group[0]]
        if len(group) == 1:
            handle = plain.allreduce_async_(sent[0], None, name, self._op, *self._scales, self._process_set)
        else:
            handle = plain.grouped_allreduce_async_(sent, None, name, self._op, *self._scales, self._process_set)
        self._handles[group] = handle, compressed

    def _finish(self, group, handle, compressed):
        result = handle.wait()
        if compressed is None:
            group[0].grad = result
            return
        for p, (sent, context) in zip(group, compressed):
            values = self._compression.decompress(sent, context)
            if values.data_ptr() != p.grad.data_ptr() or values.dtype != p.grad.dtype:
                p.grad.copy_(values)
            if p in self._densified:
                # The optimizer may accept sparse gradients only.
                p.grad = p.grad.to_sparse(self._densified.pop(p))

    def forget_kinds(self):
        """Makes all ranks ask each other again."""
        self._kinds = {}

    def _learn_kinds(self):
        """Learns the kinds of gradients for parameters without a gradient on this rank, since another rank may have
        one: sparse gradients are exchanged in other operations than dense ones. All ranks take part until each
        parameter has had a gradient on some rank."""
        asked = [p for p in self._watched if p not in self._kinds and len(self._group_of.get(p, (p,))) == 1]
        if self._sparse_as_dense or not asked:
            return
        own = [_UNKNOWN if p.grad is None else _SPARSE if p.grad.is_sparse else _DENSE for p in asked]
        name = f"gradient_kinds.{self._names[asked[0]]}"
        kinds = plain.allreduce(torch.tensor(own, dtype=torch.uint8), op=Max, name=name,
                                process_set=self._process_set)
        self._kinds.update((p, kind) for p, kind in zip(asked, kinds.tolist()) if kind != _UNKNOWN)

    def _submit_sparse(self, p):
        gradient = p.grad.coalesce()
        if gradient.values().shape[0] == 0:
            # PyTorch forgets the shape of rows when zero_grad() empties a sparse gradient.
            gradient = _empty_sparse(p)
        return sparse_allreduce_async(gradient, self._names[p], self._op, self._process_set)

    def synchronize(self):
        """Waits for all gradients. Parameters without a gradient on this rank are submitted as zeros."""
        self._unfinished = True
        try:
            self._learn_kinds()
            for p in self._watched:
                group = self._group_of.get(p, (p,))
                if group not in self._handles:
                    self._submit(group)
            for group, submitted in self._handles.items():
                self._finish(group, *submitted)
            self._unfinished = False
        finally:
            self._wait_for_nothing()

    def forget(self):
        """Starts another step: it waits for nothing, and counts passes from 0."""
        self._unfinished |= self.pending
        self._wait_for_nothing()

    def begin_anew(self):
        """Called when the ranks have changed: it also drops the sums of an unfinished step."""
        self.forget()
        if self._unfinished:
            for p in self._watched:
                p.grad = None
        self._unfinished = False

    def _wait_for_nothing(self):
        self._handles, self._densified = {}, {}
        self._left = {p: self._passes for p in self._left}


def _empty_sparse(p):
    """A sparse gradient without rows. Like nn.Embedding's, it is sparse in the first dimension."""
    return torch.sparse_coo_tensor(torch.zeros(1, 0, dtype=torch.int64), p.new_zeros(0, *p.shape[1:]), p.shape)
