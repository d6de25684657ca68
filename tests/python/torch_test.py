#!/usr/bin/env python3
"""tony.collective with PyTorch, in one to four ranks. Ends with 77, "skipped", where there is no PyTorch."""

import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest

import rank_processes


class TorchTest(unittest.TestCase):
    """Each number of ranks runs all of a module's checks."""

    def run_checks(self, module, sizes=(1, 2, 3, 4)):
        for size in sizes:
            with self.subTest(size=size):
                failed = rank_processes.failed_checks(module, size)
                self.assertFalse(failed, "\n".join(failed))

    def test_operations_and_optimizers(self):
        self.run_checks("torch_checks")

    def test_each_type_with_each_operation(self):
        self.run_checks("torch_type_checks", (1, 3))

    def test_elastic_states(self):
        self.run_checks("torch_elastic_checks")

    def test_states_of_optimizers(self):
        self.run_checks("torch_state_checks")

    def test_steps_that_a_round_ends(self):
        self.run_checks("torch_round_checks")

    def test_gradients_of_a_step(self):
        self.run_checks("torch_step_checks")

    def test_batch_norm_and_missing_gradients(self):
        self.run_checks("torch_norm_checks")


def free_port():
    """A free port of this machine; another program may take it."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class LauncherTest(unittest.TestCase):
    """torchrun itself, whose agent has the store and starts all ranks again when one fails."""

    def launched(self, body, *options):
        """The output of two ranks after torchrun has ended well; each line begins with a word for its rank."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "train.py")
            program.write_text(textwrap.dedent(body), encoding="utf-8")
            # Said what to write where, since PyTorch 1.13 does not read its own default with Python 3.11.
            launcher = subprocess.run(
                [sys.executable, "-B", "-m", "torch.distributed.run", "--nproc_per_node", "2", "--redirects", "1",
                 "--tee", "1", "--log_dir", folder, "--monitor_interval", "0.1", "--master_port", str(free_port()),
                 *options, program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                env=rank_processes.clean_environment(), timeout=rank_processes.DEADLINE_SECONDS)
        self.assertEqual(launcher.returncode, 0, launcher.stdout)
        return sorted(re.findall(r"^\[default(\d)\]:(.*)$", launcher.stdout, re.MULTILINE))

    def test_lives_of_its_ranks(self):
        self.assertEqual(self.launched("""
            import os, torch
            import tony.collective.torch as hvd
            assert os.environ["TORCHELASTIC_USE_AGENT_STORE"] == "True"
            for life in range(2):
                hvd.init()
                print([hvd.rank(), hvd.local_rank(), hvd.cross_rank(), hvd.size(), hvd.local_size(), hvd.cross_size()])
                assert hvd.allreduce(torch.ones(2), op=hvd.Sum)[0] == 2
                hvd.barrier()
                hvd.shutdown()
            """), [("0", "[0, 0, 0, 2, 2, 1]")] * 2 + [("1", "[1, 1, 0, 2, 2, 1]")] * 2)

    def test_a_restart(self):
        """The store still has what ranks of the first attempt have told each other."""
        self.assertEqual(self.launched("""
            import os, torch
            import tony.collective.torch as hvd
            hvd.init()
            assert hvd.allreduce(torch.ones(2), op=hvd.Sum)[0] == 2
            attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
            if attempt == "0" and hvd.rank() == 1:
                os._exit(3)
            hvd.barrier()
            print("attempt", attempt)
            """, "--max_restarts", "1"), [("0", "attempt 1"), ("1", "attempt 1")])


class TorchrunTest(unittest.TestCase):
    """Ranks with torchrun's variables, which meet through torch.distributed's store."""

    def run_ranks(self, body, size=2):
        port = free_port()
        processes = [subprocess.Popen(
            [sys.executable, "-B", "-c", textwrap.dedent(body)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env={**rank_processes.clean_environment(), "RANK": str(rank), "WORLD_SIZE": str(size),
                            "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1",
                            "MASTER_PORT": str(port)}) for rank in range(size)]
        try:
            for rank, process in enumerate(processes):
                output, _ = process.communicate(timeout=rank_processes.DEADLINE_SECONDS)
                self.assertEqual(process.returncode, 0, f"rank {rank}:\n{output}")
        finally:
            for process in processes:
                process.kill()
                process.communicate()

    def test_by_themselves(self):
        self.run_ranks("""
            import os, torch
            import tony.collective.torch as hvd
            for life in range(2):
                hvd.init()
                assert [hvd.rank(), hvd.local_size()] == [int(os.environ["RANK"]), 2]
                assert hvd.allreduce(torch.ones(2), op=hvd.Sum)[0] == 2
                hvd.barrier()
                hvd.shutdown()
            """)

    def test_beside_a_process_group(self):
        for first in ("group", "hvd"):
            with self.subTest(first=first):
                self.run_ranks(f"""
                    import torch, torch.distributed as dist
                    import tony.collective.torch as hvd
                    if {first!r} == "hvd":
                        hvd.init()
                    dist.init_process_group("gloo")
                    hvd.init()
                    assert hvd.rank() == dist.get_rank() and hvd.size() == 2
                    ones = torch.ones(2)
                    dist.all_reduce(ones)
                    assert hvd.allreduce(ones, op=hvd.Sum)[0] == 4
                    hvd.barrier()
                    """)


if __name__ == "__main__":
    try:
        import torch as _
    except ImportError:
        print("skipped: no PyTorch for", sys.executable)
        sys.exit(77)
    unittest.main()
