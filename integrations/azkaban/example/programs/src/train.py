"""Fits a line to samples by gradient descent, each worker to its share; the first saves its line.

train.py SAMPLES MODEL
"""

import json
import os
import pathlib
import sys

samples, model = map(pathlib.Path, sys.argv[1:])
task, tasks = int(os.environ["TASK_INDEX"]), int(os.environ["TASK_NUM"])
lines = samples.read_text(encoding="utf-8").splitlines()
pairs = [tuple(map(float, line.split(","))) for line in lines][task::tasks]
slope, offset = 0.0, 0.0
for step in range(201):
    errors = [(slope * x + offset - y, x) for x, y in pairs]
    slope -= 0.5 * sum(error * x for error, x in errors) / len(pairs)
    offset -= 0.5 * sum(error for error, _ in errors) / len(pairs)
    if step % 50 == 0:
        loss = sum(error * error for error, _ in errors) / len(pairs)
        print(f"step {step} loss {loss:.6f}", flush=True)
if task == 0:
    model.write_text(json.dumps({"slope": slope, "offset": offset}), encoding="utf-8")
