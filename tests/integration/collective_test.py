#!/usr/bin/env python3
"""tony.collective in Horovod jobs: ranks that tony-submit starts meet at the job's own driver."""

import sys
import textwrap

import integration_case
from horovod_case import RETRY, HorovodTest

BEGIN = """
import os, signal, sys
sys.path.insert(0, {package!r})
import tony.collective as hvd
hvd.init()
"""
# What ranks print who have heard of each other.
LINE = 'print("rank", hvd.rank(), "of", hvd.local_size(), hvd.allgather_object(hvd.rank()))'


class CollectiveTest(HorovodTest):
    """Programs that need nothing but the standard library."""

    def command(self, body):
        """Of a worker; its program lies in the site's folder."""
        program = self.site.folder / "rank.py"
        package = str(integration_case.programs.parent / "python")
        program.write_text(BEGIN.format(package=package) + textwrap.dedent(body))
        return f"exec {sys.executable} -I -B {program}"

    def lines(self, job, workers, attempt=1):
        """What the workers have printed."""
        return [job.log(f"worker:{index}", attempt=attempt).decode().strip() for index in range(workers)]

    def test_ranks_meet(self):
        job = self.submit_ranks(self.command(LINE), workers=3)
        self.assert_succeeds(job)
        self.assertEqual(self.lines(job, 3), [f"rank {rank} of 3 [0, 1, 2]" for rank in range(3)])

    def test_a_killed_rank_and_a_job_that_begins_anew(self):
        job = self.submit_ranks(self.command(f"""
            if os.environ["TONY_EPOCH"] == "0":
                # The job ends it, too, and may be as fast.
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                hvd.barrier()
                if hvd.rank() == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                try:
                    hvd.barrier()
                except hvd.HorovodInternalError as error:
                    print(error, flush=True)
                    sys.exit(5)
            {LINE}
            """), *RETRY, workers=2)
        self.assert_succeeds(job)
        self.assertEqual(self.lines(job, 1), ["rank 1 has ended"])
        self.assertEqual(self.lines(job, 2, attempt=2), [f"rank {rank} of 2 [0, 1]" for rank in range(2)])


if __name__ == "__main__":
    integration_case.main()
