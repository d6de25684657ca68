"""One worker of bench/scaling: trains a network on made data, and prints what its steps took.

    python3 scaling_worker.py alone|together|exchange STEPS

`alone` exchanges nothing; `together` averages the gradients with tony.collective; `exchange` only averages tensors of
the gradients' sizes. Rank 0 prints a line of JSON: seconds of each step, and the bytes of all gradients.
"""

import json
import sys
import time

import torch

import tony.collective.torch as hvd

WIDTH = 1024
BATCH = 64
WARM_UP = 5


def main():
    """The program."""
    kind, steps = sys.argv[1], int(sys.argv[2])
    hvd.init()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(784, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(),
                                torch.nn.Linear(WIDTH, 10))
    images, labels = torch.randn(BATCH, 784), torch.randint(10, (BATCH,))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    if kind == "together":
        optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())
    gradients = [torch.zeros_like(parameter) for parameter in model.parameters()]

    def step():
        if kind == "exchange":
            hvd.grouped_allreduce(gradients, name="gradients")
            return
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    seconds = []
    for number in range(WARM_UP + steps):
        if number == WARM_UP:
            hvd.barrier()
        begin = time.perf_counter()
        step()
        if number >= WARM_UP:
            seconds.append(time.perf_counter() - begin)
    if hvd.rank() == 0:
        size = sum(gradient.numel() * gradient.element_size() for gradient in gradients)
        print(json.dumps({"seconds": seconds, "gradients": size}), flush=True)
    hvd.barrier()


if __name__ == "__main__":
    main()
