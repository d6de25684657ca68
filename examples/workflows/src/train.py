"""Stands for a training program: each worker says what it does, and worker 0 writes the model."""

import os
import pathlib

rank, size = os.environ["TASK_INDEX"], os.environ["TASK_NUM"]
print(f"worker {rank} of {size} trains", flush=True)
if rank == "0":
    pathlib.Path(os.environ["TONY_CHECKPOINT_DIR"], "model.txt").write_text("a model\n")
