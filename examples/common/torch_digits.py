"""The common part of programs for PyTorch: the network for the digits, its checkpoints, its
accuracy."""

import io

import torch

import digits
import records
import storage

LEARNING_RATE = 0.1
MOMENTUM = 0.9


def make_deterministic(seed):
    """Lets programs with the same seed compute the same, bit by bit."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)


def build_model():
    """Returns the network with random parameters."""
    return torch.nn.Sequential(
        torch.nn.Linear(digits.PIXELS, digits.HIDDEN),
        torch.nn.Tanh(),
        torch.nn.Linear(digits.HIDDEN, digits.CLASSES),
    )


def build_optimizer(model):
    return torch.optim.SGD(model.parameters(), LEARNING_RATE, MOMENTUM)


def initialize(model, seed):
    """Gives the network the first parameters that belong to `seed`."""
    initial = digits.initial_parameters(seed)
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), initial.values()):
            parameter.copy_(torch.from_numpy(value.T))


def parameters_of(model, seed):
    """Returns the parameters by name, as digits.initial_parameters() does."""
    names = digits.initial_parameters(seed)
    return {name: value.detach().numpy().T for name, value in zip(names, model.parameters())}


def save_checkpoint(path, model, optimizer, **progress):
    """Writes the state of both, and numbers that describe the progress of the training."""
    content = io.BytesIO()
    torch.save({"progress": progress, "model": model.state_dict(),
                "optimizer": optimizer.state_dict()}, content)
    storage.write(path, content.getvalue())


def load_checkpoint(path, model, optimizer):
    """Returns the numbers that were passed to save_checkpoint(); {} if there is no checkpoint."""
    if not storage.exists(path):
        return {}
    state = torch.load(io.BytesIO(storage.read(path)))
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["progress"]


def describe_run(arguments, ranks):
    """Returns what the check needs to train the same network in one process."""
    return records.describe_run(arguments, ranks, LEARNING_RATE, MOMENTUM)


def print_accuracy(model, data):
    """Prints the share of the test images whose digit the network finds."""
    _, (images, labels) = digits.load(data)
    with torch.no_grad():
        predicted = model(torch.from_numpy(images)).argmax(dim=1).numpy()
    print(f"test accuracy: {(predicted == labels).mean():.3f}", flush=True)
