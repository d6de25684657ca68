#!/usr/bin/env python3
"""tony.collective on a real YARN cluster: ranks on nodes that have nothing of tony find it, and each
other.

    yarn_collective_test.py PROGRAMS [unittest's arguments]

PROGRAMS is the folder of tony-submit and its companions, with the runtime bundle built beside it.
Exits with 77 where Hadoop cannot run. All nodes are this machine's, so that ranks of two of them would share
memory: each is in a user namespace of its own, where it cannot, and speaks TCP.
"""

import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import horovod_job
import tony_cli
import yarn_cluster

DEADLINE_SECONDS = 180
RANKS = 3
# A node has 4096 MiB: two of these, but not three.
SMALL = ("--conf", f"tony.worker.instances={RANKS}", "--conf", "tony.worker.memory=1500m",
         "--conf", "tony.am.memory=256m", "--conf", "tony.driver.memory=256m")
RANK = f"exec unshare --user --map-root-user {sys.executable} -B rank.py"
# Each rank has some megabytes that nobody else has, and tells of all.
PROGRAM = """
import hashlib, json, os
import tony.collective as hvd
def digest(data):
    return hashlib.sha256(data).hexdigest()
hvd.init()
mine = bytes([hvd.rank()]) * 3000000 + os.urandom(1000000)
gathered = hvd.allgather_object(mine)
key = os.environ["TONY_COLLECTIVE_KEY"].encode()
print(json.dumps({
    "rank": hvd.rank(), "local_size": hvd.local_size(), "cross_size": hvd.cross_size(),
    "mine": digest(mine), "gathered": [digest(each) for each in gathered],
    "package": hvd.__file__, "key": digest(key), "key_size": len(key)}))
"""

programs = None  # pylint: disable=invalid-name


class YarnCollectiveTest(unittest.TestCase):
    """Three ranks on two nodes."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = yarn_cluster.YarnCluster("--recovery", "--distinct-hosts", "--nodes", "2")
        cls.addClassCleanup(cls.cluster.stop)

    def setUp(self):
        self.site = tony_cli.Site(self, programs, self.cluster)
        (self.site.folder / "src").mkdir()
        (self.site.folder / "src/rank.py").write_text(PROGRAM)

    def submit(self, command=RANK):
        """A job of these ranks."""
        return self.site.submit(
            *horovod_job.CONF, *SMALL, "--src_dir", self.site.folder / "src", "--executes", command)

    def run_ranks(self):
        """The output of the ranks of a successful job, by rank."""
        job = self.submit()
        self.assertEqual(job.wait(DEADLINE_SECONDS), 0, job.describe())
        said = [json.loads(job.log(f"worker:{index}")) for index in range(RANKS)]
        return sorted(said, key=lambda line: line["rank"])

    def test_ranks_of_two_nodes(self):
        said = self.run_ranks()
        self.assertEqual([line["rank"] for line in said], list(range(RANKS)))
        self.assertEqual(sorted(line["local_size"] for line in said), [1, 2, 2])
        self.assertEqual({line["cross_size"] for line in said if line["local_size"] == 1}, {2})
        digests = [line["mine"] for line in said]
        for line in said:
            self.assertEqual(line["gathered"], digests)
            # From what the node has fetched, not from this machine's build.
            self.assertRegex(line["package"], "/data/node[12]/.*/tony-runtime/python/tony/collective/")
            self.assertEqual(line["key_size"], 64)
        (key,) = {line["key"] for line in said}
        self.assertNotEqual({line["key"] for line in self.run_ranks()}, {key}, "each job has its own")

    def test_another_key_is_refused(self):
        job = self.submit(f"[ $HOROVOD_RANK != 2 ] || export TONY_COLLECTIVE_KEY=another; {RANK}")
        self.assertEqual(job.wait(DEADLINE_SECONDS), 1, job.describe())
        said = "".join(path.read_text() for path in job.all_logs() if path.name.endswith("stderr.log"))
        self.assertRegex(said, "in the job's store is not believed to be of rank .* another TONY_COLLECTIVE_KEY")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    yarn_cluster.skip_without("unshare")
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
