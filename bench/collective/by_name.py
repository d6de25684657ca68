"""by_name.py MODULE BATCHES: a rank that reduces by name, like a training; for Horovod only the import differs.

Rank 0 prints lines "small SECONDS…", "step SECONDS…" and "idle SHARE": the time of one sum of 4 KB, in each batch; the
time of one step of 160 tensors with 94 MB in total; and the largest share of a processor that an idle rank takes.
"""

import importlib
import sys
import time

import torch

hvd = importlib.import_module(sys.argv[1])

BATCHES = int(sys.argv[2])
SMALL, SMALL_CALLS = 4 << 10, 50
TENSORS, STEP = 160, 94_000_000  # bytes
IDLE = 3  # seconds
FLOAT = 4


def step_tensors():
    """Tensors in the number and sizes of a convolutional network: two of three are short, the others grow."""
    short = [1024 for number in range(TENSORS) if number % 3]
    long_count = TENSORS - len(short)
    unit = (STEP // FLOAT - sum(short)) // (long_count * (long_count + 1) // 2)
    long = iter(range(1, long_count + 1))
    return [torch.zeros(1024 if number % 3 else unit * next(long)) for number in range(TENSORS)]


def measured(call, calls):
    """The seconds of a call, in each batch."""
    for _ in range(3):
        call()
    seconds = []
    for _ in range(BATCHES):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        seconds.append((time.perf_counter() - begin) / calls)
    return seconds


def main():
    torch.set_num_threads(1)
    hvd.init()
    small = torch.ones(SMALL // FLOAT)
    hvd.allreduce_(small, op=hvd.Sum, name="small")
    assert bool((small == hvd.size()).all()), "a sum of ones is not their number"
    small.zero_()
    said = {"small": measured(lambda: hvd.allreduce_(small, op=hvd.Sum, name="small"), SMALL_CALLS)}
    tensors = step_tensors()

    def step():
        handles = [hvd.allreduce_async_(tensor, op=hvd.Average, name=f"gradient.{number}")
                   for number, tensor in enumerate(tensors)]
        for handle in handles:
            hvd.synchronize(handle)

    said["step"] = measured(step, 1)
    hvd.allreduce_(small, op=hvd.Sum, name="before")  # all ranks are here
    begin = time.process_time()
    time.sleep(IDLE)
    share = torch.tensor([(time.process_time() - begin) / IDLE])
    said["idle"] = hvd.allgather(share, name="idle").max().reshape(1).tolist()
    if hvd.rank() == 0:
        for what, values in said.items():
            print(what, *(f"{value:.9f}" for value in values), flush=True)
    hvd.shutdown()


main()
