"""Which samples of a data set are whose, also when ranks come and go within an epoch."""

import itertools
import random

import torch.utils.data

from ... import _process


class ElasticSampler(torch.utils.data.Sampler):
    """Divides the samples of an epoch that nobody has processed yet among the ranks of now.

    It is to be part of a TorchState; record_batch() is to be called when a batch has been processed, and set_epoch() at
    the end of an epoch. Where samples cannot be divided evenly some come twice, so that all ranks have as many. Not
    thread safe.
    """

    def __init__(self, dataset, shuffle=True, seed=0):
        """``dataset``: has a length, which stays; ``shuffle``: in another order in each epoch, by ``seed``, which is
        the same on all ranks."""
        self.dataset = dataset
        self.shuffle = shuffle
        self.seed = seed
        self.epoch = 0
        self.processed_num = 0  # of the epoch's samples, by all ranks
        self.reset()

    def reset(self):
        """Divides what is left, by rank and size of now."""
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
        """What load_state_dict() takes: the same on all ranks."""
        return {"epoch": self.epoch, "processed_num": self.processed_num}

    def load_state_dict(self, state_dict):
        """Goes on from there, with the ranks of now."""
        self.epoch = state_dict["epoch"]
        self.processed_num = state_dict["processed_num"]
        self.reset()

    def __iter__(self):
        evenly = itertools.islice(itertools.cycle(self.remaining_indices), self.total_size)
        return itertools.islice(evenly, self.rank, None, self.num_replicas)

    def __len__(self):
        return self.num_samples
