#!/usr/bin/env python3
"""tony.collective.torch with tensors of GPUs, which are a double's: no GPU and no PyTorch for one is needed. Ends with
77, "skipped", where there is no PyTorch."""

import os
import unittest

import rank_processes

FAKE = os.environ["TONY_FAKE_GPU"]


def failed(module, size, **variables):
    return rank_processes.failed_checks(module, size, lambda rank: {"TONY_FAKE_GPU": FAKE, **variables})


class GpuTest(unittest.TestCase):
    def expect(self, texts):
        self.assertFalse(texts, "\n".join(texts))

    def test_through_nccl(self):
        # One rank: the double of NCCL knows no other process.
        self.expect(failed("gpu_checks", 1, TONY_CUDA_LIBRARY=FAKE, TONY_NCCL_LIBRARY=FAKE))

    def test_states_of_optimizers(self):
        self.expect(failed("gpu_state_checks", 2, TONY_CUDA_LIBRARY=FAKE, TONY_NCCL_LIBRARY=FAKE))

    def test_without_nccl(self):
        self.expect(failed("gpu_fallback_checks", 2, TONY_CUDA_LIBRARY=FAKE, TONY_NCCL_LIBRARY="/nonexistent.so",
                           CHECK_WARNING="there is no NCCL: "))

    def test_without_driver(self):
        self.expect(failed("gpu_fallback_checks", 2, TONY_CUDA_LIBRARY="/nonexistent.so", TONY_NCCL_LIBRARY=FAKE,
                           CHECK_WARNING="there is no NVIDIA driver: "))

    def test_a_driver_without_a_gpu(self):
        self.expect(failed("gpu_fallback_checks", 2, TONY_CUDA_LIBRARY=FAKE, TONY_NCCL_LIBRARY=FAKE, CHECK_DEVICES="0",
                           CHECK_WARNING="this process sees no GPU (the driver counts none)"))

    def test_nccl_that_is_too_old(self):
        self.expect(failed("gpu_fallback_checks", 2, TONY_CUDA_LIBRARY=FAKE, TONY_NCCL_LIBRARY=FAKE,
                           CHECK_NCCL_VERSION="21304", CHECK_WARNING="is NCCL 2.13.4, but at least 2.14.0 is needed"))

    def test_told_not_to(self):
        self.expect(failed("gpu_fallback_checks", 2, TONY_CUDA_LIBRARY=FAKE, TONY_NCCL_LIBRARY=FAKE,
                           TONY_COLLECTIVE_GPU="host", CHECK_WARNING=""))


if __name__ == "__main__":
    try:
        import torch  # noqa: F401  pylint: disable=unused-import
    except ImportError:
        print("no PyTorch here")
        raise SystemExit(77)
    unittest.main()
