#!/usr/bin/env python3
"""A process of an elastic job with tony.collective: it adds up what all ranks agree on, and commits
each fifth step.

Needs nothing but the standard library, or with --torch PyTorch. Says what elastic_gloo_worker.py
says, "worker:2 is 1 of 3 from 7 on", when the first step of a round is saved. Ends with a sentence
when a sum is not what it has to be.
"""

import argparse
import os
import sys
import time

STEP_SECONDS = 0.01  # as if there were something to compute
COMMIT_STEPS = 5


class Sum:
    """The result of the training: after each step n the sum of 1 … n, whichever ranks took part."""

    def __init__(self, hvd):
        self._hvd = hvd
        self.state = hvd.elastic.ObjectState(step=0, total=[0.0])

    def step(self):
        """The ranks' average of the step's number, of which each of them has a part."""
        state, hvd = self.state, self._hvd
        parts = hvd.allgather_object((hvd.rank(), state.step + 1), name="part")
        if [rank for rank, _ in parts] != list(range(hvd.size())):
            sys.exit(f"parts of {parts} in a round of {hvd.size()}")
        # In place: a copy is to be restored.
        state.total[0] += sum(part for _, part in parts) / len(parts)

    def value(self):
        """Which is compared with that of one process."""
        return self.state.total[0]


class Model:
    """The same with PyTorch: a parameter whose gradient is that of all ranks, and samples that are
    divided among them."""

    SAMPLES = 12

    def __init__(self, hvd):
        import torch
        self._hvd, self._torch = hvd, torch
        model = torch.nn.Linear(1, 1, bias=False).double()
        torch.nn.init.constant_(model.weight, float(hvd.rank()))  # rank 0's counts
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.0)
        optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())
        sampler = hvd.elastic.ElasticSampler(range(self.SAMPLES), shuffle=True)
        self.state = hvd.elastic.TorchState(model=model, optimizer=optimizer, sampler=sampler, step=0)

    def step(self):
        """The gradient is minus the step's number on all ranks; each takes a sample of its own."""
        state, number = self.state, -float(self.state.step + 1)
        samples = list(state.sampler)[:1]
        if self._hvd.size() <= len(state.sampler.remaining_indices):
            shares = self._hvd.allgather_object(samples, name="samples")
            if len({sample for share in shares for sample in share}) != self._hvd.size():
                sys.exit(f"ranks share samples: {shares}")
        state.optimizer.zero_grad()
        state.model(self._torch.tensor([[number]], dtype=self._torch.float64)).sum().backward()
        state.optimizer.step()
        state.sampler.record_batch(0, 1)
        state.sampler.reset()
        if not state.sampler.remaining_indices:
            state.sampler.set_epoch(state.sampler.epoch + 1)

    def value(self):
        """Which is compared with that of one process."""
        return self.state.model.weight.item()


def main():
    """One process's life."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tell", metavar="PIPE", required=True)
    parser.add_argument("--end", metavar="FILE", required=True, help="all end when it is there")
    parser.add_argument("--package", metavar="FOLDER", required=True)
    parser.add_argument("--torch", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, options.package)
    if options.torch:
        import tony.collective.torch as hvd
    else:
        import tony.collective as hvd
    hvd.init()
    work = Model(hvd) if options.torch else Sum(hvd)
    hvd.elastic.run(train)(work.state, work, hvd, options)
    print("the end of rank", hvd.rank(), flush=True)


def train(state, work, hvd, options):
    """Until somebody wants the end."""
    begin = state.step
    while True:
        time.sleep(STEP_SECONDS)
        work.step()
        state.step += 1
        if work.value() != state.step * (state.step + 1) / 2:
            sys.exit(f"{work.value()} after {state.step} steps")
        if state.step == begin + 1:
            state.save()
            # Before anybody may leave the round.
            hvd.barrier()
            tell(begin, hvd, options)
        if hvd.broadcast_object(os.path.exists(options.end), name="end"):
            return
        if state.step % COMMIT_STEPS == 0:
            state.commit()


def tell(begin, hvd, options):
    """Reports this process's place in the round."""
    name = f"{os.environ['JOB_NAME']}:{os.environ['TASK_INDEX']}"
    said = f"{name} is {hvd.rank()} of {hvd.size()} from {begin} on"
    print(said, flush=True)
    with open(options.tell, "w", encoding="utf-8") as pipe:
        pipe.write(said + "\n")


if __name__ == "__main__":
    main()
