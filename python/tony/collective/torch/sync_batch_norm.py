"""Batch normalization over the batches of all ranks."""

import torch
from torch.autograd.function import once_differentiable
from torch.nn.modules.batchnorm import _BatchNorm

from .. import _process
from .._reduce_ops import Sum
from ._differentiable import plain


class SyncBatchNorm(_BatchNorm):
    """torch.nn.BatchNorm whose mean and variance in training cover all ranks' batches, as if one process had the whole
    batch. Ranks may have different numbers of samples, or none.

    Inputs have the shape (N, C) or (N, C, …), on any device and with any floating type. The arguments are those of
    torch.nn.BatchNorm1d. All ranks take part in each forward pass of training, and in its backward pass. Gradients of
    weight and bias are this rank's part; DistributedOptimizer combines the parts.

    ValueError: fewer than two dimensions; one value for each channel, in all ranks together.
    """

    def _check_input_dim(self, input):  # pylint: disable=redefined-builtin  # the name is torch's
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input):  # pylint: disable=redefined-builtin,missing-function-docstring
        if (not self.training and self.track_running_stats) or _process.size() == 1:
            return super().forward(input)
        self._check_input_dim(input)
        normalized, mean, variance, count = _Normalize.apply(input, self.weight, self.bias, self.eps)
        if self.training and self.track_running_stats:
            self._track(mean, variance, count)
        return normalized

    @torch.no_grad()
    def _track(self, mean, variance, count):
        self.num_batches_tracked.add_(1)
        # None: an average of all batches so far.
        factor = 1.0 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        unbiased = variance * (count / (count - 1))
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), factor)
        self.running_var.lerp_(unbiased.to(self.running_var.dtype), factor)


class _Normalize(torch.autograd.Function):
    """Half types are computed as float32."""

    @staticmethod
    def forward(ctx, values, weight, bias, eps):
        wide = values.to(torch.promote_types(values.dtype, torch.float32))
        others = [dimension for dimension in range(values.dim()) if dimension != 1]
        mean, variance, count = _statistics(wide, others)
        shape = [1, -1] + [1] * (values.dim() - 2)
        inverse = torch.rsqrt(variance + eps)
        hat = (wide - mean.view(shape)) * inverse.view(shape)
        ctx.save_for_backward(hat, weight, inverse)
        ctx.others, ctx.shape, ctx.count, ctx.has_bias = others, shape, count, bias is not None
        result = hat if weight is None else hat * weight.to(hat.dtype).view(shape)
        if bias is not None:
            result = result + bias.to(hat.dtype).view(shape)
        ctx.mark_non_differentiable(mean, variance)
        return result.to(values.dtype), mean, variance, count

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, *_):
        hat, weight, inverse = ctx.saved_tensors
        wide = gradient.to(hat.dtype)
        sums = torch.stack([wide.sum(ctx.others), (wide * hat).sum(ctx.others)])
        to_values = to_weight = to_bias = None
        if ctx.needs_input_grad[0]:
            totals = plain.allreduce(sums, op=Sum, name=_name("backward", sums))
            means = (totals / ctx.count).view(2, *ctx.shape)
            scale = inverse if weight is None else inverse * weight.to(inverse.dtype)
            to_values = ((wide - means[0] - hat * means[1]) * scale.view(ctx.shape)).to(gradient.dtype)
        if weight is not None and ctx.needs_input_grad[1]:
            to_weight = sums[1].to(weight.dtype)
        if ctx.has_bias and ctx.needs_input_grad[2]:
            to_bias = sums[0].to(gradient.dtype if weight is None else weight.dtype)
        return to_values, to_weight, to_bias, None


def _name(step, tensor):
    """The same name for all layers of a size, one after the other, so that ranks need not agree on each one anew."""
    return f"sync_batch_norm.{step}.{tensor.shape[-1]}.{str(tensor.dtype).split('.')[-1]}"


def _statistics(values, others):
    """(mean, biased variance) by channel, and the number of values for each, over all ranks.

    It combines each rank's mean and sum of squared deviations from it, which loses less precision than sums of squares:
    Chan, Golub, LeVeque, Updating Formulae and a Pairwise Algorithm for Computing Sample Variances, 1979.
    """
    count = values.numel() // max(values.shape[1], 1)
    own_mean = values.mean(others) if count else values.new_zeros(values.shape[1])
    centered = values - own_mean.view([1, -1] + [1] * (values.dim() - 2))
    own = torch.stack([torch.full_like(own_mean, count), own_mean, (centered * centered).sum(others)])
    counts, means, squares = plain.allgather(own[None], name=_name("forward", own)).unbind(1)
    total = int(counts[:, 0].sum()) if values.shape[1] else 0
    if total == 1:
        raise ValueError("Expected more than 1 value per channel when training, in all ranks together")
    mean = (counts * means).sum(0) / max(total, 1)
    variance = (squares + counts * (means - mean) ** 2).sum(0) / max(total, 1)
    return mean, variance, total
