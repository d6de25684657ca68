"""What differs among versions of TensorFlow, by TensorFlowOnSpark's names. TensorFlow is imported by the functions."""

import os
import tempfile
from typing import Any


def export_saved_model(model: Any, export_dir: str, is_chief: bool = False) -> None:
    """Saves a Keras model for serving. All nodes of a strategy have to call it; only the chief's is kept.

    The others save into a temporary folder, since a variable that is spread over nodes is read by all of them.
    """
    if is_chief:
        model.save(export_dir)
        return
    with tempfile.TemporaryDirectory(prefix="tony-worker-model-") as folder:
        model.save(os.path.join(folder, "model"))


def disable_auto_shard(options: Any) -> None:
    """Lets each node of a strategy read its whole dataset, as a node that is fed has its own data already.

    options: a tf.data.Options.
    """
    import tensorflow as tf  # type: ignore[import-not-found, import-untyped, unused-ignore]  # pylint: disable=import-outside-toplevel,import-error
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF


def is_gpu_available() -> bool:
    """Whether TensorFlow sees a GPU in this process."""
    import tensorflow as tf  # type: ignore[import-not-found, import-untyped, unused-ignore]  # pylint: disable=import-outside-toplevel,import-error
    return bool(tf.config.list_physical_devices("GPU"))
