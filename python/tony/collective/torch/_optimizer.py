"""An optimizer that uses the gradients of all ranks."""

import contextlib
import os
import warnings

import torch

from .. import _process
from .._process_sets import check_registered, global_process_set
from .._reduce_ops import Adasum, Average, Sum
from ..compression import Compression
from ._differentiable import plain
from ._functions import contents_in_place
from ._gradients import TOO_MANY_PASSES, Gradients, watch


def DistributedOptimizer(optimizer, named_parameters=None, compression=Compression.none, backward_passes_per_step=1,
                         op=Average, gradient_predivide_factor=1.0, num_groups=0, groups=None, sparse_as_dense=False,
                         process_set=global_process_set):  # pylint: disable=invalid-name
    """Wraps an optimizer of torch.optim, so that its gradients are averaged among all ranks before they are applied.

    Each gradient is sent as soon as the backward pass has computed it, while that pass continues. ``step()`` waits for
    all of them. The result has all methods of ``optimizer``, shares its state, and has these methods in addition:

    - ``synchronize()``: waits for the gradients, for instance to clip them before ``step()``;
    - ``skip_synchronize()``: a context in which ``step()`` does not wait again;
    - ``set_backward_passes_per_step(passes)``.

        optimizer.synchronize()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        with optimizer.skip_synchronize():
            optimizer.step()

    Arguments:
        optimizer: the optimizer to wrap; do not use it itself any more.
        named_parameters: ``model.named_parameters()``: errors name tensors by these names.
        compression: Compression.none, .fp16 or .bf16, for sending gradients.
        backward_passes_per_step: each rank sums up so many gradients before it sends them.
        op: Average, Sum or Adasum.
        gradient_predivide_factor: the part of an average's division that is done before the sum, against overflows;
            with op=Average only.
        num_groups: like ``groups``, with an integer.
        groups: gradients that are sent together: either the number of groups into which all are divided, or lists of
            parameters. Lists may contain parameters that need no gradient or belong to other optimizers; these are
            ignored. A parameter in no list is sent by itself.
        sparse_as_dense: sends sparse gradients as dense ones; otherwise their indices and values are gathered.
        process_set: the ranks whose gradients are averaged. On other ranks the optimizer works as before.

    ValueError: names or groups do not fit the parameters; an option is invalid.
    """
    if op not in (Average, Sum, Adasum):
        raise ValueError(f"op is {op!r}: it is one of Average, Sum, Adasum")
    if gradient_predivide_factor != 1.0 and op is not Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    if backward_passes_per_step <= 0:
        raise ValueError("backward_passes_per_step must be > 0")
    names = _names_of(optimizer, named_parameters)
    groups = _groups_of(optimizer, num_groups if groups is None else groups)
    included = check_registered(process_set).included()
    wrapped = _with_class(optimizer, _ADASUM_METHODS if op is Adasum and included else _METHODS)
    wrapped._parameter_names = names  # Horovod's name, which programs have come to read
    wrapped._synchronized = False
    wrapped._should_synchronize = True
    # Horovod's attributes, for programs to read.
    wrapped.backward_passes_per_step, wrapped.op, wrapped.process_set = backward_passes_per_step, op, process_set
    wrapped.gradient_predivide_factor, wrapped.sparse_as_dense = gradient_predivide_factor, sparse_as_dense
    # A single rank has nothing to send, unless others may come.
    alone = not included or process_set.size() == 1 and os.environ.get("HOROVOD_ELASTIC") != "1"
    if op is Adasum and included:
        wrapped._exchange = _Deltas(names, compression, backward_passes_per_step, process_set, alone)
        return wrapped
    wrapped._exchange = None if alone else Gradients(names, groups, compression, op, gradient_predivide_factor,
                                                     backward_passes_per_step, sparse_as_dense, process_set)
    return wrapped


def _names_of(optimizer, named_parameters):
    """Names by parameter, for all parameters of the optimizer, in their order."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if named_parameters is None:
        return {p: f"gradient.{number}" for number, p in enumerate(parameters)}
    named_parameters = list(named_parameters)
    if not all(isinstance(each, tuple) for each in named_parameters):
        raise ValueError("named_parameters should be a sequence of tuples (name, parameter), usually produced by "
                         "model.named_parameters().")
    names = [name for name, _ in named_parameters]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError("Parameter names in named_parameters must be unique. Found duplicates: " + ", ".join(twice))
    by_parameter = {p: name for name, p in named_parameters}
    unnamed = [str(number) for number, p in enumerate(parameters) if p not in by_parameter]
    if unnamed:
        raise ValueError("named_parameters was specified, but one or more model parameters were not named: the "
                         "optimizer's parameters " + ", ".join(unnamed))
    return {p: by_parameter[p] for p in parameters}


def _groups_of(optimizer, groups):
    """The groups as tuples of parameters."""
    if isinstance(groups, int) and groups >= 0:
        parameters = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
        count = min(groups, len(parameters))
        size, larger = divmod(len(parameters), count) if count else (0, 0)
        starts = [number * size + min(number, larger) for number in range(count + 1)]
        return [tuple(parameters[first:last]) for first, last in zip(starts, starts[1:])]
    if not isinstance(groups, list) or not all(isinstance(group, (list, tuple)) for group in groups):
        raise ValueError("groups should be a non-negative integer or a list of list of torch.Tensor.")
    grouped = [p for group in groups for p in group]
    if not all(isinstance(p, torch.Tensor) for p in grouped):
        raise ValueError("groups should consist of torch.Tensor.")
    if len(set(grouped)) != len(grouped):
        raise ValueError("groups should have each parameter once at most")
    known = {p for group in optimizer.param_groups for p in group["params"] if p.requires_grad}
    groups = [tuple(p for p in group if p in known) for group in groups]
    return [group for group in groups if group]


def _with_class(optimizer, methods):
    """The contents of ``optimizer`` in a new class with ``methods``. The class is derived from its own class and has
    the same name."""
    base = type(optimizer)
    made = type(base.__name__, (base,), {"_base": base, "__doc__": base.__doc__, **methods})
    wrapped = made.__new__(made)
    # A scheduler that was made earlier has put its own step into the optimizer.
    wrapped.__dict__.update({name: value for name, value in optimizer.__dict__.items() if name != "step"})
    return wrapped


def _synchronize(self):
    """Waits until all gradients are those of all ranks."""
    if self._exchange is not None:
        self._exchange.synchronize()
    self._synchronized = True


@contextlib.contextmanager
def _skip_synchronize(self):
    """A context in which ``step()`` does not wait for gradients, because ``synchronize()`` was called before."""
    self._should_synchronize = False
    try:
        yield
    finally:
        self._should_synchronize = True


def _step(self, closure=None):
    """Applies all ranks' gradients. ``closure``: as for torch.optim."""
    if self._should_synchronize:
        if self._synchronized:
            warnings.warn("optimizer.step() called without optimizer.skip_synchronize() context after "
                          "optimizer.synchronize(). This can cause training slowdown. You may want to consider using "
                          "optimizer.skip_synchronize() context if you use optimizer.synchronize() in your code.")
        self.synchronize()
    self._synchronized = False
    return self._base.step(self, closure)


def _zero_grad(self, *args, **kwargs):
    """As in torch.optim."""
    if self._exchange is not None and self._exchange.pending:
        raise AssertionError("optimizer.zero_grad() was called after loss.backward() but before optimizer.step() or "
                             "optimizer.synchronize(). This is prohibited as it can cause a race condition.")
    return self._base.zero_grad(self, *args, **kwargs)


def _load_state_dict(self, *args, **kwargs):
    """As in torch.optim, but param_groups and state stay the same objects."""
    if self._exchange is not None:
        self._exchange.forget()
    self._synchronized = False
    self._should_synchronize = True
    with contents_in_place(self):
        return self._base.load_state_dict(self, *args, **kwargs)


def _set_backward_passes_per_step(self, passes):
    """Sets how many gradients each rank sums up before it sends them."""
    self.backward_passes_per_step = passes
    if self._exchange is not None:
        self._exchange.set_passes(passes)


_METHODS = {"synchronize": _synchronize, "skip_synchronize": _skip_synchronize, "step": _step,
            "zero_grad": _zero_grad, "load_state_dict": _load_state_dict,
            "set_backward_passes_per_step": _set_backward_passes_per_step}


class _Deltas:
    """The exchange for Adasum, which combines the changes that the optimizers have made, not gradients."""

    def __init__(self, names, compression, passes, process_set, alone):
        self._names = {p: name for p, name in names.items() if p.requires_grad}
        self._compression = compression
        self._process_set = process_set
        self._passes = passes
        self._passed = dict.fromkeys(self._names, 0)  # backward passes since the last step
        self._stepping = False  # a closure may be called several times within a step
        self._unfinished = False  # whether gradients may have been summed up for an unfinished step
        self._hooks = [] if alone else [watch(p, self._on_gradient) for p in self._names]
        _process.begins_anew(self)

    @property
    def pending(self):
        """Whether there have been backward passes since the last step."""
        return not self._stepping and any(self._passed.values())

    def _on_gradient(self, p):
        if self._stepping:
            return
        if self._passed[p] >= self._passes:
            raise AssertionError(TOO_MANY_PASSES)
        self._passed[p] += 1

    def set_passes(self, passes):
        """Sets the number of backward passes for each step, from the next one on."""
        self._passes = passes
        self.forget()

    def forget(self):
        """Starts another step: it counts passes from 0."""
        self._unfinished |= self.pending
        self._passed = dict.fromkeys(self._names, 0)

    def begin_anew(self):
        """Called when the ranks have changed: it also drops the sums of an unfinished step."""
        self.forget()
        if self._unfinished:
            for p in self._names:
                p.grad = None
        self._unfinished = False

    def step(self, local_step):
        """Makes a local step, and exchanges the changes."""
        starts = {p: p.detach().clone() for p in self._names}
        self._stepping = self._unfinished = True
        try:
            loss = local_step()
        finally:
            self._stepping = False
        with torch.no_grad():
            waiting = []
            for p, name in self._names.items():
                sent, context = self._compression.compress(p.detach() - starts[p])
                waiting.append((p, context, plain.allreduce_async_(sent, None, f"delta.{name}", Adasum,
                                                                   process_set=self._process_set)))
            for p, context, handle in waiting:
                p.copy_(starts[p] + self._compression.decompress(handle.wait(), context))
        self.forget()
        self._unfinished = False
        return loss


def _adasum_step(self, closure=None):
    """Makes a step of this rank, and combines all ranks' changes with Adasum."""
    return self._exchange.step(lambda: self._base.step(self, closure))


# torch.optim's own step calls the hooks of steps. Since PyTorch 2.0, loading a state adds these calls to any step that
# is not marked, so they would be called twice.
_step.hooked = _adasum_step.hooked = True


def _adasum_synchronize(self):  # pylint: disable=unused-argument
    """Does nothing: ``step()`` does all the work."""


@contextlib.contextmanager
def _no_skip(self):  # pylint: disable=unused-argument
    """Not possible: the exchange is part of ``step()``."""
    raise AssertionError("Skipping synchronization is not supported when using Adasum optimizer.")
    yield  # pylint: disable=unreachable


_ADASUM_METHODS = {"synchronize": _adasum_synchronize, "skip_synchronize": _no_skip, "step": _adasum_step,
                   "zero_grad": _zero_grad, "load_state_dict": _load_state_dict,
                   "set_backward_passes_per_step": _set_backward_passes_per_step}
