"""The files of a task in the checkpoint folder: step log, variables, and the description of the
run."""

import json
import os

import storage


def write_parameters(folder, name, parameters):
    """Writes the arrays of the dict `parameters` as `parameters-<name>.npz`."""
    storage.write_arrays(os.path.join(folder, f"parameters-{name}.npz"), parameters)


def write_run(folder, run):
    """Writes the dict `run` as `run.json`."""
    content = json.dumps(run, indent=2) + "\n"
    storage.write(os.path.join(folder, "run.json"), content.encode())


def describe_run(arguments, ranks, learning_rate, momentum):
    """Returns what the check needs to train the same network in one process."""
    run = {name: getattr(arguments, name) for name in ("steps", "batch_size", "seed")}
    return run | {"ranks": ranks, "learning_rate": learning_rate, "momentum": momentum}


def save_variables(path, variables):
    """Writes the values of TensorFlow's variables, wherever they live, as one file."""
    values = {str(number): variable.numpy() for number, variable in enumerate(variables)}
    storage.write_arrays(path, values)


def restore_variables(path, variables):
    """Gives the same variables the values of save_variables(); leaves them if there are none."""
    if storage.exists(path):
        values = storage.read_arrays(path)
        for number, variable in enumerate(variables):
            variable.assign(values[str(number)])


def look_for_end(hvd, state, folder):
    """Makes this step of an elastic training the last one if there is a file called `end`. Rank 0
    checks, so that all agree. `hvd`: the library by which ranks work together."""
    wanted = hvd.rank() == 0 and storage.exists(os.path.join(folder, "end"))
    if hvd.broadcast_object(wanted, root_rank=0, name="end"):
        state.last_step = state.step


class StepLog:
    """One JSON line per global step: its number, the job's epoch in which it ran, and its loss.

    On a local disk a line is written at once; elsewhere with the next store(), or at the end,
    because appending to files in HDFS is expensive. Not thread safe.
    """

    def __init__(self, folder, task, resume_step, epoch):
        """Opens `steps-<task>.jsonl` after the line of `resume_step`, the checkpoint's (0: none).

        Later steps ran before a restart, or after the commit from which an elastic job continues,
        and will run again. Their lines are removed, so that each step occurs exactly once.
        """
        self._epoch = epoch
        self._path = os.path.join(folder, f"steps-{task}.jsonl")
        self._lines = self._lines_until(resume_step)
        storage.write(self._path, b"".join(self._lines))
        self._file = None if storage.is_url(folder) else open(self._path, "ab", buffering=0)

    def _lines_until(self, resume_step):
        """Returns the existing complete lines up to `resume_step`."""
        if not resume_step or not storage.exists(self._path):
            return []
        lines = storage.read(self._path).splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        return [line for line in whole if json.loads(line)["step"] <= resume_step]

    def write(self, step, loss, **more):
        """Appends the line of `step`; `more`: additional values."""
        line = {"step": step, "epoch": self._epoch, "loss": round(float(loss), 6), **more}
        self._lines.append(json.dumps(line).encode() + b"\n")
        if self._file:
            self._file.write(self._lines[-1])

    def store(self):
        """Makes sure that all lines are stored before a checkpoint says that their steps are
        done."""
        if not self._file:
            storage.write(self._path, b"".join(self._lines))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.store()
        if self._file:
            self._file.close()
