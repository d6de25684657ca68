"""What nodes that train together wait for in each step: the other side of cluster_functions.train_in_step()."""

import contextlib
import socket
import threading


class StepServer:
    """Lets nodes begin a step when all of them have rows for it. Its thread ends with them.

    steps: that were made. uneven: whether a node had rows for a step and another one had ended.
    """

    def __init__(self, path, nodes):
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.settimeout(60)
        self._listening.bind(str(path))
        self._listening.listen()
        self._nodes = nodes
        self.steps = 0
        self.uneven = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        nodes = [self._listening.accept()[0] for _ in range(self._nodes)]
        for node in nodes:
            node.settimeout(60)
        with contextlib.ExitStack() as stack:
            for node in nodes:
                stack.enter_context(node)
            while True:
                told = {node.recv(1) for node in nodes}
                if told != {b"x"}:
                    self.uneven = told != {b""}
                    return
                self.steps += 1
                for node in nodes:
                    node.sendall(b"x")

    def join(self):
        """Waits for the nodes' end."""
        self._thread.join(60)
        self._listening.close()
