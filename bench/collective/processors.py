"""Measures while this machine's processors lie to each other as they mostly do.

The host of a virtual machine moves its processors about: to places with a cache in common, apart, or to the two halves
of one.
What ranks do in shared memory then takes up to four times as long, peers' as well as ours, until they are moved again.
"""

import statistics
import subprocess
import sys
import time

LOOKS = 21  # for how they mostly lie
FACTOR = 1.7  # by which the round trip of a cache line may differ from that
PAUSE = 0.2  # seconds between looks: busy processors are rarely moved
PATIENCE = 20  # seconds until they lie so again
TRIES = 6


class Processors:
    """Knows how far from each other the processors mostly are. Not thread safe."""

    def __init__(self, program):
        """`program`: prints the round trip's nanoseconds; None: nobody looks."""
        self.program = program
        looks = []
        for _ in range(LOOKS if program else 0):
            looks.append(self._look())
            time.sleep(PAUSE)
        self.usual = statistics.median(looks) if looks else None

    def _look(self):
        return float(subprocess.run([self.program], capture_output=True, text=True, check=True).stdout)

    def _is_usual(self, look):
        return self.usual / FACTOR <= look <= self.usual * FACTOR

    def _wait(self):
        """Until processors lie as usual. How they lie when they have not for long is usual from then on."""
        looks = [self._look()]
        deadline = time.monotonic() + PATIENCE
        while not self._is_usual(looks[-1]):
            if time.monotonic() > deadline:
                before, self.usual = self.usual, statistics.median(looks)
                print(f"bench: processors lie otherwise for more than {PATIENCE} s: a cache line takes {self.usual:.0f} ns "
                      f"instead of {before:.0f}, which is as usual from here on", file=sys.stderr, flush=True)
                return
            time.sleep(PAUSE)
            looks.append(self._look())

    def measure(self, call):
        """What `call` returns when processors lay as usual before it and after it; after some tries, whatever it is."""
        if not self.program:
            return call()
        for _ in range(TRIES):
            self._wait()
            result = call()
            if self._is_usual(self._look()):
                return result
        print("bench: something was measured while processors did not lie as usual", file=sys.stderr, flush=True)
        return result
