#!/usr/bin/env python3
"""Who may talk to a job's ApplicationMaster, who can read its secrets, and where it listens."""

import pathlib
import shutil
import socket
import ssl
import stat

import integration_case
import machine
from integration_case import JobTest

# 127.0.0.1 as the kernel lists it, alone and as an IPv6 address.
LOOPBACK = ("0100007F", "0000000000000000FFFF00000100007F")
HTTP2_SETTINGS = 4


class SecurityTest(JobTest):
    """Looks at running jobs of two workers."""

    def start(self):
        job = self.submit("sleep 600", workers=2)
        job.wait_until_running("worker:0", "worker:1")
        return job

    def stop(self, *jobs):
        for job in jobs:
            self.site.verb("kill", job.id)
            self.assert_ends(job, 4, "KILLED_BY_USER")

    def test_nothing_listens_but_the_master_on_the_loopback(self):
        job = self.start()
        processes = machine.processes_with(job.id)
        (address,) = machine.listeners_of([*processes, job.client.pid])
        self.assertIn(address, LOOPBACK)
        self.stop(job)

    def greet(self, job, credentials):
        """Connects with a certificate, or without; returns the type of the server's first frame.

        None when the server ended the connection instead.
        """
        host, port = (job.folder / "am.address").read_text().split(":")
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # what the server thinks of the client is asked here
        context.set_alpn_protocols(["h2"])
        if credentials:
            context.load_cert_chain(credentials)
        try:
            with socket.create_connection((host, int(port)), 30) as plain:
                with context.wrap_socket(plain) as secure:
                    header = secure.recv(9)
                    return header[3] if header else None
        except (ssl.SSLError, ConnectionError):
            return None

    def test_only_certificates_of_the_job_are_let_in(self):
        job, other = self.start(), self.start()
        mine, foreign = (each.folder / "secrets/client.pem" for each in (job, other))
        self.assertEqual(self.greet(job, mine), HTTP2_SETTINGS)
        self.assertIsNone(self.greet(job, foreign))
        self.assertIsNone(self.greet(job, None))
        self.stop(job, other)

    def test_plain_text_is_not_answered(self):
        job = self.start()
        host, port = (job.folder / "am.address").read_text().split(":")
        with socket.create_connection((host, int(port)), 30) as plain:
            plain.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
            try:
                answer = plain.recv(9)
            except ConnectionError:
                answer = b""
        self.assertNotEqual(answer[3:4], bytes([HTTP2_SETTINGS]))
        self.stop(job)

    def kill_with(self, job, credentials):
        """Runs `tony kill` with other credentials than the client's; returns what it says."""
        shadow = self.site.folder / "shadow"
        folder = shadow / "jobs" / job.id
        folder.mkdir(parents=True)
        for name in ("am.address", "am.lock", "events.jsonl"):
            (folder / name).symlink_to(job.folder / name)
        (folder / "secrets").mkdir(mode=0o700)
        shutil.copy(credentials, folder / "secrets/client.pem")
        result = self.site.run_bare("tony", "kill", job.id, "--conf", f"tony.local.dir={shadow}")
        shutil.rmtree(shadow)
        return result

    def test_only_the_jobs_client_may_stop_it(self):
        job, other = self.start(), self.start()
        refused = self.kill_with(job, other.folder / "secrets/client.pem")
        self.assertEqual(refused.returncode, 3, refused.stdout)
        self.assertIn("cannot be asked to end", refused.stderr)
        executor = next((job.folder / "secrets").glob("*-c0001.pem"))
        refused = self.kill_with(job, executor)
        self.assertEqual(refused.returncode, 3, refused.stdout)
        self.assertIn("only a client of the job may do this", refused.stderr)
        self.assertEqual(self.site.verb("status", job.id)["state"], "RUNNING")
        self.stop(job, other)

    def test_secrets_are_private_and_nowhere_else(self):
        job = self.start()
        secrets = job.folder / "secrets"
        self.assertEqual(stat.S_IMODE(secrets.stat().st_mode), 0o700)
        files = list(secrets.iterdir())
        self.assertEqual(len(files), 4, files)  # authority, client, two executors
        self.assert_private(secrets)
        keys = {line for path in files for line in self.key_lines(path)}
        self.assertGreaterEqual(len(keys), 4)
        for pid in machine.processes_with(job.id):
            for name in ("cmdline", "environ"):
                self.assert_without(keys, pathlib.Path(f"/proc/{pid}/{name}"))
        self.stop(job)
        for path in job.folder.rglob("*"):
            if path.is_file():
                self.assert_without(keys, path)

    def key_lines(self, path):
        """The lines of the private key in a file, which are its secret."""
        text = path.read_text()
        self.assertEqual(text.count("PRIVATE KEY-----"), 2, path)
        begin = text.index("PRIVATE KEY-----\n") + len("PRIVATE KEY-----\n")
        return text[begin : text.index("-----END", begin)].encode().splitlines()

    def assert_without(self, secrets, path):
        text = path.read_bytes()
        for secret in secrets:
            self.assertNotIn(secret, text, path)


if __name__ == "__main__":
    integration_case.main()
