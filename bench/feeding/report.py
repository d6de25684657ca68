"""The table of bench/feed: each figure with its gate and its aim, and the machine's load when it was taken."""

import os
import statistics


def median(values):
    """The median; of an even number of values the mean of the middle ones."""
    return statistics.median(values)


def _limit(sign, value):
    return f"{sign} {value:.4g}" if value is not None else ""


class Report:
    """Prints figures as they come, and keeps the missed gates. Not thread safe."""

    def __init__(self):
        self.missed = []
        print(f"{'':52}{'':>14}{'gate':>12}{'aim':>12}  load")

    def at_least(self, what, value, gate, aim, unit="x"):
        """A figure that should be great: a ratio to a peer."""
        self._print(what, f"{value:.3g} {unit}", gate is None or value >= gate, _limit(">=", gate), _limit(">=", aim))

    def at_most(self, what, value, gate, aim, unit):
        """A figure that should be small: seconds, bytes, or a ratio to a floor."""
        self._print(what, f"{value:.3g} {unit}", gate is None or value <= gate, _limit("<=", gate), _limit("<=", aim))

    def _print(self, what, figure, holds, gate, aim):
        if not holds:
            self.missed.append(f"{what}: {figure}, gate {gate}")
        print(f"{what:52}{figure:>14}{gate:>12}{aim:>12}  {os.getloadavg()[0]:.1f}"
              f"{'' if holds else '  MISSED'}", flush=True)

    def note(self, text):
        """A line for the reader."""
        print(f"    {text}", flush=True)
