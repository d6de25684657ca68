"""Measures only while this machine's processors have their usual distance from each other.

The host of a virtual machine moves its processors: to places with a common cache, apart, or to the two halves of one
processor. Operations of ranks in shared memory then take up to four times as long, the peers' as well as ours, until
the processors are moved again.
"""

import statistics
import subprocess
import sys
import time

LOOKS = 21  # measurements for finding the usual distance
FACTOR = 1.7  # factor by which the round trip of a cache line may differ from the usual time
PAUSE = 0.2  # seconds between checks: busy processors are rarely moved
PATIENCE = 20  # seconds to wait for the usual distance
TRIES = 6


class Processors:
    """Knows the usual distance of the processors. Not thread safe."""

    def __init__(self, program):
        """`program`: prints the round trip in nanoseconds; None: nothing is checked."""
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
        """Waits until the distance is the usual one. If it stays different for too long, the present one counts as
        usual."""
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
        """The result of `call` if the distance was usual before and after it; after some tries, any result."""
        if not self.program:
            return call()
        for _ in range(TRIES):
            self._wait()
            result = call()
            if self._is_usual(self._look()):
                return result
        print("bench: something was measured while processors did not lie as usual", file=sys.stderr, flush=True)
        return result
