"""Checks that a job kept its weights on the parameter servers and trained them there.

Reads what tensorflow-ps left in the checkpoint folder: the weights as bare operations on the
parameter servers read them at the end, as the chief's model gives them, and as a worker saw them.
All three must be equal, the first read on a parameter server, far from the initial weights, and
good for the accuracy that the job claims. Prints one line; exits with 0 if all that holds and with
1 if not.
"""

import argparse
import json
import os
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import digits
import storage

TRAINED_DISTANCE = 0.1
ACCURACY_TOLERANCE = 0.005


def accuracy_of(weights):
    """Returns the share of the test images that a network with these weights gets right."""
    _, (images, labels) = digits.load()
    hidden = np.tanh(images @ weights["hidden_kernel"] + weights["hidden_bias"])
    logits = hidden @ weights["output_kernel"] + weights["output_bias"]
    return float((logits.argmax(axis=1) == labels).mean())


def largest_difference(some, others):
    return max(float(np.abs(some[name] - others[name]).max()) for name in others)


def judge(folder):
    """Returns whether the job in `folder` passes, and a sentence that says why."""
    run = json.loads(storage.read(os.path.join(folder, "run.json")))
    weights, by_chief, by_worker = (
        storage.read_arrays(os.path.join(folder, f"parameters-{view}.npz"))
        for view in ("read-back", "seen-by-chief", "seen-by-worker")
    )
    initial = digits.initial_parameters(run["seed"])
    for name in initial:
        device = run["read_on"][name]
        if not device.startswith("/job:ps/"):
            return False, f"{name} is not on a parameter server: it was read on {device}"
    for view, seen in (("chief", by_chief), ("worker", by_worker)):
        if not all(np.array_equal(weights[name], seen[name]) for name in initial):
            difference = largest_difference(weights, seen)
            return False, f"the {view} sees other weights, {difference:.2g} away from the ps's"
    distance = largest_difference(weights, initial)
    if not distance >= TRAINED_DISTANCE:
        return False, f"the ps's weights are {distance:.2g} away from the initial ones: not trained"
    accuracy = accuracy_of(weights)
    if not abs(accuracy - run["accuracy"]) <= ACCURACY_TOLERANCE:
        return (
            False,
            f"the ps's weights give accuracy {accuracy:.3f}, the job {run['accuracy']:.3f}",
        )
    servers = ", ".join(sorted({device.split("/device")[0] for device in run["read_on"].values()}))
    return True, (
        f"{len(initial)} variables read back from {servers}, as chief and worker see them, "
        f"{distance:.2g} away from the initial ones, accuracy {accuracy:.3f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint_dir", help="a path, or a URL of HDFS")
    try:
        passed, why = judge(parser.parse_args().checkpoint_dir)
    except FileNotFoundError as error:
        passed, why = False, f"{error.filename} is not there; has the job ended well?"
    print(f"parameter server: {'PASSED' if passed else 'FAILED'}: {why}")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
