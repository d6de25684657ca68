"""TensorBoard as a child of the training program, on the port that tony reserved for it."""

import contextlib
import importlib.util
import os
import subprocess
import sys


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
