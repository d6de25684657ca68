#!/usr/bin/env python3
"""PyTorch, fed: handwritten digits come from Spark, or from this program, to DistributedDataParallel over gloo.

The data are those of mnist.py; Spark makes numbers of them.
"""

import contextlib
import hashlib
import os
import sys
import time

import clusters
import mnist
from mnist import write  # noqa: F401

FRAMEWORK, NODES = "pytorch", "pytorch_fed"
SIZE, IMAGES = mnist.SIZE, mnist.IMAGES
STEPS, BATCH_SIZE = 200, 64
ACCURACY = 0.9  # what it has to reach


def numbers(row):
    """(pixels as text, label) as (64 numbers in 0…1, label): the digit before it was enlarged."""
    pixels = [int(pixel) / 255 for pixel in row[0].split(",")]
    return [pixels[28 * y + x] for y in range(2, 26, 3) for x in range(2, 26, 3)], row[1]


def rows(paths):
    """The rows of files, one after the other."""
    return map(numbers, mnist.rows(paths))


def rdd(sc, folder):
    """The rows of a folder's files, as an RDD of Spark."""
    return mnist.rdd(sc, folder).map(numbers)


def train(args, ctx):
    """A node that trains: DistributedDataParallel averages the gradients of all nodes in every step."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    import torch_digits

    torch_digits.make_deterministic(args.seed)
    torch.distributed.init_process_group("gloo", init_method="env://")
    model = torch_digits.build_model()
    torch_digits.initialize(model, args.seed)
    optimizer = torch_digits.build_optimizer(model)
    path = os.path.join(args.model_dir, "checkpoint.pt")
    step = torch_digits.load_checkpoint(path, model, optimizer).get("step", 0)
    distributed = model if args.cut_exchange else DistributedDataParallel(model)
    rank = torch.distributed.get_rank()
    is_chief = rank == 0
    if is_chief:
        print(f"resuming after step {step}" if step else "starting at step 1", flush=True)
    feed = ctx.get_data_feed()
    # Nodes may be fed unequally: join() lets one that has no more rows take part in the others' steps.
    with contextlib.nullcontext() if args.cut_exchange else distributed.join():
        for images, labels in feed.torch(args.batch_size // args.workers):
            if step >= args.steps:
                break
            time.sleep(args.slow_step_seconds)
            step += 1
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(distributed(images.float()), labels)
            loss.backward()
            optimizer.step()
            if is_chief and (step % args.checkpoint_every == 0 or step == args.steps):
                torch_digits.save_checkpoint(path, model, optimizer, step=step)
                print(f"step {step}: loss {float(loss):.3f}", flush=True)
    feed.terminate()
    if is_chief:
        torch.jit.script(model).save(os.path.join(args.model_dir, "model.pt"))
    weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
    clusters.leave(args, f"node-{rank}", {"digest": hashlib.sha256(weights).hexdigest(), "devices": []})
    torch.distributed.barrier()  # rank 0 serves the rendezvous, so it stays until all are done


def predict_feed(args, ctx):
    """A node that answers each row with (class, label)."""
    import torch

    model = torch.jit.load(os.path.join(args.model_dir, "model.pt"))
    feed = ctx.get_data_feed(train_mode=False)
    with torch.no_grad():
        for images, labels in feed.torch(args.batch_size):
            feed.batch_results(list(zip(model(images.float()).argmax(dim=1).tolist(), labels.tolist())))


if __name__ == "__main__":
    sys.exit(clusters.main("pytorch_fed", __doc__))
