"""Progress of Lightning: `Trainer(callbacks=[tony.lightning.ReportCallback()])`.

For the packages lightning and pytorch_lightning. Import it where Lightning is imported: `import tony.lightning`.
"""

from __future__ import annotations

from typing import Any

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback

from ._report import report, report_named


class ReportCallback(Callback):
    """Reports each optimizer step, the logged metrics each `log_every_n_steps` of the trainer (to read them waits for
    the GPU), and validations as the phase "evaluate". Outside a task it does nothing."""

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Reports a step."""
        del pl_module, outputs, batch
        every = max(1, int(getattr(trainer, "log_every_n_steps", 1) or 1))
        metrics = dict(trainer.callback_metrics) if (batch_idx + 1) % every == 0 else {}
        report_named(metrics, step=trainer.global_step)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """No steps come while the model is validated."""
        del trainer, pl_module
        report(phase="evaluate")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Steps come again; what the validation has logged is there."""
        del pl_module
        report_named(dict(trainer.callback_metrics), phase="")
