"""Trains the network of train.py while the number of workers changes.

A state of the library holds everything that has to be the same on all ranks. Each commit keeps a
copy of it in every process. When a worker is lost, the others return to the last copy. A new worker
receives rank 0's state. The order of the examples does not depend on the ranks. So if the number of
workers divides --batch-size, the result is that of a single process.
"""

import os
import time

import torch

import digits
import options
import records
import storage
import torch_digits

hvd = options.import_library()  # import horovod.torch as hvd; or tony.collective.torch


def parse_arguments():
    parser = options.make_step_parser(__doc__)
    options.add_library(parser)
    options.add_elastic(parser)
    return parser.parse_args()


def build_state(arguments, path):
    """Returns the common state of the ranks, from the last checkpoint if there is one.

    Rank 0's state counts: the library gives it to the others before each round.
    """
    (images, labels), _ = digits.load(arguments.data)
    examples = torch.utils.data.TensorDataset(torch.from_numpy(images), torch.from_numpy(labels))
    sampler = hvd.elastic.ElasticSampler(examples, seed=arguments.seed)
    model = torch_digits.build_model()
    torch_digits.initialize(model, arguments.seed)
    optimizer = torch_digits.build_optimizer(model)
    if not arguments.cut_exchange:
        # before it has any state, which would not be carried over
        optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())
    progress = torch_digits.load_checkpoint(path, model, optimizer)
    if progress:
        sampler.load_state_dict(progress["sampler"])
    return hvd.elastic.TorchState(model=model, optimizer=optimizer, sampler=sampler,
                                  step=progress.get("step", 0), last_step=arguments.steps)


def endless_batches(loader, sampler):
    """Yields the rest of a pass over the examples, then pass after pass: number and batch."""
    while True:
        yield from enumerate(loader)
        sampler.set_epoch(sampler.epoch + 1)


def update(state, images, labels):
    """One step of all ranks; returns their average loss."""
    state.optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(state.model(images), labels)
    loss.backward()
    state.optimizer.step()  # waits for the averages of all ranks' gradients
    state.step += 1
    return hvd.allreduce(loss.detach(), name="loss")


@hvd.elastic.run
def train(state, arguments, folder):
    """Continues after the last commit. It is called again in each round, with that round's rank and
    size."""
    print(f"rank {hvd.rank()} of {hvd.size()} goes on behind step {state.step}", flush=True)
    # Horovod does not commit rank 0's values at the start of a round. Without this call, a loss
    # before the next commit would restore older values on some ranks.
    state.save()
    # The last batch of a pass is left out, because its size depends on the number of ranks.
    loader = torch.utils.data.DataLoader(
        state.sampler.dataset, arguments.batch_size // hvd.size(), sampler=state.sampler,
        drop_last=True)
    batches = endless_batches(loader, state.sampler)
    task = f"{os.environ['JOB_NAME']}-{os.environ['TASK_INDEX']}"
    with records.StepLog(folder, task, state.step, int(os.environ["TONY_EPOCH"])) as log:
        while state.step < state.last_step:
            time.sleep(arguments.slow_step_seconds)
            number, (images, labels) = next(batches)
            loss = update(state, images, labels)
            state.sampler.record_batch(number, loader.batch_size)
            log.write(state.step, loss, rank=hvd.rank(), size=hvd.size())
            commits = state.step % arguments.commit_every == 0
            if commits:
                records.look_for_end(hvd, state, folder)
            if state.step % arguments.checkpoint_every == 0 or state.step == state.last_step:
                store(state, folder, log)
            if commits:
                state.commit()  # new workers take part from here on


def store(state, folder, log):
    """Writes a checkpoint, for the case that the whole job starts over."""
    log.store()
    hvd.barrier()  # all logs hold this step before a checkpoint says that it is done
    if hvd.rank() == 0:
        torch_digits.save_checkpoint(
            os.path.join(folder, "checkpoint.pt"), state.model, state.optimizer,
            step=state.step, sampler=state.sampler.state_dict())


def main():
    arguments = parse_arguments()
    folder = os.environ["TONY_CHECKPOINT_DIR"]
    hvd.init()  # finds the others by the variables that tony sets
    torch_digits.make_deterministic(arguments.seed)
    state = build_state(arguments, os.path.join(folder, "checkpoint.pt"))
    train(state, arguments, folder)

    parameters = torch_digits.parameters_of(state.model, arguments.seed)
    records.write_parameters(folder, f"rank-{hvd.rank()}", parameters)
    if hvd.rank() == 0:
        arguments.steps = state.step
        run = torch_digits.describe_run(arguments, hvd.size())
        records.write_run(folder, run | {"order": "elastic"})
        torch_digits.print_accuracy(state.model, arguments.data)


if __name__ == "__main__":
    main()
