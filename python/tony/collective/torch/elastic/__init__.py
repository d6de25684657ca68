"""Elastic training with PyTorch: Horovod's interface.

    state = hvd.elastic.TorchState(model=model, optimizer=optimizer, sampler=sampler, epoch=0)

    @hvd.elastic.run
    def train(state):
        for state.epoch in range(state.epoch, EPOCHS):
            for number, batch in enumerate(loader):
                ...
                state.sampler.record_batch(number, BATCH)
                if number % 10 == 0:
                    state.commit()
            state.sampler.set_epoch(state.epoch + 1)
            state.commit()
"""

from ...elastic import HorovodInternalError, HostsUpdatedInterrupt, NoPlaceError, ObjectState, State, run, run_fn
from .sampler import ElasticSampler
from .state import TorchState

__all__ = ["ElasticSampler", "HorovodInternalError", "HostsUpdatedInterrupt", "NoPlaceError", "ObjectState", "State",
           "TorchState", "run", "run_fn"]
