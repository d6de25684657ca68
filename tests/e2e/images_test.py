#!/usr/bin/env python3
"""The examples' PyTorch job in an image with its own Python, by the real podman.

    images_test.py PROGRAMS [unittest's arguments]

The image is made of the files that the job's interpreter uses, one gigabyte.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import examples
import machine
import podman_engine
import tony_cli
from examples import CHECKPOINT_EVERY

IMAGE = "localhost/torch:1"
# Prints every file that the program has opened as a library, and every package that it imports.
LIST_FILES = """
import os, sys
sys.path.insert(0, sys.argv[1])
import torch, torch.distributed, torch.nn.parallel, torch_digits, digits, options, records
digits.load()
for line in open("/proc/self/maps"):
    if "/" in line and os.path.exists(line.split(maxsplit=5)[-1].strip()):
        print(line.split(maxsplit=5)[-1].strip())
for module in list(sys.modules.values()):
    file = getattr(module, "__file__", None) or ""
    if "-packages/" in file:
        head, tail = file.split("-packages/")
        print(f"{head}-packages/{tail.split('/')[0]}")
print(os.path.dirname(os.__file__))
print(sys.prefix + "/pyvenv.cfg")
"""

programs = None  # pylint: disable=invalid-name


@unittest.skipIf(podman_engine.reason_to_skip(), podman_engine.reason_to_skip())
class PyTorchInAnImage(examples.PyTorchDistributedDataParallel, unittest.TestCase):
    """Two workers in step with each other, each in a container of its own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.mkdtemp(prefix="tony-test-engine-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        ends_with_the_class = types.SimpleNamespace(addCleanup=cls.addClassCleanup)
        cls.engine = podman_engine.Engine(ends_with_the_class, pathlib.Path(folder) / "engine")
        cls.engine.make_image(IMAGE, cls.files(), [("/etc/image", b"torch\n")])

    def make_site(self):
        """A site whose engine has the image."""
        site = tony_cli.Site(self, programs)
        site.environment.update(self.engine.environment)
        return site

    @classmethod
    def files(cls):
        """Everything that the interpreter needs for the example."""
        listed = subprocess.run([cls.python, "-c", LIST_FILES, ROOT / "examples/common"],
                                stdout=subprocess.PIPE, text=True, check=True).stdout
        files = set(listed.splitlines())
        # By the names under which the loader looks for them, too.
        mapped = [path for path in files if ".so" in path]
        files.update(podman_engine.files_of("/bin/sh", "/bin/bash", cls.python, *mapped))
        # Packages have links to libraries outside of them.
        for folder in [path for path in files if os.path.isdir(path)]:
            for link in filter(pathlib.Path.is_symlink, pathlib.Path(folder).rglob("*")):
                target = os.path.normpath(link.parent / os.readlink(link))
                if os.path.isfile(target):
                    files.add(target)
        # An image has each file once: what lies in a listed folder comes with it.
        return sorted(
            path for path in files
            if not any(str(folder) in files for folder in pathlib.PurePath(path).parents))

    def start_in_image(self, *task_params, retries=0, conf=()):
        """Starts the example in containers of the image."""
        image = ("tony.docker.enabled=true", f"tony.docker.containers.image={IMAGE}")
        return self.start(*task_params, retries=retries, conf=(*image, *conf))

    def remaining(self, job):
        """The job's processes that live a moment after its end; the engine's clean up until then."""
        machine.wait_until(lambda: not machine.processes_with(job.id), 30)
        self.engine.wait_until_empty()
        return machine.processes_with(job.id)

    def test_trains_as_one(self):
        self.assert_trained_in_one_epoch(self.start_in_image())

    def test_resumes_after_a_killed_worker(self):
        job = self.start_in_image("--slow-step-seconds 0.03", retries=1)
        inside = int(job.wait_for_task("worker:1", "RUNNING")["pid"])
        container = job.wait_for_task("worker:1", "RUNNING")["container"]
        self.wait_for_steps(job, 5 * CHECKPOINT_EVERY // 2)
        (worker,) = (
            pid for pid in machine.processes_with(f"TONY_CONTAINER_ID={container}")
            if f"\t{inside}\n" in pathlib.Path(f"/proc/{pid}/status").read_text().partition(
                "NSpid:")[2].partition("NSpgid")[0])
        os.kill(worker, signal.SIGKILL)
        self.assert_succeeds(job)
        self.assert_trained(job)
        self.assert_one_restart(job, "signal 9")
        code, said = self.run_check()
        self.assertEqual(code, 0, said)

    def test_reported_values(self):
        site = self.make_site()
        words = "import tony; tony.report(loss=0.5); print(open('/etc/image').read())"
        job = site.submit(
            *("--executes", f'{self.python} -c "{words}"', "--conf", "tony.worker.instances=1"),
            *("--conf", "tony.worker.memory=256m", "--conf", "tony.docker.enabled=true"),
            *("--conf", f"tony.docker.containers.image={IMAGE}"))
        self.assertEqual(job.wait(self.deadline_seconds), 0, self.describe(job))
        self.assertEqual(job.log("worker:0"), b"torch\n\n")
        (task,) = site.verb("status", job.id)["tasks"]
        self.assertEqual(task["exit"]["reported"], {"loss": "0.5"})

    def test_too_little_memory(self):
        job = self.start_in_image(conf=("tony.worker.memory=100m",))
        self.assertEqual(job.wait(self.deadline_seconds), 1, self.describe(job))
        self.assertRegex(job.verdict["sentence"], r"used more memory than its container has: "
                                                  r"peak [\d.]+ MiB, limit 100 MiB")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
