#!/usr/bin/env python3
"""Tasks in containers of images, by the real podman: tony.docker.… on this machine."""

import http.server
import json
import os
import pathlib
import signal
import threading
import unittest

import integration_case
import machine
import podman_engine
import tony_cli
from integration_case import JobTest

SHELL = ("/bin/sh", "/bin/bash", "/bin/sleep", "/bin/cat", "/usr/bin/env", "/usr/bin/id")
BASE = "localhost/base:1"


@unittest.skipIf(podman_engine.reason_to_skip(), podman_engine.reason_to_skip())
class ImageTest(JobTest):
    """A site with an engine of its own that has the image BASE: a shell and a file that names it."""

    def setUp(self):
        super().setUp()
        self.engine = podman_engine.Engine(self, self.site.folder / "engine")
        self.site.environment.update(self.engine.environment)
        self.engine.make_image(BASE, podman_engine.files_of(*SHELL), [("/etc/image", b"base\n")])

    def submit_in(self, image, command, *arguments, workers=1):
        """Starts a job whose containers are made from `image`."""
        return self.submit(
            command,
            *("--conf", "tony.docker.enabled=true"),
            *("--conf", f"tony.docker.containers.image={image}", *arguments),
            workers=workers,
        )

    def refusal(self, *properties):
        """What tony-submit says about a job file with these properties besides the image's."""
        job = self.write_job(
            ("tony.worker.instances", 1),
            ("tony.worker.command", "true"),
            ("tony.worker.memory", "64m"),
            ("tony.docker.enabled", "true"),
            *properties,
        )
        return self.assert_refused(2, "--conf_file", job)

    def assert_nothing_left(self, folder):
        self.engine.wait_until_empty()
        # The engine's own processes go a moment after the container.
        machine.wait_until(lambda: not machine.processes_with(folder.name), 20, 0.05)
        super().assert_nothing_left(folder)


class LifeTest(ImageTest):
    """Start, environment, logs and end are those of a task without an image."""

    def test_the_task_is_in_the_image(self):
        job = self.submit_in(
            BASE,
            "cat /etc/image; id -u; pwd; echo $HOME; echo $USER; env; echo err >&2; "
            "test ! -e /usr/lib/os-release && echo > made-here",
            *("--conf", "tony.containers.envs=OF_CONTAINER=a b"),
            *("--conf", "tony.execution.envs=OF_JOB=c"),
        )
        self.assert_succeeds(job)
        lines = job.log("worker:0").decode().split("\n")
        self.assertEqual(lines[:2], ["base", str(os.getuid())])
        container = job.wait_for_task("worker:0", "RUNNING")["container"]
        self.assertEqual(lines[2], str(job.folder / "containers" / container))
        for variable in ("OF_CONTAINER=a b", "OF_JOB=c", "JOB_NAME=worker", "TASK_INDEX=0",
                         f"TONY_CONTAINER_ID={container}", f"JOB_ID={job.id}"):
            self.assertIn(variable, lines)
        self.assertIn("CLUSTER_SPEC=", job.log("worker:0").decode())
        # What describes this machine stays outside.
        self.assertNotIn("TONY_CONF_DIR=", job.log("worker:0").decode())
        self.assertEqual(job.log("worker:0", "stderr"), b"err\n")

    def test_no_secret_is_in_the_arguments_or_in_the_engine(self):
        go_on = self.pipe("go-on")
        job = self.submit_in(
            BASE,
            f"cat < {go_on.path}",
            *("--conf", "tony.containers.envs=PASSWORD=not-for-others"),
            *("--conf", f"tony.docker.containers.mount={go_on.path.parent}:{go_on.path.parent}:rw"),
        )
        job.wait_until_running("worker:0")
        (name,) = self.engine.containers()
        self.assertNotIn("not-for-others", self.engine.run("inspect", name))
        for pid in machine.processes_with(job.id):
            self.assertNotIn(b"not-for-others", pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
        job.client.send_signal(signal.SIGINT)
        self.assert_ends(job, 4, "KILLED_BY_USER")

    def test_exit_codes_and_signals_are_told_as_without_an_image(self):
        for command, words in (
            ("exit 3", "exited with code 3"),
            ("exit 125", "exited with code 125"),
            ("exit 137", "exited with code 137"),
            ("no-such-program --now", "exited with code 127: the command was not found"),
            ("kill -9 $$", "was killed by signal 9 (SIGKILL)"),
            ("kill -SEGV $$", "was killed by signal 11 (SIGSEGV)"),
        ):
            with self.subTest(command=command):
                job = self.submit_in(BASE, command)
                self.assertIn(words, self.assert_ends(job, 1))

    def test_each_type_has_its_own_image(self):
        self.engine.make_image("localhost/other:1", podman_engine.files_of(*SHELL),
                               [("/etc/image", b"other\n")])
        job = self.submit_in(
            BASE, "cat /etc/image",
            *("--conf", "tony.chief.instances=1", "--conf", "tony.chief.memory=64m"),
            *("--conf", "tony.docker.chief.image=localhost/other:1"),
        )
        self.assert_succeeds(job)
        self.assertEqual(job.log("worker:0"), b"base\n")
        self.assertEqual(job.log("chief:0"), b"other\n")

    def test_a_job_of_one_process(self):
        job = self.site.submit(
            *("--conf", "tony.containers.command=cat /etc/image"),
            *("--conf", "tony.docker.enabled=true", "--conf", "tony.am.memory=64m"),
            *("--conf", f"tony.docker.containers.image={BASE}"),
        )
        self.assert_succeeds(job)
        self.assertEqual(job.log("am:0"), b"base\n")

    def test_mounts(self):
        data = self.site.folder / "data"
        data.mkdir()
        (data / "in").write_text("of the machine\n")
        job = self.submit_in(
            BASE, "cat /data/in; echo made > /out/made; echo no > /data/no",
            *("--conf", f"tony.docker.containers.mount={data}:/data:ro,{data}:/out:rw"),
        )
        self.assertIn("exited with code", self.assert_ends(job, 1))
        self.assertEqual(job.log("worker:0"), b"of the machine\n")
        self.assertIn(b"Read-only file system", job.log("worker:0", "stderr"))
        self.assertEqual((data / "made").read_text(), "made\n")
        self.assertFalse((data / "no").exists())

    def test_a_stop_reaches_the_program(self):
        ready = self.pipe("ready")
        job = self.submit_in(
            BASE,
            f"trap 'echo told to end; exit 0' TERM; echo > {ready.path}; sleep 600 & wait",
            *("--conf", f"tony.docker.containers.mount={ready.path.parent}:{ready.path.parent}:rw"),
        )
        ready.read()
        job.client.send_signal(signal.SIGINT)
        self.assert_ends(job, 4, "KILLED_BY_USER")
        self.assertEqual(job.log("worker:0"), b"told to end\n")

    def test_a_failed_attempt_is_followed_by_one_in_the_same_container(self):
        job = self.submit_in(BASE, "test -e /tmp/before && exit 0; : > /tmp/before; exit 5",
                             *("--conf", "tony.am.retry-count=1"))
        self.assert_succeeds(job)
        self.assertEqual(len(job.logs("worker:0")), 2)


class InsideTest(ImageTest):
    """What reaches into a container, and what comes out of it."""

    def test_a_command_of_exec_and_reported_values(self):
        go_on = self.pipe("go-on")
        job = self.submit_in(
            BASE, f"echo loss=0.5 > $TONY_PROGRESS; read word < {go_on.path}",
            *("--conf", "tony.containers.envs=COLOUR=red"),
            *("--conf", f"tony.docker.containers.mount={go_on.path.parent}:{go_on.path.parent}:rw"),
        )
        container = job.wait_for_task("worker:0", "RUNNING")["container"]
        result = self.site.run_bare(
            "tony", "exec", "--conf", f"tony.local.dir={self.site.local_dir}", job.id, "worker:0", "--", "sh", "-c",
            "cat /etc/image; pwd; echo $COLOUR $TASK_INDEX; test ! -e /usr/lib/os-release && exit 7")
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertEqual(result.stdout, f"base\n{job.folder / 'containers' / container}\nred 0\n")
        go_on.write()
        self.assert_succeeds(job)
        (task,) = self.site.verb("status", job.id)["tasks"]
        self.assertEqual(task["exit"]["reported"], {"loss": "0.5"})


class LossTest(ImageTest):
    """Processes of the engine and of tony are killed with -9."""

    def start(self):
        """A job whose first container runs for ever, and whose second one ends at once.

        The program of the first one has begun, which it need not have done when its task is said to run.
        """
        data = self.site.folder / "data"
        data.mkdir(exist_ok=True)
        job = self.submit_in(
            BASE, "test -e /data/again && exit 0; : > /data/again; sleep 600 & sleep 600",
            *("--conf", f"tony.docker.containers.mount={data}:/data:rw"),
        )
        job.wait_until_running("worker:0")
        self.assertTrue(machine.wait_until((data / "again").exists, 30, 0.01))
        return job

    def processes(self, job, name):
        """The processes of a job with this short name."""
        return [pid for pid in machine.processes_with(job.id) if machine.name_of(pid) == name]

    def test_podman_is_killed(self):
        job = self.start()
        for pid in self.processes(job, "podman"):
            os.kill(pid, signal.SIGKILL)
        self.assert_succeeds(job)
        (opened,) = job.events("epoch_opened")
        self.assertIn("podman was killed by signal 9 (SIGKILL)", json.dumps(opened))

    def test_the_monitor_is_killed(self):
        job = self.start()
        for pid in self.processes(job, "conmon"):
            os.kill(pid, signal.SIGKILL)
        self.assert_succeeds(job)

    def test_the_executor_is_killed(self):
        job = self.start()
        os.kill(self.executor_of(job, "worker:0"), signal.SIGKILL)
        self.assert_succeeds(job)

    def test_the_application_master_is_killed(self):
        ready, go_on = self.pipe("ready"), self.pipe("go-on")
        job = self.submit_in(
            BASE, f"echo > {ready.path}; read line < {go_on.path}; exit 0",
            *("--conf", f"tony.docker.containers.mount={ready.path.parent}:{ready.path.parent}:rw"),
        )
        ready.read()
        (master,) = machine.programs_of(job.id, "tony-am")
        os.kill(master, signal.SIGKILL)
        job.wait_for(lambda events: [e for e in events if "master_restarted" in e],
                     "second ApplicationMaster")
        go_on.write()
        self.assert_succeeds(job)
        self.assertEqual(len(job.logs("worker:0")), 1, "the program was not started again")

    def test_everything_is_killed_and_the_next_submission_cleans_up(self):
        job = self.start()
        # Client and ApplicationMaster, which would end the job in order, are stopped meanwhile.
        masters = [job.client.pid, *machine.programs_of(job.id, "tony-am")]
        for pid in masters:
            os.kill(pid, signal.SIGSTOP)
        for name in ("conmon", "podman", "tony-executor"):
            for pid in self.processes(job, name):
                os.kill(pid, signal.SIGKILL)
        for pid in masters:
            os.kill(pid, signal.SIGKILL)
        (left,) = self.engine.containers()
        second = self.submit_in(BASE, "true")
        self.assert_succeeds(second)
        self.assertIn(f"the container {left}, which a lost job had left, is removed",
                      second.errors())


class MemoryTest(ImageTest):
    """The limit of a task's memory."""

    def test_too_much_memory(self):
        # A shell's variable of 300 MB.
        job = self.submit_in(
            BASE, "x=$(printf %0300000000d 0); sleep 600",
            *("--conf", "tony.worker.memory=128m"),
        )
        sentence = self.assert_ends(job, 1)
        self.assertRegex(sentence, r"used more memory than its container has: peak [\d.]+ MiB, "
                                   r"limit 128 MiB \(tony.worker.memory\)")


class RefusalTest(ImageTest):
    """Images and settings with which no container can run, told before anything starts."""

    def test_a_missing_image(self):
        said = self.refusal(("tony.docker.containers.image", "127.0.0.1:1/no/such:1"))
        self.assertIn("this machine has no image 127.0.0.1:1/no/such:1; podman downloads it", said)
        self.assertIn("job.xml:6: tony.docker.containers.image: the image 127.0.0.1:1/no/such:1 "
                      "cannot be downloaded: ", said)
        self.assertIn("connection refused; correct the name, or make the image on this machine",
                      said)

    def test_an_image_for_another_processor(self):
        self.engine.make_image("localhost/arm:1", options=("--arch=arm64",))
        said = self.refusal(("tony.docker.containers.image", BASE),
                            ("tony.docker.worker.image", "localhost/arm:1"))
        self.assertEqual(
            said,
            f"{self.site.folder}/job.xml:7: tony.docker.worker.image: the image localhost/arm:1 is "
            "for linux/arm64, and this machine is linux/amd64; get its variant for this machine "
            "(podman pull --platform=linux/amd64 localhost/arm:1), or build it for this machine\n")

    def test_a_mount_without_a_source(self):
        said = self.refusal(("tony.docker.containers.image", BASE),
                            ("tony.docker.containers.mount", "/no/such:/data:ro"))
        self.assertEqual(
            said,
            f"{self.site.folder}/job.xml:7: tony.docker.containers.mount: there is no /no/such on "
            "this machine; write the absolute path of a folder or file of this machine\n")

    def test_no_engine(self):
        self.site.environment["PATH"] = "/no/such"
        said = self.refusal(("tony.docker.containers.image", BASE))
        self.assertIn("job.xml:5: tony.docker.enabled: neither podman nor docker is in PATH; "
                      "install one of them (apt-get install podman)", said)

    def test_a_docker_without_its_daemon(self):
        # The real client where it is installed; it fails before it looks for an image.
        if not any((pathlib.Path(folder) / "docker").exists()
                   for folder in os.environ["PATH"].split(":")):
            self.skipTest("docker is not installed")
        self.site.environment["DOCKER_HOST"] = f"unix://{self.site.folder}/no.sock"
        job = self.write_job(
            ("tony.worker.instances", 1), ("tony.worker.command", "true"),
            ("tony.docker.enabled", "true"), ("tony.docker.containers.image", BASE),
            ("tony.docker.engine", "docker"), ("tony.worker.memory", "64m"))
        said = self.assert_refused(3, "--conf_file", job)
        self.assertIn("docker: Cannot connect to the Docker daemon", said)
        self.assertIn("start docker (systemctl start docker), or set tony.docker.engine to podman",
                      said)

    def test_an_image_without_a_shell(self):
        self.engine.make_image("localhost/bare:1", podman_engine.files_of("/bin/sleep"))
        self.assert_succeeds(self.submit_in("localhost/bare:1", "sleep 0"))
        sentence = self.assert_ends(self.submit_in("localhost/bare:1", "sleep 0; sleep 0"), 1)
        self.assertIn("its image has neither /bin/bash nor /bin/sh", sentence)

    def test_an_image_with_a_user(self):
        self.engine.make_image("localhost/user:1", podman_engine.files_of(*SHELL),
                               options=("--change", "USER=1234:1234",
                                        "--change", "ENTRYPOINT=/no/such", "--change", "ENV=OWN=x"))
        job = self.submit_in("localhost/user:1", "id -u; echo $OWN; : > file")
        self.assert_succeeds(job)
        self.assertEqual(job.log("worker:0"), f"{os.getuid()}\nx\n".encode(),
                         "the job's user, to whom the files belong; the image's variables")

    def test_gpus_that_podman_does_not_know(self):
        if any(pathlib.Path(folder).exists() for folder in ("/etc/cdi", "/var/run/cdi")):
            self.skipTest("this machine has descriptions of devices")
        said = self.refusal(("tony.docker.containers.image", BASE), ("tony.worker.gpus", 1),
                            ("tony.local.gpus", 1))
        self.assertIn("job.xml:7: tony.worker.gpus: podman does not know this machine's GPUs", said)
        self.assertIn("nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml", said)


class DownloadTest(ImageTest):
    """Images that come from a registry, which is slow here."""

    def setUp(self):
        super().setUp()
        self.engine.run("save", "--format=oci-dir", "--output", self.site.folder / "oci", BASE)
        # The engine would not download a layer that it has.
        self.engine.run("rmi", BASE)
        self.go_on = threading.Event()
        self.registry = self.serve(self.site.folder / "oci", self.go_on)
        (self.engine.folder / "registries.conf").write_text(
            f'[[registry]]\nlocation = "{self.registry}"\ninsecure = true\n')

    def serve(self, folder, go_on):
        """Starts a registry that serves an image, its layer only after `go_on`."""
        index = json.loads((folder / "index.json").read_text())["manifests"][0]
        manifest_name = index["digest"]
        blob = lambda digest: folder / "blobs" / digest.replace(":", "/")
        layer = json.loads(blob(manifest_name).read_text())["layers"][0]["digest"]

        class Handler(http.server.BaseHTTPRequestHandler):
            """The registry's part of the distribution protocol that a pull needs."""

            protocol_version = "HTTP/1.1"

            def do_GET(self):  # pylint: disable=invalid-name
                what = self.path.rsplit("/", 1)[1]
                if what == layer and not go_on.wait(tony_cli.DEADLINE_SECONDS):
                    return
                is_manifest = "/manifests/" in self.path
                data = b"{}"
                if is_manifest or "/blobs/" in self.path:
                    data = blob(manifest_name if is_manifest else what).read_bytes()
                self.send_response(200)
                if is_manifest:
                    self.send_header("Content-Type", index["mediaType"])
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                try:
                    self.wfile.write(data)
                except OSError:
                    pass  # the client was killed

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.addCleanup(go_on.set)
        return f"127.0.0.1:{server.server_address[1]}"

    def test_progress_is_told_and_the_job_runs(self):
        job = self.submit_in(f"{self.registry}/far:1", "cat /etc/image")
        machine.wait_until(lambda: "still downloading" in job.errors(), 30, 0.05)
        self.assertRegex(job.errors(), r"still downloading \S+ after 1\d s; "
                                       r"tony.docker.pull-timeout-ms allows 3600 s")
        self.assertIn("podman: Copying blob", job.errors())
        self.go_on.set()
        self.assert_succeeds(job)
        self.assertEqual(job.log("worker:0"), b"base\n")

    def test_a_download_that_takes_too_long(self):
        said = self.refusal(("tony.docker.containers.image", f"{self.registry}/far:1"),
                            ("tony.docker.pull-timeout-ms", 2000))
        self.assertIn("job.xml:7: tony.docker.pull-timeout-ms: the image "
                      f"{self.registry}/far:1 cannot be downloaded: it was not complete after 2 s; "
                      f"set more time, or run podman pull {self.registry}/far:1 beforehand", said)


if __name__ == "__main__":
    integration_case.main()
