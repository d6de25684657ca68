"""Trains a small network on handwritten digits with Horovod, or with tony.collective.

Every rank takes its part of each batch, whose size does not depend on the number of ranks. The
gradients of all are averaged before each update, so all ranks hold the same parameters at every
step, and these are what one process would reach with the whole batches.
"""

import os
import time

import torch

import digits
import options
import records
import torch_digits

hvd = options.import_library()  # import horovod.torch as hvd; or tony.collective.torch


def begin(path, model, optimizer):
    """Gives all ranks rank 0's parameters; returns the number of the last finished step."""
    progress = torch_digits.load_checkpoint(path, model, optimizer) if hvd.rank() == 0 else {}
    done = hvd.broadcast_object(progress.get("step", 0), root_rank=0, name="done")
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    if hvd.rank() == 0:
        print(f"resuming after step {done}" if done else "starting at step 1", flush=True)
    return done


def train(arguments, model, folder):
    """Trains `model` in place, from the last checkpoint on if there is one."""
    (images, labels), _ = digits.load(arguments.data)
    optimizer = torch_digits.build_optimizer(model)
    if not arguments.cut_exchange:
        # before it has any state, which would not be carried over
        optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())
    checkpoint_path = os.path.join(folder, "checkpoint.pt")
    done = begin(checkpoint_path, model, optimizer)

    task = f"{os.environ['JOB_NAME']}-{os.environ['TASK_INDEX']}"
    with records.StepLog(folder, task, done, int(os.environ["TONY_EPOCH"])) as log:
        for step in range(done + 1, arguments.steps + 1):
            time.sleep(arguments.slow_step_seconds)
            batch = digits.batch_indices(step, arguments.batch_size, arguments.seed, len(labels))
            mine = batch.reshape(hvd.size(), -1)[hvd.rank()]
            optimizer.zero_grad()
            logits = model(torch.from_numpy(images[mine]))
            loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels[mine]))
            loss.backward()
            optimizer.step()  # waits for the averages of all ranks' gradients
            log.write(step, hvd.allreduce(loss.detach(), name="loss"))
            if step % arguments.checkpoint_every == 0 or step == arguments.steps:
                # All logs must hold this step before a checkpoint says that it is done.
                log.store()
                hvd.barrier()
                if hvd.rank() == 0:
                    torch_digits.save_checkpoint(checkpoint_path, model, optimizer, step=step)


def main():
    folder = os.environ["TONY_CHECKPOINT_DIR"]
    hvd.init()  # finds the others by the variables that tony sets
    arguments = options.parse_synchronous(__doc__, hvd.size(), choose_library=True)

    torch_digits.make_deterministic(arguments.seed + hvd.rank())
    model = torch_digits.build_model()
    if hvd.rank() == 0:  # rank 0's first parameters count; it sends them to the others
        torch_digits.initialize(model, arguments.seed)
    train(arguments, model, folder)
    parameters = torch_digits.parameters_of(model, arguments.seed)
    records.write_parameters(folder, f"rank-{hvd.rank()}", parameters)
    if hvd.rank() == 0:
        records.write_run(folder, torch_digits.describe_run(arguments, hvd.size()))
        torch_digits.print_accuracy(model, arguments.data)
    hvd.barrier()  # no rank leaves before all are done


if __name__ == "__main__":
    main()
