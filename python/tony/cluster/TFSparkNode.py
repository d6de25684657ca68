"""TFNodeContext by the module where TensorFlowOnSpark has it."""

from .TFNode import Context as TFNodeContext

__all__ = ["TFNodeContext"]
