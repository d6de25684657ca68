"""Functions that give all ranks the same model at the start."""

import collections.abc
import contextlib
import math

import torch

from .. import _buffers, _process
from .._objects import broadcast_object
from .._process_sets import global_process_set, set_id
from .._surface import surface
from ._differentiable import plain


@surface
def broadcast_parameters(params, root_rank, process_set=global_process_set):
    """Gives all ranks the parameters of rank ``root_rank``, in place.

    Arguments:
        params: ``model.state_dict()``, a list of tensors, or ``model.named_parameters()``. Values of a dictionary that
            are no tensors, such as None, are ignored.
        root_rank: the rank whose parameters are sent.

    HorovodInternalError: a parameter's shape or type differs among ranks; a rank is gone. ValueError: another type of
    ``params``.
    """
    set_id(process_set)
    if isinstance(params, dict):
        named = sorted(params.items())
    elif isinstance(params, (list, tuple, collections.abc.Iterator)):
        named = [each if isinstance(each, tuple) else (None, each) for each in params]
    else:
        raise ValueError(f"invalid params of type: {type(params)}")
    handles = [plain.broadcast_async_(tensor, root_rank, None if name is None else f"parameters.{name}", process_set)
               for name, tensor in named if isinstance(tensor, torch.Tensor)]
    for handle in handles:
        handle.wait()


def empty(*size, dtype=None):
    """A new uninitialized CPU tensor, like torch.empty(), in memory that the ranks of a host share.

    If all ranks pass such tensors to an allreduce, it needs no copy, in place or not. A forked child shares such a
    tensor instead of getting a copy.

    NotInitializedError: before ``init()``. MemoryError.
    """
    shape = _buffers.shape_of(size[0] if len(size) == 1 else size)
    dtype = torch.get_default_dtype() if dtype is None else dtype
    buffer = _buffers.allocate(shape, torch.empty(0, dtype=dtype).element_size())
    if math.prod(shape) == 0:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(buffer, dtype=dtype, count=math.prod(shape)).reshape(shape)


@contextlib.contextmanager
def contents_in_place(optimizer):
    """A context in which ``optimizer`` loads a state. torch.optim makes a new list of groups and a new dictionary of
    states for that. Their contents are moved into the old ones, which an optimizer shares with its
    DistributedOptimizer, and which a scheduler may refer to. The groups themselves are the new ones: composed
    optimizers such as SAM or Lookahead have passed these to their parts."""
    if not isinstance(optimizer, torch.optim.Optimizer):  # of another library
        yield
        return
    # Properties are left out: they belong to another optimizer.
    own = vars(optimizer)
    groups, state = own.get("param_groups"), own.get("state")
    yield
    if own.get("param_groups") is not groups:
        groups[:] = optimizer.param_groups
        optimizer.param_groups = groups
    if own.get("state") is not state:
        loaded = dict(optimizer.state)
        state.clear()
        state.update(loaded)
        optimizer.state = state


class _Placeholder:
    """Stands in a state dictionary for the tensor with this number, of a given shape and type."""

    def __init__(self, number, tensor):
        self.number, self.shape, self.dtype = number, tuple(tensor.shape), tensor.dtype


def _replaced(value, kind, replace):
    """``value``, a state dictionary or a part of it, with all values of type ``kind`` replaced."""
    if isinstance(value, kind):
        return replace(value)
    if isinstance(value, dict):
        return {key: _replaced(each, kind, replace) for key, each in value.items()}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_replaced(each, kind, replace) for each in value)
    return value


def _put_back_types(optimizer, sent):
    """Restores the root's types. torch.optim loads a state in the types of the parameters, while the root may have, for
    instance, float32 state for bfloat16 parameters."""
    if not isinstance(optimizer, torch.optim.Optimizer) or not {"state", "param_groups"} <= sent.keys():
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    numbers = [number for group in sent["param_groups"] for number in group["params"]]
    for p, number in zip(parameters, numbers):
        if p in optimizer.state and number in sent["state"]:
            _with_types(optimizer.state[p], sent["state"][number])


def _with_types(loaded, sent):
    """``loaded``, a part of a state, with the tensors of ``sent`` wherever the types differ. Dictionaries are changed
    in place."""
    if isinstance(loaded, torch.Tensor):
        return loaded if loaded.dtype == sent.dtype else sent.to(loaded.device)
    if isinstance(loaded, dict):
        loaded.update({key: _with_types(each, sent[key]) for key, each in loaded.items() if key in sent})
    elif type(loaded) in (list, tuple):
        return type(loaded)(map(_with_types, loaded, sent))
    return loaded


@surface
def broadcast_optimizer_state(optimizer, root_rank, model=None,  # pylint: disable=unused-argument
                              process_set=global_process_set):
    """Gives all ranks the state and the options (learning rate, …) of rank ``root_rank``'s optimizer.

    The other ranks' optimizers need no state yet: they load that of ``root_rank``. Their parameters must be grouped in
    the same way.

    Arguments:
        optimizer: an optimizer of torch.optim, or a DistributedOptimizer.
        root_rank: the rank whose state is sent.
        model: for compatibility with Horovod.

    ValueError: ``optimizer`` is an LBFGS. HorovodInternalError: as for allreduce().
    """
    set_id(process_set)
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("cannot broadcast torch.optim.LBFGS state")
    is_root = _process.rank() == root_rank
    tensors, skeleton = [], None

    def placeholder(tensor):
        # The other ranks load the received state onto the devices of their parameters.
        tensors.append(tensor.cpu())
        return _Placeholder(len(tensors) - 1, tensor)

    if is_root:
        skeleton = _replaced(optimizer.state_dict(), torch.Tensor, placeholder)
    skeleton = broadcast_object(skeleton, root_rank, "optimizer_state", process_set)
    if not is_root:
        def tensor_for(place):
            tensors.append(torch.empty(place.shape, dtype=place.dtype))
            return tensors[-1]

        # In the order of their numbers; pickling keeps the order of dictionaries.
        state = _replaced(skeleton, _Placeholder, tensor_for)
    handles = [plain.broadcast_async_(tensor, root_rank, f"optimizer_state.{number}", process_set)
               for number, tensor in enumerate(tensors)]
    for handle in handles:
        handle.wait()
    if not is_root:
        with contents_in_place(optimizer):
            optimizer.load_state_dict(state)
        _put_back_types(optimizer, state)
