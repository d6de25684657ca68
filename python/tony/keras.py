"""Progress of Keras: `model.fit(…, callbacks=[tony.keras.ReportCallback()])`.

For Keras 2 and 3. Import it where Keras is imported: `import tony.keras`.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

try:
    from keras.callbacks import Callback
except ImportError:
    from tensorflow.keras.callbacks import Callback

from ._report import report, report_named


class ReportCallback(Callback):
    """Reports each batch as a step, with its loss and metrics, evaluations as the phase "evaluate", and the values of
    each epoch. Steps count on from those of the optimizer, so a program that continues from a checkpoint does not begin
    with 0 again. Outside a task it does nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._step = 0

    def on_train_begin(self, logs: Optional[Dict[str, Any]] = None) -> None:
        """Finds the step from which the training goes on."""
        del logs
        iterations = getattr(getattr(self.model, "optimizer", None), "iterations", None)
        self._step = 0 if iterations is None else int(iterations)

    def on_train_batch_end(self, batch: int, logs: Optional[Dict[str, Any]] = None) -> None:
        """Reports a step."""
        del batch
        self._step += 1
        report_named(logs or {}, step=self._step)

    def on_epoch_end(self, epoch: int, logs: Optional[Dict[str, Any]] = None) -> None:
        """Reports what holds for the epoch, such as val_loss."""
        report_named(logs or {}, epoch=epoch + 1)

    def on_test_begin(self, logs: Optional[Dict[str, Any]] = None) -> None:
        """No steps come while the model is evaluated."""
        del logs
        report(phase="evaluate")

    def on_test_end(self, logs: Optional[Dict[str, Any]] = None) -> None:
        """Steps come again."""
        del logs
        report(phase="")
