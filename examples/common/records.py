"""What a task leaves in the checkpoint folder: step log, parameters, and how the job was run."""

import io
import json
import os

import numpy as np


def write_atomically(path, content):
    """Writes bytes to `path`, beside it first.

    A reader, and a restart after a kill, finds either all of them or the file as it was before.
    """
    beside = f"{path}.{os.getpid()}.part"
    with open(beside, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def write_parameters(folder, name, parameters):
    """Writes the arrays of the dict `parameters` as `parameters-<name>.npz`."""
    content = io.BytesIO()
    np.savez(content, **parameters)
    write_atomically(os.path.join(folder, f"parameters-{name}.npz"), content.getvalue())


def write_run(folder, run):
    """Writes the dict `run` as `run.json`."""
    content = json.dumps(run, indent=2) + "\n"
    write_atomically(os.path.join(folder, "run.json"), content.encode())


class StepLog:
    """One JSON line per global step: its number, the job's epoch it ran in, its loss.

    Not thread safe.
    """

    def __init__(self, folder, task, resume_step, epoch):
        """Opens `steps-<task>.jsonl` behind the line of `resume_step`, the checkpoint's (0: none).

        Later steps ran before a restart and will run again: their lines go, so that each step
        stands exactly once.
        """
        self._epoch = epoch
        self._file = open(os.path.join(folder, f"steps-{task}.jsonl"), "a+b")
        self._file.truncate(self._end_of_step(resume_step))

    def _end_of_step(self, resume_step):
        """Returns the length in bytes of the whole lines up to `resume_step`."""
        end = 0
        self._file.seek(0)
        for line in self._file:
            if not line.endswith(b"\n") or json.loads(line)["step"] > resume_step:
                break
            end += len(line)
        return end

    def write(self, step, loss):
        """Appends the line of `step`; readers see it when this returns."""
        line = {"step": step, "epoch": self._epoch, "loss": round(float(loss), 6)}
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
