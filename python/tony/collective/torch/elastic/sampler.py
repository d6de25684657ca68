"""Divides a data set's samples among ranks, even when ranks come and go within an epoch."""

import itertools
import random

import torch.utils.data

from ... import _process


class ElasticSampler(torch.utils.data.Sampler):
    """Divides the unprocessed samples of an epoch among the current ranks.

    It has to be part of a TorchState. Call record_batch() when a batch has been processed, and set_epoch() at the end
    of an epoch. If the samples cannot be divided evenly, some occur twice, so that all ranks have the same number. Not
    thread safe.
    """

    def __init__(self, dataset, shuffle=True, seed=0):
        """``dataset``: has a length, which does not change. ``shuffle``: changes the order in each epoch. ``seed``: for
        that order; the same on all ranks."""
        self.dataset = dataset
        self.shuffle = shuffle
        self.seed = seed
        self.epoch = 0
        self.processed_num = 0  # samples of the epoch, by all ranks
        self.reset()

    def reset(self):
        """Divides the remaining samples by the current rank and size."""
        self.num_replicas, self.rank = _process.size(), _process.rank()
        order = list(range(len(self.dataset)))
        if self.shuffle:
            random.Random(self.seed + self.epoch).shuffle(order)
        self.remaining_indices = order[self.processed_num:]
        self.num_samples = -(-len(self.remaining_indices) // self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def set_epoch(self, epoch):
        """Begins another epoch, of which nothing has been processed."""
        self.epoch = epoch
        self.processed_num = 0
        self.reset()

    def record_batch(self, batch_idx, batch_size):  # pylint: disable=unused-argument
        """Each rank has processed ``batch_size`` samples. ``batch_idx``: for compatibility with Horovod."""
        self.processed_num += batch_size * self.num_replicas

    def state_dict(self):
        """The state for load_state_dict(): the same on all ranks."""
        return {"epoch": self.epoch, "processed_num": self.processed_num}

    def load_state_dict(self, state_dict):
        """Continues from ``state_dict`` with the current ranks."""
        self.epoch = state_dict["epoch"]
        self.processed_num = state_dict["processed_num"]
        self.reset()

    def __iter__(self):
        evenly = itertools.islice(itertools.cycle(self.remaining_indices), self.total_size)
        return itertools.islice(evenly, self.rank, None, self.num_replicas)

    def __len__(self):
        return self.num_samples
