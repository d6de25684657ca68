"""The way from a job's page to its TensorBoard or notebook: a port of its own, with a login of its own."""

import contextlib
import hashlib
import http.client
import json
import pathlib
import socket
import urllib.parse

import integration_case
import machine
import second_user
import tony_cli
from integration_case import conf
from job_page import Page, Visitor

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "support/program_page.py"
# More than the page carries at a time, and fewer than the job's tunnels.
CROWD = 50


class ProgramPageTest(integration_case.JobTest):
    """A worker that waits, and a sidecar that shows something."""

    def start(self, name=""):
        """A job whose sidecar waits for an order before it listens; its page, and the orders."""
        gate, order = self.pipe(f"gate{name}"), self.pipe(f"order{name}")
        job = self.submit(f"read < {gate.path}",
                          *conf(tensorboard__instances=1, tensorboard__memory="128m",
                                tensorboard__command=f"exec python3 -B {PROGRAM} {order.path}"))
        job.wait_until_running("worker:0", "tensorboard:0")
        page = Page(self.site.verb("open", job.id)["url"])
        self.assertEqual(page.enter()[0], 303)
        return job, page, order, gate

    def visit(self, page):
        """A visitor with a cookie."""
        visitor = page.lead()
        self.assertRegex(visitor.host + visitor.login,
                         r"^127\.0\.0\.1:\d+/[0-9a-f]{32}/\?code=[0-9a-f]{32}$")
        self.assertEqual(visitor.enter()[0], 303)
        return visitor

    def listen(self, job, order):
        """Lets the program listen; returns its own address."""
        order.write()
        return job.wait_for_visualization()

    def may(self, job, page):
        """What the API says may be done."""
        return page.api(f"jobs/{job.id}")["may"]

    def end(self, job, gate):
        """The job ends well."""
        gate.write()
        self.assert_succeeds(job)

    def test_before_while_and_after_something_listens(self):
        job, page, order, gate = self.start()
        self.assertEqual(self.may(job, page)["open"], False)
        self.assertEqual(self.may(job, page)["open_command"], f"tony open {job.id} --tensorboard")
        visitor = self.visit(page)
        status, headers, text = visitor.ask(Accept="text/html")
        self.assertEqual((status, headers["Refresh"]), (503, "2"))
        self.assertIn("nothing listens", text)
        # The frame of the job's page may show that sentence, and nobody else's.
        self.assertIn(f"frame-ancestors http://{page.host};", headers["Content-Security-Policy"])
        _, headers, _ = page.get(page.base)
        self.assertIn(f"frame-src 'self' http://{visitor.host};", headers["Content-Security-Policy"])

        self.listen(job, order)
        self.assertEqual(self.may(job, page)["open"], True)
        self.assertIn('href="visualization"', page.get(page.base)[2])
        self.assertEqual(visitor.get("/a%2Fb?c=d")["path"], "/a%2Fb?c=d")
        _, headers, _ = visitor.ask()
        self.assertEqual(headers["Content-Security-Policy"], f"frame-ancestors 'self' http://{page.host}")

        # It dies within an answer, which must not look complete, and then is not there any more.
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            visitor.ask("/half")
        self.assertTrue(machine.wait_until(lambda: not self.may(job, page)["open"], tony_cli.DEADLINE_SECONDS))
        self.assertEqual(visitor.ask()[0], 503)
        self.end(job, gate)
        with self.assertRaises(ConnectionRefusedError):
            visitor.ask()

    def test_requests_pass_as_they_are_but_for_our_cookies(self):
        job, page, order, gate = self.start()
        own = self.listen(job, order)
        visitor = self.visit(page)
        cookies = f"_xsrf=1; {page.cookie}; {visitor.cookie}; tony-program-1=2"
        status, headers, text = visitor.ask("/headers", Cookie=cookies, X_Own="yes", Connection="keep-alive")
        self.assertEqual((status, headers["Connection"], headers["Set-Cookie"]), (200, "close", "own=1; Path=/"))
        sent = dict(json.loads(text)["headers"])
        self.assertEqual((sent["Cookie"], sent["Host"], sent["X-Own"]), ("_xsrf=1", visitor.host, "yes"))
        self.assertNotIn("Clear-Site-Data", headers)
        # Without a cookie of its own, it sees none.
        self.assertNotIn("Cookie", dict(visitor.get("/headers")["headers"]))
        self.assertEqual(visitor.ask("/redirect")[1]["Location"], "/headers?x=1")
        self.assertNotEqual(urllib.parse.urlsplit(own).netloc, visitor.host)
        body = bytes(range(256)) * (32 << 12)
        self.assertEqual(visitor.ask("/", "POST", body)[2], hashlib.sha256(body).hexdigest())
        self.end(job, gate)

    def test_a_web_socket_passes(self):
        job, page, order, gate = self.start()
        self.listen(job, order)
        visitor = self.visit(page)
        host, port = visitor.host.split(":")
        with socket.create_connection((host, int(port)), tony_cli.DEADLINE_SECONDS) as connection:
            connection.sendall((f"GET /ws HTTP/1.1\r\nHost: {visitor.host}\r\nCookie: {visitor.cookie}\r\n"
                                f"Origin: http://{visitor.host}\r\nConnection: keep-alive, Upgrade\r\n"
                                "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").encode())
            with connection.makefile("rb") as stream:
                self.assertEqual(stream.readline(), b"HTTP/1.1 101 Switching Protocols\r\n")
                head = b"".join(iter(stream.readline, b"\r\n"))
                # RFC 6455 has the answer to that key.
                self.assertIn(b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n", head)
                for piece in (b"one", b"two", bytes(range(256)) * 4096):
                    connection.sendall(piece)
                    self.assertEqual(stream.read(len(piece)), piece)
        self.end(job, gate)

    def test_who_may_not(self):
        job, page, order, gate = self.start()
        self.listen(job, order)
        stranger = Page(f"http://{page.host}{page.code}")
        self.assertEqual(stranger.get(f"{stranger.base}visualization")[0], 403)
        visitor = page.lead()
        self.assertEqual(visitor.ask()[0], 403)
        self.assertEqual(visitor.ask(visitor.login[:-1] + "x")[0], 403)
        self.assertEqual(visitor.ask(Cookie=page.cookie)[0], 403)
        self.assertEqual(visitor.enter()[0], 303)
        again = Visitor(f"http://{visitor.host}{visitor.login}")
        self.assertEqual(again.enter()[0], 403)  # the code was good once
        self.assertEqual(visitor.ask()[0], 200)

        _, other_page, other_order, other_gate = self.start("of-another")
        other = self.visit(other_page)
        self.assertEqual(visitor.ask(Cookie=other.cookie)[0], 403)
        value = other.cookie.split("=")[1]
        self.assertEqual(visitor.ask(Cookie=f"{visitor.cookie.split('=')[0]}={value}")[0], 403)

        self.assertEqual(visitor.ask(Host="evil.example")[0], 403)
        for asks, host in ((lambda **headers: page.get(page.base, **headers), page.host), (visitor.ask, visitor.host)):
            status, _, text = asks(Host=f"localhost:{host.split(':')[1]}")
            self.assertEqual(status, 403)
            self.assertIn(f"http://{host}.", text)
        self.assertEqual(visitor.ask(Origin=f"http://{page.host}")[0], 403)
        self.assertEqual(visitor.ask(Sec_Fetch_Site="same-site", Sec_Fetch_Mode="no-cors")[0], 403)
        self.assertEqual(visitor.ask("/sw.js", Service_Worker="script")[0], 403)
        # What the gate gives opens nothing of the page, and a program's page cannot stop the job.
        path = f"{page.base}api/v1/jobs/{job.id}"
        page.cookie, own = visitor.cookie, page.cookie
        self.assertEqual(page.get(path)[0], 403)
        page.cookie = own
        status, _ = page.post(f"jobs/{job.id}/stop", "{}", Origin=f"http://{visitor.host}",
                              Sec_Fetch_Site="same-site")
        self.assertEqual(status, 403)
        for line in (other_order, other_gate, gate):
            line.write()
        self.assert_succeeds(job)

    def test_another_user_gets_nothing(self):
        second_user.require(self)
        job, page, order, gate = self.start()
        self.listen(job, order)
        visitor = page.lead()
        said = second_user.run_python("""
            import socket, sys
            with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60) as connection:
                try:
                    connection.sendall(f"GET {sys.argv[2]} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n".encode())
                    print(connection.recv(4096))
                except ConnectionError:
                    print(b"")
        """, visitor.host.split(":")[1], visitor.login)
        self.assertEqual(said, "b''\n")
        self.assertEqual(visitor.enter()[0], 303)  # the code is still good
        self.end(job, gate)

    def test_a_crowd_hinders_neither_the_page_nor_other_tunnels(self):
        job, page, order, gate = self.start()
        self.listen(job, order)
        visitor = self.visit(page)
        with contextlib.ExitStack() as crowd:
            for _ in range(CROWD):
                connection = crowd.enter_context(contextlib.closing(visitor.connect()))
                connection.request("GET", "/hold", headers={"Cookie": visitor.cookie})
            self.assertTrue(self.may(job, page)["open"])
            process = self.site.start(self, "tony", "open", job.id, "--tensorboard")
            own = Visitor(process.stdout.readline().strip())
            self.assertEqual(own.get("/direct")["path"], "/direct")

        # Who goes away makes room.
        def served():
            try:
                return visitor.ask()[0] == 200
            except (ConnectionError, http.client.RemoteDisconnected):
                return False

        self.assertTrue(machine.wait_until(served, tony_cli.DEADLINE_SECONDS))
        self.end(job, gate)


if __name__ == "__main__":
    integration_case.main()
