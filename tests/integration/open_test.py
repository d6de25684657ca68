"""`tony open`: the page of a running job with its codes and cookies, and tunnels to its tasks."""

import errno
import http.client
import os
import re
import signal
import socket
import subprocess
import threading

import integration_case
import machine
import second_user
import tony_cli
from job_page import Page

# Serves the working folder where TensorBoard would be, until its job is killed.
SERVE = 'python3 -m http.server "$TB_PORT" --bind 127.0.0.1'
# Sends back what it gets, with an end for each direction; says when it listens.
ECHO = r"""
import os, socket
server = socket.create_server(("127.0.0.1", int(os.environ["TB_PORT"])))
print("listening", flush=True)
while True:
    connection, _ = server.accept()
    parts = []
    while part := connection.recv(1 << 20):
        parts.append(part)
    connection.sendall(b"".join(parts))
    connection.close()
"""
# Asks for a page on as many connections at once, says what the last one got, and keeps all of them
# until nothing more comes in.
GET = """
    import socket, sys
    port, path, count = sys.argv[1:]
    request = f"GET {path} HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n".encode()
    connections = []
    for _ in range(int(count)):
        connections.append(socket.create_connection(("127.0.0.1", int(port)), timeout=60))
        try:
            connections[-1].sendall(request)
        except ConnectionError:
            pass
    try:
        got = connections[-1].recv(4096)
    except ConnectionError:
        got = b""
    print(got, flush=True)
    sys.stdin.read()
"""
# Errors of a connection that the other side has reset, while it is read, written or shut down.
RESET = (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN)


class OpenTest(integration_case.JobTest):
    """Against one real job each."""

    def open_page(self, job):
        """A browser that has not visited the page yet."""
        return Page(self.site.verb("open", job.id)["url"])

    def open_tunnel(self, job, *arguments):
        """Starts `tony open` for a task; returns the process and the port that it listens on."""
        process = subprocess.Popen(
            self.site.command("tony", "open", job.id, *arguments),
            cwd=self.site.folder,
            env=self.site.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(self._end, process)
        url = process.stdout.readline()
        self.assertRegex(url, r"^http://127\.0\.0\.1:\d+/\n$", process.poll())
        return process, int(url.rsplit(":", 1)[1].rstrip("/\n"))

    @staticmethod
    def _end(process):
        process.kill()
        process.communicate()

    def kill(self, job):
        """Ends the job, which leaves nothing behind."""
        self.site.verb("kill", job.id)
        self.assert_ends(job, 4)

    def test_another_user_gets_nothing_from_the_page(self):
        """Not with the code, which he does not use up, nor by holding all of its connections."""
        second_user.require(self)
        job = self.submit("exec sleep 600")
        page = self.open_page(job)
        port = page.host.rpartition(":")[2]
        said = second_user.run_python(GET, port, page.code, 1)
        self.assertEqual(said, "b''\n")
        with second_user.start_python(GET, port, page.code, 200, stdout=subprocess.PIPE,
                                      stdin=subprocess.PIPE, text=True) as crowd:
            self.assertEqual(crowd.stdout.readline(), "b''\n")
            self.assertEqual(page.enter()[0], 303)
            self.assertEqual(page.get(page.base)[0], 200)
            crowd.communicate()
        self.kill(job)

    def test_the_page_needs_a_code_and_then_a_cookie(self):
        line = self.pipe("line")
        job = self.submit(f"echo hello from the task; read word < {line.path}; exit 3", workers=2)
        job.wait_until_running("worker:0", "worker:1")
        log = job.folder / "logs" / "worker-0" / "attempt-1" / "stdout.log"
        machine.wait_until(lambda: log.exists() and log.stat().st_size, tony_cli.DEADLINE_SECONDS, 0.01)
        page = self.open_page(job)
        status, _, text = page.get(page.base)
        self.assertEqual(status, 403)
        self.assertIn(f"tony open {job.id}", text)
        self.assertEqual(page.get(page.code[:-1] + "x")[0], 403)

        status, headers, _ = page.enter()
        self.assertEqual((status, headers["Location"]), (303, "./"))
        self.assertRegex(headers["Set-Cookie"], "; HttpOnly; SameSite=Strict$")
        status, headers, text = page.get(page.base)
        self.assertEqual(status, 200)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertIn("worker:1", text)
        self.assertIn('class="badge running">RUNNING', text)
        for file in re.findall(r'(?:href|src)="(page-[0-9a-f]+\.(?:css|js))"', text):
            status, headers, _ = page.get(page.base + file)
            self.assertEqual((status, headers["Cache-Control"]), (200, "max-age=31536000, immutable"))

        log = re.search(r'href="(logs/worker-0/attempt-1/stdout)"', text).group(1)
        status, headers, text = page.get(page.base + log)
        self.assertEqual((status, text), (200, "hello from the task\n"))
        self.assertEqual(headers["Content-Type"], "text/plain; charset=utf-8")

        # The code was valid once; a browser without a cookie needs another one.
        stranger = Page(f"http://{page.host}{page.code}")
        self.assertEqual(stranger.enter()[0], 403)
        self.assertEqual(self.open_page(job).enter()[0], 303)

        self.assertEqual(page.get(page.base, Host="evil.example")[0], 403)
        self.assertEqual(page.get(page.base, Origin="http://evil.example")[0], 403)
        self.assertEqual(page.get(page.base, "POST")[0], 405)
        self.assertEqual(page.get(page.base + "logs/../../job.xml")[0], 404)
        line.write(2)
        self.assert_ends(job, 1, "TASK_FAILED")
        with self.assertRaises(ConnectionRefusedError):
            page.get(page.base)

    def test_what_is_not_open(self):
        result = self.site.run("tony", "open")
        self.assertEqual(result.returncode, 1)
        self.assertIn("there are no jobs", result.stderr)
        line = self.pipe("line")
        job = self.submit(f"read word < {line.path}", workers=2)
        job.wait_until_running("worker:0", "worker:1")
        for arguments, code, says in (
            (["--task", "worker:2"], 1, "no task 'worker:2'"),
            (["--task", "worker"], 2, "write TYPE:INDEX"),
            (["--tensorboard", "--port", "x"], 2, "--port 'x' is no port"),
            (["--port", "6006"], 2, "--port is for"),
        ):
            result = self.site.run("tony", "open", job.id, *arguments)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(says, result.stderr)
        line.write(2)
        self.assert_succeeds(job)
        result = self.site.run("tony", "open", job.id)
        self.assertEqual(result.returncode, 1)
        self.assertIn("does not run any more (SUCCEEDED)", result.stderr)

    def test_a_browser_reaches_what_a_task_serves(self):
        job = self.submit(f"echo 'from the task' > index.html; exec {SERVE}")
        job.wait_for_visualization()
        process, port = self.open_tunnel(job, "--tensorboard")
        page = self.wait_for_page(port)
        self.assertEqual(page, "from the task\n")
        # Several at once.
        pages = []
        threads = [
            threading.Thread(target=lambda: pages.append(self.wait_for_page(port)))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(pages, ["from the task\n"] * 8)
        self.kill(job)
        out, err = process.communicate(timeout=tony_cli.DEADLINE_SECONDS)
        self.assertEqual((process.returncode, out), (0, ""))
        self.assertIn(f"job {job.id} has ended, KILLED", err)

    def test_another_application_master_leads_there_too(self):
        job = self.submit(f"echo 'from the task' > index.html; exec {SERVE}")
        job.wait_for_visualization()
        process, _ = self.open_tunnel(job, "--tensorboard")
        (master,) = machine.programs_of(job.id, "tony-am")
        os.kill(master, signal.SIGKILL)
        _, err = process.communicate(timeout=tony_cli.DEADLINE_SECONDS)
        self.assertEqual(process.returncode, 3)
        self.assertIn("the ApplicationMaster is gone", err)
        job.wait_until_attached_again()
        # The executor repeats to the new ApplicationMaster that something listens.
        job.wait_for_visualization(2)
        _, port = self.open_tunnel(job, "--tensorboard")
        self.assertEqual(self.wait_for_page(port), "from the task\n")
        self.assertEqual(self.open_page(job).enter()[0], 303)
        self.kill(job)

    def wait_for_server(self, exchange):
        """The result of `exchange`, once the task's server answers, which may still be starting."""
        def answer():
            try:
                return exchange()
            except OSError as error:
                # The error of a reset connection depends on the call in progress.
                if error.errno not in RESET and not isinstance(error, http.client.RemoteDisconnected):
                    raise
                return None

        found = machine.wait_until(answer, tony_cli.DEADLINE_SECONDS)
        self.assertTrue(found, "the task's server did not come up")
        return found

    def wait_for_page(self, port):
        """The page that the task shows."""
        def get():
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            try:
                connection.request("GET", "/")
                return connection.getresponse().read().decode()
            finally:
                connection.close()

        return self.wait_for_server(get)

    def test_bytes_pass_as_they_are_and_ctrl_c_ends(self):
        program = self.site.folder / "echo.py"
        program.write_text(ECHO)
        job = self.submit(f"exec python3 {program}", "--conf", "tony.worker.memory=512m")
        job.wait_until_running("worker:0")
        process, port = self.open_tunnel(job, "--task", "worker:0")
        sent = bytes(range(256)) * (50 << 12)
        self.assertTrue(self.wait_for_server(lambda: self.exchange(port, sent)) == sent)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=tony_cli.DEADLINE_SECONDS)
        self.assertEqual(process.returncode, 0)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        self.kill(job)

    @staticmethod
    def exchange(port, data):
        """Sends `data` and its end; returns all that comes back."""
        with socket.create_connection(("127.0.0.1", port), tony_cli.DEADLINE_SECONDS) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            parts = []
            while part := connection.recv(1 << 20):
                parts.append(part)
            return b"".join(parts)

    def test_where_nobody_listens_the_user_is_told(self):
        line = self.pipe("line")
        job = self.submit(f"read word < {line.path}")
        job.wait_until_running("worker:0")
        process, port = self.open_tunnel(job, "--task", "worker:0")
        # It only reads: who sends may also be told "not connected" or "broken pipe".
        with self.assertRaises(ConnectionResetError):
            with socket.create_connection(("127.0.0.1", port), tony_cli.DEADLINE_SECONDS) as visitor:
                visitor.recv(1)
        first = process.stderr.readline()
        self.assertIn("worker:0 of job", first)
        self.assertRegex(process.stderr.readline(), r"nobody listens on its port \d+")
        line.write()
        # It hears of the job's end as tony-submit does, and may be the last to go.
        process.communicate(timeout=tony_cli.DEADLINE_SECONDS)
        self.assertEqual(process.returncode, 0)
        self.assert_succeeds(job)


if __name__ == "__main__":
    integration_case.main()
