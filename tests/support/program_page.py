"""What a job shows to its visitors: a small server with HTTP and a WebSocket, at TB_PORT.

    program_page.py FIFO

It listens when a line comes from FIFO.
"""

import base64
import hashlib
import http.server
import json
import os
import sys
import threading

PORT = int(os.environ["TB_PORT"])
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Show(http.server.BaseHTTPRequestHandler):
    """One request each."""

    protocol_version = "HTTP/1.1"

    def answer(self, body, status=200, **headers):
        """Sends a whole response."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        """Each path does one thing."""
        if self.path == "/redirect":
            return self.answer(b"", 302, Location=f"http://127.0.0.1:{PORT}/headers?x=1")
        if self.path == "/die":
            os._exit(7)
        if self.path == "/half":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"half")
            self.wfile.flush()
            os._exit(7)
        if self.path == "/hold":
            return threading.Event().wait()
        if self.path == "/ws":
            return self.echo()
        return self.answer(json.dumps({"path": self.path, "headers": self.headers.items()}).encode(),
                           Set_Cookie="own=1; Path=/", Clear_Site_Data='"cookies"')

    def do_POST(self):
        """The digest of what came."""
        digest, left = hashlib.sha256(), int(self.headers["Content-Length"])
        while left:
            piece = self.rfile.read(min(left, 1 << 16))
            digest.update(piece)
            left -= len(piece)
        self.answer(digest.hexdigest().encode())

    def echo(self):
        """A WebSocket's handshake; behind it all bytes come back."""
        accept = base64.b64encode(hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + GUID).digest())
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", accept.decode())
        self.end_headers()
        while data := self.connection.recv(1 << 16):
            self.connection.sendall(data)
        self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    """Takes many at once."""

    request_queue_size = 128


with open(sys.argv[1], encoding="utf-8") as order:
    order.readline()
Server(("127.0.0.1", PORT), Show).serve_forever()
