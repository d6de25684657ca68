"""Measures at which sizes operations between a job's hosts should change their algorithm, and writes a table of them.

    python3 -m tony.collective.tune --out FILE [--quick]

All ranks of a job run it, on the hosts that later jobs will use. Rank 0 writes the file, which later jobs name in
TONY_COLLECTIVE_SWITCH_POINTS. It takes a minute or two. Ranks of one host alone have nothing to tune.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time

import tony.collective as hvd

VARIABLE = "TONY_COLLECTIVE_SWITCH_POINTS"
NEVER, WHOLE_NEVER = 1 << 40, 1 << 30  # the largest numbers that a table may contain; WHOLE_NEVER for whole_bytes
SMALL = [1 << power for power in range(10, 21)]  # sizes of vectors, in bytes, at which the algorithms differ
LARGE = 16 << 20  # the size of vectors, in bytes, with which piece_bytes and streams are measured
GAIN = 0.97  # another choice is better only if it takes less than this part of the time
SECONDS = 0.05  # seconds for measuring one algorithm at one size, in each round


def crossover(sizes, first, second):
    """The largest size up to which the first of two algorithms should be used; 0: the second should always be used.

    ``first``, ``second``: the times of the two algorithms for ``sizes``, which are ascending. The second is used from
    the first size at which it is better (GAIN).
    """
    last = 0
    for size, one, other in zip(sizes, first, second):
        if other < one * GAIN:
            return last
        last = size
    return last


def best(times, default):
    """The key of the shortest time in a dictionary, or ``default`` if no other is better (GAIN)."""
    winner = min(times, key=times.get)
    return winner if times[winner] < times[default] * GAIN else default


def encode(points):
    """The text of the table."""
    return "".join(f"{name} {number}\n" for name, number in points.items())


class Tuning:
    """The results so far, and how to measure. Not thread safe."""

    def __init__(self, folder, quick):
        self.folder = folder
        self.rounds, self.seconds = (1, SECONDS / 10) if quick else (5, SECONDS)
        self.small = SMALL[::3] if quick else SMALL
        self.points = {}

    def measure(self, trials, call, sizes):
        """Returns for each of ``trials`` the seconds of one call at each of ``sizes``, the bytes of the array that is
        passed to ``call``. A trial is a dictionary of switch points, which are added to those found already.

        The trials take turns, so that a change in the network's load meets all of them. The median of the rounds
        counts.
        """
        rounds = [[self._measure_once(trial, call, sizes) for trial in trials] for _ in range(self.rounds)]
        return [[statistics.median(one[number][at] for one in rounds) for at in range(len(sizes))]
                for number in range(len(trials))]

    def _measure_once(self, trial, call, sizes):
        # The library reads the table in init(), so each trial has an init() of its own.
        import numpy
        path = os.path.join(self.folder, "points")
        with open(path, "w", encoding="ascii") as file:
            file.write(encode({**self.points, **trial}))
        os.environ[VARIABLE] = path
        hvd.init()
        try:
            return [_seconds(call, numpy.zeros(size // 4, numpy.float32), self.seconds) for size in sizes]
        finally:
            hvd.shutdown()


def _seconds(call, array, time_for_all):
    """The median time of one call. Rank 0 decides how many calls there are, since all ranks have to make as many."""
    for _ in range(3):
        call(array)
    begin = time.perf_counter()
    call(array)
    count = hvd.broadcast_object(min(200, max(5, int(time_for_all / (time.perf_counter() - begin)))), name="count")
    seconds = []
    for _ in range(count):
        begin = time.perf_counter()
        call(array)
        seconds.append(time.perf_counter() - begin)
    hvd.barrier()
    return statistics.median(seconds)


def _allreduce(array):
    hvd.allreduce_(array, op=hvd.Sum, name="tune.allreduce")


def _broadcast(array):
    hvd.broadcast_(array, 0, name="tune.broadcast")


def tune(tuning, hosts, locals_):
    """Fills ``tuning.points``; all ranks call it. ``hosts``: their number. ``locals_``: the smallest number of ranks on
    one host.

    A generator: yields a sentence for people after each step.
    """
    points, small = tuning.points, tuning.small
    whole, chunks = tuning.measure([{"whole_bytes": WHOLE_NEVER}, {"whole_bytes": 0}], _allreduce, small)
    # The library compares whole_bytes with the vectors of all other hosts together.
    points["whole_bytes"] = crossover(small, whole, chunks) * (hosts - 1)
    yield f"vectors are sent whole up to {points['whole_bytes'] // (hosts - 1)} bytes"
    if hosts > 2:
        tree, scatter = tuning.measure([{"scatter_bytes": NEVER}, {"scatter_bytes": 0}], _broadcast, small)
        points["scatter_bytes"] = crossover(small, tree, scatter) + 1
        yield f"broadcasts are scattered from {points['scatter_bytes']} bytes on"
    if locals_ > 1:
        one, all_ = tuning.measure([{"rails_bytes": NEVER}, {"rails_bytes": 0}], _allreduce, small)
        points["rails_bytes"] = crossover(small, one, all_) + 1
        yield f"all ranks of a host exchange data with other hosts from {points['rails_bytes']} bytes on"
    for name, candidates, default in (("piece_bytes", (64 << 10, 128 << 10, 256 << 10), 256 << 10),
                                      ("streams", (1, 2, 4), 2)):
        times = tuning.measure([{name: candidate} for candidate in candidates], _allreduce, [LARGE])
        points[name] = best({candidate: one[0] for candidate, one in zip(candidates, times)}, default)
        yield f"{name}: {points[name]}"


def _problem(path, hosts):
    """A sentence that says why no table can be made, or None. Rank 0 calls it before the measurement, which would be
    lost if the file could not be written."""
    if hosts < 2:
        return "all ranks are of one host, where there is nothing to tune: run it as a job of several hosts"
    try:
        with open(path, "a", encoding="ascii"):
            return None
    except OSError as error:
        return f"cannot write the table: {error}"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python3 -m tony.collective.tune", description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, metavar="FILE", help="the table, which rank 0 writes")
    parser.add_argument("--quick", action="store_true", help="try it out: measure too briefly for a good table")
    options = parser.parse_args(arguments)
    os.environ.pop(VARIABLE, None)  # left by an earlier tuning
    hvd.init()
    rank, locals_, hosts = hvd.rank(), hvd.local_size(), hvd.cross_size()
    # Hosts may have different numbers of ranks, and all ranks have to measure the same. The smallest number counts,
    # because so many ranks of each host exchange data at most.
    locals_ = min(hvd.allgather_object(locals_, name="locals"))
    problem = hvd.broadcast_object(_problem(options.out, hosts) if rank == 0 else None, name="problem")
    hvd.shutdown()
    if problem:
        sys.exit(f"tony.collective.tune: {problem}")
    with tempfile.TemporaryDirectory(prefix="tony-tune-") as folder:
        tuning = Tuning(folder, options.quick)
        for sentence in tune(tuning, hosts, locals_):
            if rank == 0:
                print(f"tony.collective.tune: {sentence}", flush=True)
    if rank != 0:
        return
    with open(options.out, "w", encoding="ascii") as file:
        file.write(f"# Measured on {hosts} hosts by python3 -m tony.collective.tune\n{encode(tuning.points)}")
    print(f"tony.collective.tune: written to {options.out}; use it with {VARIABLE}={options.out} at rank 0")


if __name__ == "__main__":
    main()
