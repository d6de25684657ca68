"""Progress of Hugging Face's Trainer: `Trainer(…, callbacks=[tony.transformers.ReportCallback()])`.

Import it where Transformers is imported: `import tony.transformers`.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Optional

from transformers import TrainerCallback

from ._report import report, report_named


class ReportCallback(TrainerCallback):
    """Reports each step, what the trainer logs, its checkpoints, and evaluations as the phase "evaluate". Outside a task
    it does nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._evaluates = False

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Reports a step."""
        del args, control, kwargs
        report(step=state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: Optional[Dict[str, Any]] = None, **kwargs: Any) -> None:
        """Reports what the trainer logs: loss, learning_rate, eval_loss."""
        del args, state, control, kwargs
        report_named(logs or {})

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Reports a checkpoint, which is complete now."""
        del control, kwargs
        if state.is_world_process_zero:
            report(checkpoint=os.path.join(args.output_dir, f"checkpoint-{state.global_step}"))

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """No steps come while the model is evaluated."""
        del args, state, control, kwargs
        if not self._evaluates:
            self._evaluates = report(phase="evaluate")

    def on_predict(self, args: Any, state: Any, control: Any, metrics: Any, **kwargs: Any) -> None:
        """Steps come again."""
        del args, state, control, metrics, kwargs
        self._evaluates = False
        report(phase="")

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Steps come again."""
        del args, state, control, kwargs
        self._evaluates = False
        report(phase="")
