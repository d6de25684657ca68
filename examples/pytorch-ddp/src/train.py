"""Trains a small network on handwritten digits with DistributedDataParallel.

Every worker takes its part of each batch. The gradients of all are averaged before each update, so
all ranks hold the same parameters at every step, and these are what one process would reach with
the whole batches.
"""

import os
import time

import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

import digits
import options
import records
import tony
import torch_digits


def average(loss, world_size):
    """Returns the mean over all ranks, on all ranks."""
    total = loss.detach().clone()
    torch.distributed.all_reduce(total)
    return total / world_size


def train(arguments, model, folder, rank, world_size):
    """Trains `model` in place, from the last checkpoint on if there is one."""
    (images, labels), _ = digits.load(arguments.data)
    distributed = model if arguments.cut_exchange else DistributedDataParallel(model)
    optimizer = torch_digits.build_optimizer(model)
    checkpoint_path = os.path.join(folder, "checkpoint.pt")
    done = torch_digits.load_checkpoint(checkpoint_path, model, optimizer).get("step", 0)
    if rank == 0:
        print(f"resuming after step {done}" if done else "starting at step 1", flush=True)

    task = f"{os.environ['JOB_NAME']}-{os.environ['TASK_INDEX']}"
    with records.StepLog(folder, task, done, int(os.environ["TONY_EPOCH"])) as log:
        for step in range(done + 1, arguments.steps + 1):
            time.sleep(arguments.slow_step_seconds)
            batch = digits.batch_indices(step, arguments.batch_size, arguments.seed, len(labels))
            mine = batch.reshape(world_size, -1)[rank]
            optimizer.zero_grad()
            logits = distributed(torch.from_numpy(images[mine]))
            loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels[mine]))
            loss.backward()  # DistributedDataParallel averages the gradients of all ranks in here
            optimizer.step()
            mean_loss = average(loss, world_size)
            log.write(step, mean_loss)
            tony.report(step=step, loss=mean_loss)  # for `tony top` and the table in the terminal
            if step % arguments.checkpoint_every == 0 or step == arguments.steps:
                # All logs must hold this step before a checkpoint says that it is done.
                log.store()
                torch.distributed.barrier()
                if rank == 0:
                    torch_digits.save_checkpoint(checkpoint_path, model, optimizer, step=step)
                    tony.report(checkpoint=checkpoint_path)


def main():
    folder = os.environ["TONY_CHECKPOINT_DIR"]
    rank = int(os.environ["RANK"])
    world_size = int(os.environ["WORLD_SIZE"])
    arguments = options.parse_synchronous(__doc__, world_size)

    torch_digits.make_deterministic(arguments.seed)
    # "env://" reads MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, which tony sets.
    torch.distributed.init_process_group("gloo", init_method="env://")

    model = torch_digits.build_model()
    torch_digits.initialize(model, arguments.seed)
    train(arguments, model, folder, rank, world_size)
    parameters = torch_digits.parameters_of(model, arguments.seed)
    records.write_parameters(folder, f"worker-{rank}", parameters)
    if rank == 0:
        records.write_run(folder, torch_digits.describe_run(arguments, world_size))
        torch_digits.print_accuracy(model, arguments.data)
    torch.distributed.barrier()  # rank 0 serves the rendezvous, so it stays until all are done


if __name__ == "__main__":
    main()
