"""Models, optimizers and samplers as the state of elastic training."""

import copy
import types

import torch

from ..._objects import broadcast_object
from ...elastic import ObjectState
from .._functions import broadcast_optimizer_state, broadcast_parameters
from .sampler import ElasticSampler


class _Handler:
    """One value with a ``state_dict()``. ``synchronize`` gives all ranks that of rank 0."""

    def __init__(self, value, synchronize):
        self._value = value
        self._synchronize = synchronize
        self.save()

    def save(self):
        """Keeps a copy."""
        self._saved = copy.deepcopy(self._value.state_dict())

    def restore(self):
        """Returns to the kept copy."""
        # load_state_dict() of an optimizer may keep the object that it is given.
        self._value.load_state_dict(copy.deepcopy(self._saved))

    def sync(self):
        """Gives all ranks rank 0's value; the kept copy stays."""
        self._synchronize(self._value)

    def set_value(self, value):
        """Continues with another value."""
        self._value = value
        self.save()


def _synchronize_model(model):
    broadcast_parameters(model.state_dict(), root_rank=0)


def _synchronize_optimizer(optimizer):
    broadcast_optimizer_state(optimizer, root_rank=0)


def _synchronize_sampler(sampler):
    sampler.load_state_dict(broadcast_object(sampler.state_dict()))


_KINDS = ((torch.nn.Module, _synchronize_model), (torch.optim.Optimizer, _synchronize_optimizer),
          (ElasticSampler, _synchronize_sampler))


class TorchState(ObjectState):
    """The state of a training with PyTorch.

    ``model``, ``optimizer`` and all keyword arguments become attributes. Modules, optimizers of torch.optim (also
    wrapped by DistributedOptimizer) and ElasticSamplers are saved, restored and sent by their state dictionaries.
    Anything else is an object, as in ObjectState.
    """

    _handlers = types.MappingProxyType({})  # set by __init__(); derived classes may set attributes earlier

    def __init__(self, model=None, optimizer=None, **kwargs):
        handlers, objects = {}, {}
        for name, value in {"model": model, "optimizer": optimizer, **kwargs}.items():
            synchronize = next((each for kind, each in _KINDS if isinstance(value, kind)), None)
            if synchronize is None:
                objects[name] = value
            else:
                handlers[name] = _Handler(value, synchronize)
                setattr(self, name, value)
        self._handlers = handlers
        super().__init__(**objects)

    def restore(self):
        """Returns to the kept copies."""
        for handler in self._handlers.values():
            handler.restore()
        super().restore()

    def _share(self):
        for handler in self._handlers.values():
            handler.sync()
        super()._share()

    def _keep(self):
        for handler in self._handlers.values():
            handler.save()
        super()._keep()

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name != "_handlers" and name in self._handlers:
            self._handlers[name].set_value(value)
