"""Runs a tony job as a step of a workflow system that is written in Python. For Luigi, Prefect and Dagster."""

import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading


def run_step(key, *arguments):
    """Runs the step `key`, whose job the further arguments of tony-submit describe; returns its summary.

    An attempt that finds the job of an earlier one follows it. RuntimeError: the job failed. When this process is told
    to end, so is the job.
    """
    with tempfile.TemporaryDirectory() as folder, _sigterm_raises():
        path = pathlib.Path(folder, "summary.json")
        command = ["tony-submit", "--step", "--step-key", key, "--summary", path, *arguments]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL) as step:
            try:
                code = step.wait()
            except BaseException:  # Ctrl-C, SIGTERM, the workflow system's own way of ending a step
                step.terminate()  # and leaving the block waits for it
                raise
        summary = json.loads(path.read_text(encoding="utf-8"))
    if code != 0:
        raise RuntimeError(f"tony-submit ended with {code}: {summary['sentence']}")
    return summary


@contextlib.contextmanager
def _sigterm_raises():
    """While this lasts, SIGTERM raises SystemExit, unless somebody handles it already."""
    handled = signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
    if handled or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
