"""Trains a small network on handwritten digits with JAX, on the devices of all processes.

The arrays of a batch are divided among the processes, and the parameters are the same in all of
them. JAX averages the gradients where it computes them, so all processes hold the same parameters at
every step, and these are what one process would reach with the whole batches.
"""

import os
import time

import jax
import jax.numpy as jnp
import numpy as np
import tony.jax  # tells JAX that tony has started it  # noqa: F401  pylint: disable=unused-import
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import digits
import options
import records
import storage

LEARNING_RATE = 0.1
MOMENTUM = 0.9


def logits_of(parameters, images):
    hidden = jnp.tanh(images @ parameters["hidden_kernel"] + parameters["hidden_bias"])
    return hidden @ parameters["output_kernel"] + parameters["output_bias"]


def loss_of(parameters, images, labels):
    """Returns the mean cross entropy over the whole batch, wherever its parts are."""
    chances = jax.nn.log_softmax(logits_of(parameters, images))
    return -jnp.take_along_axis(chances, labels[:, None], axis=1).mean()


@jax.jit
def update(parameters, velocity, images, labels):
    """Returns the parameters and their velocity after a step, and the step's loss."""
    loss, gradients = jax.value_and_grad(loss_of)(parameters, images, labels)
    velocity = jax.tree.map(lambda old, new: MOMENTUM * old + new, velocity, gradients)
    parameters = jax.tree.map(lambda old, new: old - LEARNING_RATE * new, parameters, velocity)
    return parameters, velocity, loss


def load_checkpoint(path, seed):
    """Returns the number of steps done, the parameters and their velocity, as numpy's arrays."""
    parameters = digits.initial_parameters(seed)
    if not storage.exists(path):
        return 0, parameters, {name: np.zeros_like(value) for name, value in parameters.items()}
    state = storage.read_arrays(path)
    velocity = {name: state[f"velocity_{name}"] for name in parameters}
    return int(state["step"]), {name: state[name] for name in parameters}, velocity


def save_checkpoint(path, step, parameters, velocity):
    arrays = {name: np.asarray(value) for name, value in parameters.items()}
    arrays |= {f"velocity_{name}": np.asarray(value) for name, value in velocity.items()}
    storage.write_arrays(path, arrays | {"step": np.int64(step)})


def train(arguments, folder, rank, processes):
    """Trains from the last checkpoint on, if there is one; returns the parameters."""
    (images, labels), _ = digits.load(arguments.data)
    devices = jax.local_devices() if arguments.cut_exchange else jax.devices()
    mesh = Mesh(np.array(devices), ("rank",))
    divided = NamedSharding(mesh, PartitionSpec("rank"))
    path = os.path.join(folder, "checkpoint.npz")
    done, parameters, velocity = load_checkpoint(path, arguments.seed)
    everywhere = NamedSharding(mesh, PartitionSpec())
    parameters, velocity = jax.tree.map(
        lambda value: jax.make_array_from_process_local_data(everywhere, value), (parameters, velocity)
    )
    if rank == 0:
        print(f"resuming after step {done}" if done else "starting at step 1", flush=True)

    task = f"{os.environ['JOB_NAME']}-{os.environ['TASK_INDEX']}"
    with records.StepLog(folder, task, done, int(os.environ["TONY_EPOCH"])) as log:
        for step in range(done + 1, arguments.steps + 1):
            time.sleep(arguments.slow_step_seconds)
            batch = digits.batch_indices(step, arguments.batch_size, arguments.seed, len(labels))
            mine = batch.reshape(processes, -1)[rank]
            parameters, velocity, loss = update(
                parameters,
                velocity,
                jax.make_array_from_process_local_data(divided, images[mine]),
                jax.make_array_from_process_local_data(divided, labels[mine].astype(np.int32)),
            )
            log.write(step, loss)
            if step % arguments.checkpoint_every == 0 or step == arguments.steps:
                # All logs must hold this step before a checkpoint says that it is done.
                log.store()
                multihost_utils.sync_global_devices(f"checkpoint {step}")
                if rank == 0:
                    save_checkpoint(path, step, parameters, velocity)
    return {name: np.asarray(value) for name, value in parameters.items()}


def main():
    # JAX reads JAX_COORDINATOR_ADDRESS, and tony.jax the number of processes and the id of this one.
    jax.distributed.initialize()
    folder = os.environ["TONY_CHECKPOINT_DIR"]
    rank, processes = jax.process_index(), jax.process_count()
    arguments = options.parse_synchronous(__doc__, jax.device_count())

    parameters = train(arguments, folder, rank, processes)
    records.write_parameters(folder, f"worker-{rank}", parameters)
    if rank == 0:
        run = records.describe_run(arguments, processes, LEARNING_RATE, MOMENTUM)
        records.write_run(folder, run)
        _, (images, labels) = digits.load(arguments.data)
        predicted = np.asarray(logits_of(parameters, images)).argmax(axis=1)
        print(f"test accuracy: {(predicted == labels).mean():.3f}", flush=True)
    multihost_utils.sync_global_devices("end")  # process 0 is the coordinator until all are done


if __name__ == "__main__":
    main()
