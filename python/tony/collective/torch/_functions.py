"""What makes all ranks begin with the same model."""

import collections.abc
import contextlib
import math

import torch

from .. import _buffers, _process
from .._objects import broadcast_object
from .._process_sets import global_process_set, set_id
from ._differentiable import plain


def broadcast_parameters(params, root_rank, process_set=global_process_set):
    """Gives all ranks the parameters of rank ``root_rank``, in place.

    Arguments:
        params: ``model.state_dict()``, a list of tensors, or ``model.named_parameters()``. What is no tensor in a
            dictionary, such as None, is left alone.
        root_rank: whose parameters they are.

    HorovodInternalError: a parameter's shape or type is not the same everywhere; a rank is gone. ValueError: another
    type of ``params``.
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
    """A new tensor of the CPU, not filled, in memory that the ranks of a host share: as torch.empty() otherwise.

    An allreduce of tensors that all ranks have got so needs no copy, whether in place or from one to another. A child
    that the process forks does not get a copy of such a tensor, but the tensor.

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
    """Within it ``optimizer`` loads a state, for which torch.optim makes a new list of groups and a new dictionary of
    states: what is in them is put into those that it had. An optimizer and its DistributedOptimizer share these, and a
    scheduler may know either of the two. The groups are those that were made: an optimizer that is made of others, as
    SAM or Lookahead are, has given them to these."""
    if not isinstance(optimizer, torch.optim.Optimizer):  # a library's own, which has at least a state dictionary
        yield
        return
    # Not those that are properties, as another optimizer has them for all.
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
    """In a state dictionary: the tensor with this number, of a shape and a type."""

    def __init__(self, number, tensor):
        self.number, self.shape, self.dtype = number, tuple(tensor.shape), tensor.dtype


def _replaced(value, kind, replace):
    """``value``, a state dictionary or a part of it, with all of type ``kind`` in it replaced."""
    if isinstance(value, kind):
        return replace(value)
    if isinstance(value, dict):
        return {key: _replaced(each, kind, replace) for key, each in value.items()}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_replaced(each, kind, replace) for each in value)
    return value


def _put_back_types(optimizer, sent):
    """torch.optim loads a state in the types of the parameters; the root's may be another, as float32 of bfloat16's."""
    if not isinstance(optimizer, torch.optim.Optimizer) or not {"state", "param_groups"} <= sent.keys():
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    numbers = [number for group in sent["param_groups"] for number in group["params"]]
    for p, number in zip(parameters, numbers):
        if p in optimizer.state and number in sent["state"]:
            _with_types(optimizer.state[p], sent["state"][number])


def _with_types(loaded, sent):
    """``loaded``, a part of a state, with the tensors of ``sent`` where their types are others. Dictionaries are
    changed in place."""
    if isinstance(loaded, torch.Tensor):
        return loaded if loaded.dtype == sent.dtype else sent.to(loaded.device)
    if isinstance(loaded, dict):
        loaded.update({key: _with_types(each, sent[key]) for key, each in loaded.items() if key in sent})
    elif type(loaded) in (list, tuple):
        return type(loaded)(map(_with_types, loaded, sent))
    return loaded


def broadcast_optimizer_state(optimizer, root_rank, model=None,  # pylint: disable=unused-argument
                              process_set=global_process_set):
    """Gives all ranks the state and the options (learning rate, …) of rank ``root_rank``'s optimizer.

    The other ranks' optimizers need no state yet: they load that of ``root_rank``. Their parameters are grouped as its
    are.

    Arguments:
        optimizer: one of torch.optim's, or a DistributedOptimizer.
        root_rank: whose state it is.
        model: for compatibility with Horovod.

    ValueError: an LBFGS. HorovodInternalError: as of allreduce().
    """
    set_id(process_set)
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("cannot broadcast torch.optim.LBFGS state")
    is_root = _process.rank() == root_rank
    tensors, skeleton = [], None

    def placeholder(tensor):
        # The others load what they get to where their parameters are.
        tensors.append(tensor.cpu())
        return _Placeholder(len(tensors) - 1, tensor)

    if is_root:
        skeleton = _replaced(optimizer.state_dict(), torch.Tensor, placeholder)
    skeleton = broadcast_object(skeleton, root_rank, "optimizer_state", process_set)
    if not is_root:
        def tensor_for(place):
            tensors.append(torch.empty(place.shape, dtype=place.dtype))
            return tensors[-1]

        # In the order of their numbers: pickling keeps that of dictionaries.
        state = _replaced(skeleton, _Placeholder, tensor_for)
    handles = [plain.broadcast_async_(tensor, root_rank, f"optimizer_state.{number}", process_set)
               for number, tensor in enumerate(tensors)]
    for handle in handles:
        handle.wait()
    if not is_root:
        with contents_in_place(optimizer):
            optimizer.load_state_dict(state)
        _put_back_types(optimizer, state)
