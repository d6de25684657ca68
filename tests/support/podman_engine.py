"""podman or docker with a store of its own, and images made from this machine's files, for tests."""

import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile

import machine

# crun refuses a machine that has control groups of both versions; runc runs everywhere.
CONFIGURATION = """[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
{runtime}
"""
STORAGE = """[storage]
driver = "overlay"
runroot = "{folder}/run"
graphroot = "{folder}/graph"
"""
# podman asks for a policy about signatures; this one trusts everything, as Debian's does.
POLICY = {"default": [{"type": "insecureAcceptAnything"}]}


def reason_to_skip():
    """Why there is no engine for tests here; None if there is one."""
    if shutil.which("podman") is None:
        return "podman is not installed (scripts/setup installs it)"
    if os.getuid() != 0:
        return "podman's images are mounted by root only"
    return None


def libraries_of(program):
    """The files that the dynamic loader maps for `program`, the loader itself too."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", listed)


def files_of(*programs):
    """The programs and their libraries, each by all paths under which it may be looked for."""
    return sorted({path for program in programs for path in [program, *libraries_of(program)]})


class Engine:
    """podman with its own store in a folder. Not thread safe."""

    def __init__(self, test, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        runtime = 'runtime = "runc"' if shutil.which("runc") else ""
        self._write("containers.conf", CONFIGURATION.format(runtime=runtime))
        self._write("storage.conf", STORAGE.format(folder=self.folder))
        self._write("registries.conf", "")
        self._write("home/.config/containers/policy.json", json.dumps(POLICY))
        self.environment = {
            "CONTAINERS_CONF": str(self.folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf"),
            "CONTAINERS_REGISTRIES_CONF": str(self.folder / "registries.conf"),
            "HOME": str(self.folder / "home"),
        }
        test.addCleanup(self._clean_up)

    def _write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _clean_up(self):
        self.run("rm", "--all", "--force", "--time=0")
        # The store's own mount, over which nothing can be removed.
        subprocess.run(["umount", "-l", self.folder / "graph/overlay"], check=False,
                       stderr=subprocess.DEVNULL)

    def run(self, *arguments, stdin=None):
        """Runs podman to its end; returns its standard output."""
        result = subprocess.run(
            ["podman", *arguments],
            env={**os.environ, **self.environment},
            input=stdin,
            capture_output=True,
            timeout=600,  # for an image of a gigabyte on a busy machine
            check=False,
        )
        if result.returncode != 0:
            raise AssertionError(f"podman {arguments}: {result.stderr.decode(errors='replace')}")
        return result.stdout.decode()

    def make_image(self, name, paths=(), texts=(), options=()):
        """Makes an image of files of this machine and of `texts` ((path, text), …)."""
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            for folder in ("tmp", "proc", "sys", "dev", "etc"):
                entry = tarfile.TarInfo(folder)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
                archive.addfile(entry)
            for path in paths:
                archive.add(os.path.realpath(path), arcname=path.lstrip("/"))
            for path, text in texts:
                entry = tarfile.TarInfo(path.lstrip("/"))
                entry.size, entry.mode = len(text), 0o755
                archive.addfile(entry, io.BytesIO(text))
        self.run("import", *options, "-", name, stdin=stream.getvalue())

    def containers(self):
        """The names of all containers, running or not."""
        return self.run("ps", "--all", "--format", "{{.Names}}").split()

    def wait_until_empty(self, deadline_seconds=30):
        """Waits until there is no container."""
        # An engine has no event for the end of a removal.
        if not machine.wait_until(lambda: not self.containers(), deadline_seconds, 0.1):
            raise AssertionError(f"there are still containers: {self.containers()}")
