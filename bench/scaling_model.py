"""A model of synchronous training: how long a step takes on n workers, from what one step costs.

Assumptions, which bench/README.md repeats for readers:

* All workers begin a step together, as the averaged gradients of the step before are theirs at the same time.
* A worker's computation takes one of the measured times, drawn independently for each worker and step. So the slowest
  of n workers is slower for a larger n.
* Gradients become ready evenly during the backward pass and are exchanged in `buckets` parts, in order, one after the
  other. A part's exchange begins when all workers have it. With `overlap` 0 all parts are ready at the end: a worker
  without a free processor or network engine computes and exchanges in turn.
* The exchange is an allreduce by the better of two algorithms, a ring or halving and doubling with α for a message and
  1/B for a byte (Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, 2005). Links are
  full duplex, not shared, and equally fast.
* A batch is fed or read while the batch before is computed; a step waits for it if that takes longer.
"""

import dataclasses
import math
import random
import statistics


@dataclasses.dataclass(frozen=True)
class Link:
    """What an exchange costs between each two workers."""

    alpha: float  # seconds for a message of no bytes
    bandwidth: float  # bytes per second in each direction

    def seconds(self, workers, size):
        """Seconds of an allreduce of `size` bytes."""
        if workers == 1:
            return 0.0
        share = 2 * (workers - 1) / workers * size / self.bandwidth
        ring = 2 * (workers - 1) * self.alpha + share
        halving = 2 * math.ceil(math.log2(workers)) * self.alpha + share
        doubling = math.ceil(math.log2(workers)) * (self.alpha + size / self.bandwidth)
        return min(ring, halving, doubling)


def fitted(measured, workers):
    """The Link whose allreduce takes the measured seconds, by bytes: the shortest vector gives α, the longest one B.

    ValueError: the longest vector took no longer than the shortest.
    """
    shortest, longest = min(measured), max(measured)
    rounds = math.ceil(math.log2(workers))
    alpha = measured[shortest] / rounds
    rest = measured[longest] - 2 * rounds * alpha
    if rest <= 0:
        raise ValueError(f"{longest} bytes took no longer than {shortest}")
    return Link(alpha, 2 * (workers - 1) / workers * longest / rest)


@dataclasses.dataclass(frozen=True)
class Training:
    """What a step costs one worker."""

    computations: tuple  # measured seconds of one step's computation
    gradients: int  # bytes that are exchanged in a step
    backward: float = 2 / 3  # the share of a computation during which gradients become ready
    overlap: float = 1.0  # 0: the exchange begins after the computation; 1: as soon as gradients are ready
    buckets: int = 8
    feeding: float = 0.0  # seconds until the next batch is there


def simulated_step(training, link, workers, chance):
    """Seconds of one step. `chance`: a random.Random."""
    computations = [chance.choice(training.computations) for _ in range(workers)]
    slowest = max(computations)
    part = link.seconds(workers, training.gradients / training.buckets)
    end = 0.0
    for bucket in range(training.buckets):
        missing = (1 - (bucket + 1) / training.buckets) * training.backward * training.overlap
        end = max(end, slowest * (1 - missing)) + part
    return max(slowest, training.feeding) if workers == 1 else max(end, training.feeding)


def step_seconds(training, link, workers, steps=400, seed=1):
    """The mean of simulated steps, in seconds."""
    chance = random.Random(seed)
    return statistics.mean(simulated_step(training, link, workers, chance) for _ in range(steps))


def speed_up(training, link, workers):
    """How many times as many samples per second as one worker."""
    return workers * step_seconds(training, link, 1) / step_seconds(training, link, workers)
