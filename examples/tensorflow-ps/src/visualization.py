"""TensorBoard as a child of the training program, on the port that tony reserved for it."""

import contextlib
import importlib.util
import os
import subprocess
import sys

import storage

FOLDER = "tensorboard"


def make_folder(checkpoints):
    """Makes the folder for TensorBoard's files in the checkpoint folder, and returns it.

    TensorFlow and TensorBoard need a local folder. If the checkpoint folder is elsewhere, this one
    is in the working folder, and store() copies it.
    """
    folder = FOLDER if storage.is_url(checkpoints) else os.path.join(checkpoints, FOLDER)
    os.makedirs(folder, exist_ok=True)
    return folder


def store(folder, checkpoints):
    """Makes sure that the checkpoint folder has what TensorFlow has written so far."""
    if storage.is_url(checkpoints):
        for name in storage.names(folder, "events.*"):
            content = storage.read(os.path.join(folder, name))
            storage.write(os.path.join(checkpoints, FOLDER, name), content)


@contextlib.contextmanager
def tensorboard(log_folder, port):
    """Serves `log_folder` on `port` of this machine until the block ends.

    Without a port (None), or where TensorBoard is not installed, nothing is started.
    """
    if port is None or importlib.util.find_spec("tensorboard") is None:
        yield
        return
    command = ["nice", sys.executable, "-m", "tensorboard.main", "--logdir", log_folder]
    command += ["--host", "127.0.0.1", "--port", port, "--reload_interval", "1"]
    with open(os.path.join(log_folder, "tensorboard.log"), "ab") as output:
        child = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        yield
    finally:
        child.terminate()
        child.wait()
