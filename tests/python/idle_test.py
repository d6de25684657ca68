#!/usr/bin/env python3
"""tony.collective's threads where there is nothing to do: they sleep, and nothing wakes them."""

import os
import unittest

import rank_processes

BODY = """
import array, os, time
import tony.collective as hvd

def wakes():
    total = 0
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/status", encoding="ascii") as status:
            total += int(next(line for line in status if line.startswith("voluntary_ctxt_switches")).split()[1])
    return total

def work():
    # Takes a while, and no part of it is a wait.
    end = time.monotonic() + 1
    while time.monotonic() < end:
        pass

def count(what, wait):
    before, begin = wakes(), time.monotonic()
    wait()
    print(what, wakes() - before, time.monotonic() - begin)

hvd.init()
hvd.barrier()
reduce = lambda: hvd.allreduce(array.array("f", [1]), name="later")
if hvd.rank() == 0:
    count("idle", lambda: os.read({read}, 1))
    count("waits", reduce)
    hvd.barrier()
else:
    work()
    os.write({write}, b".")
    work()
    reduce()
    hvd.barrier()
"""
MOST_A_SECOND = 50  # about 1000 of who looks each millisecond, as Horovod does, and some 300 where it is busy


class IdleTest(unittest.TestCase):
    """Rank 0 sleeps until rank 1, which computes, tells it something."""

    def run_ranks(self, apart=()):
        read, write = os.pipe()
        try:
            command = ["-c", BODY.replace("{read}", str(read)).replace("{write}", str(write))]
            with rank_processes.Ranks(command, 2, pass_fds=(read, write), apart=apart) as ranks:
                ended = ranks.wait()
        finally:
            os.close(read)
            os.close(write)
        self.assertEqual([status for status, _ in ended.values()], [0, 0], ended)
        lines = [line.split() for line in ended[0][1].splitlines()]
        self.assertEqual([line[0] for line in lines], ["idle", "waits"], ended)
        for what, wakes, seconds in lines:
            self.assertLess(int(wakes), MOST_A_SECOND * float(seconds), what)

    def test_in_memory(self):
        self.run_ranks()

    def test_between_hosts(self):
        reason = rank_processes.refusal_of_hosts()
        if reason:
            self.skipTest(reason)
        self.run_ranks(apart=(0, 1))


if __name__ == "__main__":
    unittest.main()
