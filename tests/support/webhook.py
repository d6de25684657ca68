"""A webhook that tests send alerts to."""

import http.server
import json
import ssl
import threading
import time

import tony_cli

PATH = "/services/T0/B0/pathsecret"


class Receiver:
    """A webhook on loopback. `answers`: the codes of its next answers, then 200; 0 hangs. `certificate`: files of a
    key and a certificate, with which it speaks https."""

    def __init__(self, test, answers=(), certificate=None):
        self._changed = threading.Condition()
        self._answers = list(answers)
        self._leaving = threading.Event()
        self.received = []  # (path, headers, body)
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """Keeps what comes."""

            def do_POST(self):  # pylint: disable=invalid-name
                """Answers as the test wishes."""
                body = self.rfile.read(int(self.headers["Content-Length"]))
                code = receiver.take(self.path, dict(self.headers), body)
                if code == 0:
                    receiver.hang()
                    return
                self.send_response(code)
                if code == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):  # pylint: disable=arguments-differ
                """Nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate[1], certificate[0])
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        test.addCleanup(self._server.server_close)
        test.addCleanup(self._server.shutdown)
        test.addCleanup(self._leaving.set)
        scheme = "http" if certificate is None else "https"
        self.server = f"{scheme}://127.0.0.1:{self._server.server_port}"
        self.url = self.server + PATH

    def take(self, path, headers, body):
        """Keeps a message; returns the code of its answer."""
        with self._changed:
            self.received.append((path, headers, body))
            self._changed.notify_all()
            return self._answers.pop(0) if self._answers else 200

    def hang(self):
        """Returns when the test is over."""
        self._leaving.wait(tony_cli.DEADLINE_SECONDS)

    def wait_for(self, count):
        """Waits for so many messages; returns their bodies."""
        end = time.monotonic() + tony_cli.DEADLINE_SECONDS
        with self._changed:
            while len(self.received) < count:
                if not self._changed.wait(end - time.monotonic()):
                    raise AssertionError(f"{len(self.received)} of {count} alerts came")
        return self.bodies()

    def bodies(self):
        """The messages so far."""
        return [json.loads(body) for _, _, body in self.received]

    def events(self):
        """The names of their events."""
        return [body["event"] for body in self.bodies()]
