#!/usr/bin/env python3
"""Programs that fail, hang, ignore signals or print rubbish, and ports that strangers take."""

import json
import os
import pathlib
import shlex
import signal
import socket

import integration_case
from integration_case import JobTest

GRACE_MILLIS = 400
GRACE = ("--conf", f"tony.task.kill-grace-ms={GRACE_MILLIS}")
# Deaf itself, as is the child that it waits for.
IGNORE = "trap '' TERM INT HUP"
DEAF = f"{IGNORE}; sleep 600 & sleep 600"


class BadProgramTest(JobTest):
    """The user's program does not do what it should."""

    def test_command_that_does_not_exist(self):
        job = self.submit("no-such-program --steps 5")
        sentence = self.assert_ends(job, 1, "TASK_FAILED")
        self.assertEqual(sentence, "worker:0 exited with code 127: the command was not found")
        self.assertIn("no-such-program: command not found", job.verdict["exit"]["tail"][-1])

    def test_command_that_is_no_program(self):
        program = self.site.folder / "src"
        program.mkdir()
        (program / "data").mkdir()
        sentence = self.assert_ends(self.submit("./data", "--src_dir=src"), 1, "TASK_FAILED")
        self.assertEqual(sentence, "worker:0 exited with code 126: the command is not executable")

    def test_command_whose_interpreter_does_not_exist(self):
        program = self.site.folder / "src"
        program.mkdir()
        (program / "tool").write_text("#!/no/such/python\n")
        job = self.submit("./tool --steps 5", "--src_dir=src")
        sentence = self.assert_ends(job, 1, "TASK_FAILED")
        self.assertEqual(sentence, "worker:0 exited with code 127: the command was not found")
        self.assertIn("./tool: cannot execute: required file", job.verdict["exit"]["tail"][-1])

    def test_end_at_once(self):
        self.assert_succeeds(self.submit("exit 0", workers=4))
        sentence = self.assert_ends(self.submit("exit 3"), 1, "TASK_FAILED")
        self.assertEqual(sentence, "worker:0 exited with code 3")
        sentence = self.assert_ends(self.submit("kill -SEGV $$"), 1, "TASK_FAILED")
        self.assertEqual(sentence, "worker:0 was killed by signal 11 (SIGSEGV)")

    def assert_grace_was_kept(self, job):
        """The stop took the grace and not much more."""
        stopping, ended = (
            int(event["unix_millis"])
            for event in job.raw_events("state_changed")
            if event["state_changed"]["state"] in ("STOPPING", "ENDED")
        )
        self.assertGreaterEqual(ended - stopping, GRACE_MILLIS - 50)
        self.assertLess(ended - stopping, GRACE_MILLIS + 5000)

    def test_deaf_program_is_killed_after_the_grace(self):
        ready = self.pipe("ready")
        gate = self.pipe("gate")
        job = self.submit(
            f"if [ $TASK_INDEX = 0 ]; then read < {gate.path}; exit 7; fi; "
            f"{IGNORE}; echo ready > {ready.path}; {DEAF}",
            *GRACE,
            workers=2,
        )
        ready.read()
        gate.write()
        self.assertEqual(self.assert_ends(job, 1, "TASK_FAILED"), "worker:0 exited with code 7")
        self.assert_grace_was_kept(job)

    def test_what_the_program_leaves_behind_is_ended(self):
        ready = self.pipe("ready")
        job = self.submit(
            f'(setsid bash -c "{DEAF}" < /dev/null & echo ready > {ready.path}) ', *GRACE
        )
        self.assertEqual(ready.read(), "ready")
        self.assert_succeeds(job)

    def test_program_that_ran_too_long(self):
        job = self.submit(DEAF, *GRACE, "--conf", "tony.task.executor.execution-timeout-ms=100")
        sentence = self.assert_ends(job, 3, "TASK_TIMED_OUT")
        self.assertIn("tony.task.executor.execution-timeout-ms", sentence)

    def test_program_that_never_listens(self):
        program = self.site.folder / "src"
        program.mkdir()
        (program / "connect.py").write_text(
            "import json, os, socket\n"
            "host, port = json.loads(os.environ['CLUSTER_SPEC'])['worker'][1].split(':')\n"
            "try:\n"
            "    socket.create_connection((host, int(port)), 30)\n"
            "except ConnectionRefusedError:\n"
            "    print('refused at once')\n"
        )
        job = self.submit(
            "if [ $TASK_INDEX = 0 ]; then python3 -B connect.py; else sleep 600; fi",
            "--src_dir=src",
            workers=2,
        )
        job.wait_for_task("worker:0", "SUCCEEDED")
        self.assertEqual(job.log("worker:0"), b"refused at once\n")
        job.client.send_signal(signal.SIGINT)
        self.assert_ends(job, 4, "KILLED_BY_USER")

    def test_stranger_on_the_port_is_named(self):
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            with self.subTest(option=option), socket.socket() as stranger:
                self.assert_named(stranger, option)

    def assert_named(self, stranger, option):
        """A job fails while `stranger` listens on its port, says that this process does, and gets
        another port."""
        ports = self.pipe(f"ports-{option}")
        gate = self.pipe(f"gate-{option}")
        first_port = r"rest=${TF_CONFIG#*127.0.0.1:}; echo ${rest%%\"*}"
        job = self.submit(
            f"[ $TONY_EPOCH = 1 ] && exit; {first_port} > {ports.path}; read < {gate.path}; exit 1"
        )
        port = int(ports.read())
        stranger.setsockopt(socket.SOL_SOCKET, option, 1)
        stranger.bind(("127.0.0.1", port))
        stranger.listen()
        gate.write()
        name = pathlib.Path("/proc/self/comm").read_text().strip()
        self.assert_succeeds(job)
        (opened,) = job.events("epoch_opened")
        self.assertEqual(
            opened["cause"],
            "worker:0 exited with code 1; its reserved port was taken by "
            f"pid {os.getpid()} ({name}) of user {os.getuid()} (port {port})",
        )
        (note,) = job.events("note")
        self.assertIn(f"The reserved port {port} of worker:0", note["sentence"])


class OddBytesTest(JobTest):
    """Bytes that are no text, and text that means something to a shell or to XML."""

    def test_output_that_is_not_utf8(self):
        raw = b"caf\xe9 \xff\xfe \x1b[31mred\x00\n"
        program = self.site.folder / "src"
        program.mkdir()
        (program / "bytes").write_bytes(raw)
        job = self.submit("cat bytes; cat bytes >&2; exit 1", "--src_dir=src")
        self.assert_ends(job, 1, "TASK_FAILED")
        self.assertEqual(job.log("worker:0"), raw)
        self.assertEqual(job.log("worker:0", "stderr"), raw)
        self.assertEqual(len(job.verdict["exit"]["tail"]), 2)
        for line in job.verdict["exit"]["tail"]:
            self.assertTrue(line.startswith("caf\ufffd \ufffd\ufffd "), line)
        self.assertEqual(
            self.site.verb("status")["verdict"]["exit"]["tail"], job.verdict["exit"]["tail"]
        )
        logs = self.site.run("tony", "logs", "--json", "--stdout")
        self.assertIn("caf\ufffd", json.loads(logs.stdout)["line"])

    def test_names_and_values_with_everything_in_them(self):
        odd = "a b'c\"d$HOME`e`\\f,g;h&i<j>k%l*m?n=o\u00e9p#q::r\nnew\ttab"
        self.site.local_dir = self.site.folder / f"local {odd}"
        program = self.site.folder / f"program {odd}"
        program.mkdir()
        file_name = f"file {odd}.py"
        (program / file_name).write_text(
            "import json, os, sys\n"
            "print(json.dumps([sys.argv[1:], os.environ['ODD'], os.environ['FROM_CONTAINER'],\n"
            "                  sorted(os.listdir())]))\n"
        )
        job = self.submit(
            f"python3 -B {shlex.quote(file_name)}",
            *("--task_params", f"--odd {shlex.quote(odd)} '' last"),
            *("--shell_env", f"ODD={odd}", "--container_env", f"FROM_CONTAINER={odd}"),
            *("--src_dir", str(program)),
        )
        self.assert_succeeds(job)
        self.assertEqual(
            json.loads(job.log("worker:0")), [["--odd", odd, "", "last"], odd, odd, [file_name]]
        )

    def test_line_ends_of_other_systems_are_kept(self):
        odd = "one\r\ntwo\rthree\u2028four"
        job = self.submit('printf %s "$ODD"', "--shell_env", f"ODD={odd}")
        self.assert_succeeds(job)
        self.assertEqual(job.log("worker:0").decode(), odd)


if __name__ == "__main__":
    integration_case.main()
