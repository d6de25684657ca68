"""Measures while this machine's processors lie near each other.

The host of a virtual machine moves its processors about: to places with a cache in common, or apart. What ranks do in
shared memory then takes three times as long, peers' as well as ours, until they are moved again.
"""

import subprocess
import sys
import time

FAR = 2  # times the shortest round trip of a cache line that was seen
LOOKS = 10  # for the shortest one
PAUSE = 0.3  # seconds between looks: busy processors are rarely moved
PATIENCE = 60  # seconds until they are near
TRIES = 5


class Processors:
    """Knows how near to each other the processors can be. Not thread safe."""

    def __init__(self, program):
        """`program`: prints the round trip's nanoseconds; None: nobody looks."""
        self.program = program
        self.nearest = None
        for _ in range(LOOKS if program else 0):
            self._are_near()
            time.sleep(PAUSE)

    def _are_near(self):
        if not self.program:
            return True
        done = subprocess.run([self.program], capture_output=True, text=True, check=True)
        now = float(done.stdout)
        self.nearest = min(now, self.nearest or now)
        return now <= FAR * self.nearest

    def _wait(self):
        deadline = time.monotonic() + PATIENCE
        while not self._are_near() and time.monotonic() < deadline:
            time.sleep(PAUSE)

    def measure(self, call):
        """What `call` returns when processors were near before it and after it; after some tries, whatever it is."""
        for _ in range(TRIES):
            self._wait()
            result = call()
            if self._are_near():
                return result
            print("bench: measured again, since the processors were moved apart", file=sys.stderr, flush=True)
        print("bench: measured with processors that lie apart", file=sys.stderr, flush=True)
        return result
