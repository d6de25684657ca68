"""Trains a small network on handwritten digits with DistributedDataParallel.

Every worker takes its part of each batch. The gradients of all are averaged before each update, so
all ranks hold the same parameters at every step, and these are what one process would reach with
the whole batches.
"""

import io
import os
import time

import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

import digits
import options
import records
import storage

LEARNING_RATE = 0.1
MOMENTUM = 0.9


def build_model(seed):
    model = torch.nn.Sequential(
        torch.nn.Linear(digits.PIXELS, digits.HIDDEN),
        torch.nn.Tanh(),
        torch.nn.Linear(digits.HIDDEN, digits.CLASSES),
    )
    initial = digits.initial_parameters(seed)
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), initial.values()):
            parameter.copy_(torch.from_numpy(value.T))
    return model


def parameters_of(model, seed):
    """Returns the parameters by name, as digits.initial_parameters() does."""
    names = digits.initial_parameters(seed)
    return {name: value.detach().numpy().T for name, value in zip(names, model.parameters())}


def save_checkpoint(path, step, model, optimizer):
    content = io.BytesIO()
    state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, content)
    storage.write(path, content.getvalue())


def load_checkpoint(path, model, optimizer):
    """Returns the last step that the checkpoint holds; 0 where there is none."""
    if not storage.exists(path):
        return 0
    state = torch.load(io.BytesIO(storage.read(path)))
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"]


def average(loss, world_size):
    """Returns the mean over all ranks, on all ranks."""
    total = loss.detach().clone()
    torch.distributed.all_reduce(total)
    return total / world_size


def train(arguments, model, folder, rank, world_size):
    """Trains `model` in place, from the last checkpoint on if there is one."""
    (images, labels), _ = digits.load(arguments.data)
    distributed = model if arguments.cut_exchange else DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), LEARNING_RATE, MOMENTUM)
    checkpoint_path = os.path.join(folder, "checkpoint.pt")
    done = load_checkpoint(checkpoint_path, model, optimizer)
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
            log.write(step, average(loss, world_size))
            if step % arguments.checkpoint_every == 0 or step == arguments.steps:
                # All logs must hold this step before a checkpoint says that it is done.
                log.store()
                torch.distributed.barrier()
                if rank == 0:
                    save_checkpoint(checkpoint_path, step, model, optimizer)


def test_accuracy(model, data):
    _, (images, labels) = digits.load(data)
    with torch.no_grad():
        predicted = model(torch.from_numpy(images)).argmax(dim=1).numpy()
    return float((predicted == labels).mean())


def main():
    folder = os.environ["TONY_CHECKPOINT_DIR"]
    rank = int(os.environ["RANK"])
    world_size = int(os.environ["WORLD_SIZE"])
    arguments = options.parse_synchronous(__doc__, world_size)

    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    torch.use_deterministic_algorithms(True)
    # "env://" reads MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, which tony sets.
    torch.distributed.init_process_group("gloo", init_method="env://")

    model = build_model(arguments.seed)
    train(arguments, model, folder, rank, world_size)
    records.write_parameters(folder, f"worker-{rank}", parameters_of(model, arguments.seed))
    if rank == 0:
        run = {name: getattr(arguments, name) for name in ("steps", "batch_size", "seed")}
        run |= {"ranks": world_size, "learning_rate": LEARNING_RATE, "momentum": MOMENTUM}
        records.write_run(folder, run)
        print(f"test accuracy: {test_accuracy(model, arguments.data):.3f}", flush=True)
    torch.distributed.barrier()  # rank 0 serves the rendezvous: nobody leaves before all are done


if __name__ == "__main__":
    main()
