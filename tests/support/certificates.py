"""Certificates for servers of tests."""

import subprocess


def make_certificate(folder, name="localhost", alternatives="DNS:localhost,IP:127.0.0.1"):
    """The files of a new key for `name` and of its certificate, which is its own authority: (key, certificate)."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    key.touch(0o600)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                    "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={alternatives}"],
                   check=True, capture_output=True)
    return key, certificate
