"""`tony proxy`: a port of this machine that leads to any port on which a task listens."""

import json
import signal
import socket
import subprocess

import integration_case
import second_user
import tony_cli

# Sends back what it gets, on a port that the system chooses; names the port, and begins at a line.
ECHO = r"""
import os, socket, sys
server = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1], "w") as line:
    print(server.getsockname()[1], file=line)
while True:
    connection, _ = server.accept()
    if os.fork() == 0:
        while part := connection.recv(1 << 20):
            connection.sendall(part)
        os._exit(0)
    connection.close()
"""
KNOCK = """
    import socket, sys
    try:
        connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
        connection.sendall(b"hello")
        print(connection.recv(100) or "closed")
    except ConnectionError:
        print("closed")
"""


class ProxyTest(integration_case.JobTest):
    """Against one real job each."""

    def start(self):
        """A job whose task serves on a port of its own; returns the job and the port."""
        program, port = self.site.folder / "echo.py", self.pipe("port")
        program.write_text(ECHO)
        job = self.submit(f"exec python3 {program} {port.path}", "--conf",
                          "tony.worker.memory=512m")
        return job, int(port.read())

    def proxy(self, job, *arguments):
        """Starts `tony proxy`; returns the process and the port that it listens on."""
        process = self.site.start(self, "tony", "proxy", job.id, *arguments)
        address = process.stdout.readline()
        self.assertRegex(address, r"^127\.0\.0\.1:\d+\n$")
        self.assertIn("until Ctrl-C", process.stderr.readline())
        return process, int(address.rsplit(":", 1)[1])

    def exchange(self, port, data):
        """Sends `data` and its end; returns all that comes back."""
        with socket.create_connection(("127.0.0.1", port), tony_cli.DEADLINE_SECONDS) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            parts = []
            while part := connection.recv(1 << 20):
                parts.append(part)
            return b"".join(parts)

    def test_a_port_that_was_not_registered(self):
        job, port = self.start()
        process, here = self.proxy(job, f"worker:0:{port}")
        self.assertEqual(self.exchange(here, b"hello"), b"hello")
        # By the type alone, at a port of the user's choice.
        with socket.create_server(("127.0.0.1", 0)) as server:
            free = server.getsockname()[1]
        other, there = self.proxy(job, f"worker:{port}", "--port", str(free))
        self.assertEqual(there, free)
        self.assertEqual(self.exchange(there, b"more"), b"more")
        for running in (process, other):
            running.send_signal(signal.SIGINT)
            self.assertEqual(running.wait(tony_cli.DEADLINE_SECONDS), 0)
        self.site.verb("kill", job.id)
        job.wait()

    def test_no_other_port_of_the_host(self):
        job, _ = self.start()
        with socket.create_server(("127.0.0.1", 0)) as stranger:
            process, here = self.proxy(job, f"worker:0:{stranger.getsockname()[1]}")
            with self.assertRaises(ConnectionResetError):
                with socket.create_connection(("127.0.0.1", here), 60) as visitor:
                    visitor.recv(1)
            self.assertIn("none of its processes listens on port", process.stderr.readline())
        self.site.verb("kill", job.id)
        job.wait()

    def test_another_user_gets_nothing(self):
        second_user.require(self)
        job, port = self.start()
        process, here = self.proxy(job, f"worker:0:{port}")
        self.assertEqual(second_user.run_python(KNOCK, here), "closed\n")
        self.assertIn("another user", process.stderr.readline())
        self.assertEqual(self.exchange(here, b"mine"), b"mine")
        self.site.verb("kill", job.id)
        job.wait()
        self.assertEqual(process.wait(tony_cli.DEADLINE_SECONDS), 0)
        self.assertIn(f"job {job.id} has ended, KILLED", process.stderr.read())

    def test_bad_usage(self):
        job, port = self.start()
        for words, code, says in (
            ([job.id], 2, "worker:0:8888"),
            ([job.id, "worker"], 2, "worker:0:8888"),
            ([job.id, "worker:0"], 2, "'0' is no port"),
            ([job.id, "worker:0:70000"], 2, "'70000' is no port"),
            ([job.id, f"worker:5:{port}"], 1, "no task 'worker:5'"),
            ([job.id, f"worker:0:{port}", "--port", "x"], 2, "--port 'x' is no port"),
            (["nothing", f"worker:0:{port}"], 1, "nothing"),
        ):
            result = self.site.run("tony", "proxy", *words)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(says, result.stderr)
        with socket.create_server(("127.0.0.1", 0)) as server:
            taken = server.getsockname()[1]
            result = self.site.run("tony", "proxy", job.id, f"worker:0:{port}", "--port", str(taken))
            self.assertEqual(result.returncode, 3)
            self.assertIn(f"cannot listen on 127.0.0.1, port {taken}", result.stderr)
        process = subprocess.Popen(
            self.site.command("tony", "proxy", job.id, f"worker:0:{port}", "--json"),
            env=self.site.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        said = json.loads(process.stdout.readline())
        self.assertEqual(said["address"], f"127.0.0.1:{said['port']}")
        self.site.verb("kill", job.id)
        job.wait()


if __name__ == "__main__":
    integration_case.main()
