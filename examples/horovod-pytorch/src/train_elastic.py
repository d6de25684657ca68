"""Trains the network of train.py with a number of workers that changes while it trains.

All that has to be the same on all ranks is in a state of the library's. Each commit keeps a copy of it
in every process; whoever loses a worker goes back to the last one, and whoever comes is told rank
0's. The order of the examples does not depend on who computes them, so where the number of workers
divides --batch-size the result is that of a single process.
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
    """Returns what the ranks have in common, as the last checkpoint has it if there is one.

    What rank 0 has counts: the library tells it the others before each round.
    """
    (images, labels), _ = digits.load(arguments.data)
    examples = torch.utils.data.TensorDataset(torch.from_numpy(images), torch.from_numpy(labels))
    sampler = hvd.elastic.ElasticSampler(examples, seed=arguments.seed)
    model = torch_digits.build_model()
    torch_digits.initialize(model, arguments.seed)
    optimizer = torch_digits.build_optimizer(model)
    if not arguments.cut_exchange:
        # Before it has any state, which does not come along.
        optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())
    progress = torch_digits.load_checkpoint(path, model, optimizer)
    if progress:
        sampler.load_state_dict(progress["sampler"])
    return hvd.elastic.TorchState(model=model, optimizer=optimizer, sampler=sampler,
                                  step=progress.get("step", 0), last_step=arguments.steps)


def endless_batches(loader, sampler):
    """Yields what is left of a pass over the examples, then pass after pass: number and batch."""
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
    """Goes on behind the last commit. Begins here again in each round, with its rank and size."""
    print(f"rank {hvd.rank()} of {hvd.size()} goes on behind step {state.step}", flush=True)
    # Horovod does not keep as a commit what rank 0 has told: a loss before the next one would
    # bring back, here and there, what was before.
    state.save()
    # The last batch of a pass is left out: it would depend on the number of ranks.
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
                state.commit()  # who has come takes part from here on


def store(state, folder, log):
    """Keeps what is there, for the case that all begin anew."""
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
