"""Checks that a synchronous job was one training on all ranks, not one training per rank.

Reads what pytorch-ddp, tensorflow-mwms, horovod-pytorch or an example of tony.collective left in the
checkpoint folder. The parameters of all ranks must be equal bit by bit, and within 1e-5 of
those that one process reaches with the whole batches; that process is this script, in numpy and in
double precision. Prints one line; exits with 0 if all that holds and with 1 if not.
"""

import argparse
import itertools
import json
import os
import pathlib
import random
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import digits
import storage

TOLERANCE = 1e-5


def gradients(parameters, images, labels):
    """Returns the gradients of a batch's mean cross entropy, by the parameters' names."""
    hidden = np.tanh(images @ parameters["hidden_kernel"] + parameters["hidden_bias"])
    logits = hidden @ parameters["output_kernel"] + parameters["output_bias"]
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    to_logits = exponentials / exponentials.sum(axis=1, keepdims=True)
    to_logits[np.arange(len(labels)), labels] -= 1.0
    to_logits /= len(labels)
    to_hidden = (to_logits @ parameters["output_kernel"].T) * (1.0 - hidden**2)
    return {
        "hidden_kernel": images.T @ to_hidden,
        "hidden_bias": to_hidden.sum(axis=0),
        "output_kernel": hidden.T @ to_logits,
        "output_bias": to_logits.sum(axis=0),
    }


def elastic_batches(run, examples):
    """Yields the whole batches as Horovod's ElasticSampler orders them, pass after pass."""
    for number in itertools.count():
        order = list(range(examples))
        random.Random(run["seed"] + number).shuffle(order)
        for end in range(run["batch_size"], examples + 1, run["batch_size"]):
            yield np.array(order[end - run["batch_size"] : end])


def batches_of(run, examples):
    """Yields which examples each step of `run` has."""
    if run.get("order") == "elastic":
        yield from itertools.islice(elastic_batches(run, examples), run["steps"])
        return
    for step in range(1, run["steps"] + 1):
        yield digits.batch_indices(step, run["batch_size"], run["seed"], examples)


def train_in_one_process(run):
    """Returns the parameters after the steps of `run`: gradient descent with momentum, here."""
    (images, labels), _ = digits.load()
    images = images.astype(np.float64)
    parameters = {
        name: value.astype(np.float64)
        for name, value in digits.initial_parameters(run["seed"]).items()
    }
    velocity = {name: np.zeros_like(value) for name, value in parameters.items()}
    for batch in batches_of(run, len(labels)):
        for name, gradient in gradients(parameters, images[batch], labels[batch]).items():
            velocity[name] = run["momentum"] * velocity[name] + gradient
            parameters[name] -= run["learning_rate"] * velocity[name]
    return parameters


def largest_difference(some, others):
    return max(float(np.abs(some[name] - others[name]).max()) for name in others)


def judge(folder):
    """Returns whether the job in `folder` passes, and a sentence that says why."""
    run = json.loads(storage.read(os.path.join(folder, "run.json")))
    ranks = {
        name: storage.read_arrays(os.path.join(folder, name))
        for name in storage.names(folder, "parameters-*.npz")
    }
    if run["ranks"] < 2 or len(ranks) != run["ranks"]:
        return False, f"{run['ranks']} ranks ran, {len(ranks)} left parameters; it takes 2 and all"
    first, *others = ranks
    for other in others:
        if not all(np.array_equal(ranks[first][name], ranks[other][name]) for name in ranks[first]):
            difference = largest_difference(ranks[first], ranks[other])
            return False, f"{first} and {other} differ by up to {difference:.2g}"
    difference = largest_difference(ranks[first], train_in_one_process(run))
    distance = f"{difference:.2g} away from one process on the same batches"
    if not difference <= TOLERANCE:
        return False, f"the ranks agree but are {distance}"
    return True, f"{len(ranks)} ranks bit-equal after {run['steps']} steps, {distance}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint_dir", help="a path, or a URL of HDFS")
    try:
        passed, why = judge(parser.parse_args().checkpoint_dir)
    except FileNotFoundError as error:
        passed, why = False, f"{error.filename} is not there; has the job ended well?"
    print(f"synchronous: {'PASSED' if passed else 'FAILED'}: {why}")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
