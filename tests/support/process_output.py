"""The output of a process, for tests that wait until it has written something."""

import threading


class ProcessOutput:
    """The lines of a process, read as they come, so that it never waits for its reader. Thread safe."""

    def __init__(self, process):
        """``process``: a Popen with a pipe for its output, which is text."""
        self._lines, self._changed, self._over = [], threading.Condition(), False
        self._thread = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
        self._thread.start()

    def wait_for(self, part, seconds):
        """Whether ``part`` was written in time; False at once when the process has closed its output without it."""
        with self._changed:
            self._changed.wait_for(lambda: self._over or part in "".join(self._lines), seconds)
            return part in "".join(self._lines)

    def text(self, ended=False):
        """The output so far. ``ended``: all of it, of a process that has ended or is about to."""
        if ended:
            self._thread.join()
        with self._changed:
            return "".join(self._lines)

    def _read(self, stream):
        for line in stream:
            with self._changed:
                self._lines.append(line)
                self._changed.notify_all()
        with self._changed:
            self._over = True
            self._changed.notify_all()
