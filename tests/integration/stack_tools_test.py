#!/usr/bin/env python3
"""Stacks that the signal cannot get are read by other tools: by eu-stack of Debian, and py-spy of PyPI."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys

import integration_case
import machine
import stacks_test
import tony_cli

REQUIREMENTS = pathlib.Path(__file__).with_name("stack_tools_requirements.txt")
NO_HANDLER = "python3 -I"
# Deep in the C library, where Python's stack says no more than the name of its function.
SLEEP = '''
import time

def said():
    with open("{said}", "w") as pipe:
        pipe.write("here\\n")

def inner():
    said()
    while True:
        time.sleep(1000)

def outer():
    inner()

outer()
'''


def may_trace():
    """Whether a program may trace another one of the same user that is no child of its."""
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        try:
            tried = subprocess.run(["eu-stack", "-p", str(sleeper.pid)], capture_output=True, check=False,
                                   timeout=tony_cli.DEADLINE_SECONDS)
            # Any other trouble, such as a program that is just starting, is none of the machine's rules.
            return not any(refusal in tried.stderr for refusal in (b"not permitted", b"Permission denied"))
        finally:
            sleeper.kill()


class StackToolsTest(stacks_test.StacksCase):
    """With one tool each on the program's PATH."""

    def path_with(self, *tools):
        """A folder for PATH with Python and these tools alone."""
        folder = self.site.folder / "tools"
        folder.mkdir(exist_ok=True)
        for tool in (shutil.which("python3"), *tools):
            link = folder / pathlib.Path(tool).name
            if not link.exists():
                link.symlink_to(pathlib.Path(tool).resolve())
        return ("--shell_env", f"PATH={folder}")

    def py_spy(self):
        """The path of py-spy."""
        return pathlib.Path(tony_cli.examples_python(REQUIREMENTS)).parent / "py-spy"

    def stacks_by(self, job, tool):
        """The stacks, as soon as the tool was quick enough: it gets 0.4 s."""
        def find():
            text = self.stacks(job)
            return text if f" – by {tool}\n" in text else None
        return machine.wait_until(find, tony_cli.DEADLINE_SECONDS, 0.2) or self.stacks(job)

    def test_a_program_that_is_no_python(self):
        job = self.submit("exec sleep 1000")
        (program,) = job.wait_until_running("worker:0")
        machine.wait_until(lambda: machine.name_of(program) == "sleep" and machine.state_of(program) == "S",
                           tony_cli.DEADLINE_SECONDS)
        text = self.stacks_by(job, "eu-stack")
        self.assertRegex(text, r"worker:0 \(pid \d+ on \S+, sleep\) – by eu-stack\n")
        self.assertRegex(text, r"\n    (clock_)?nanosleep")
        self.assertNotIn("could not be read", text)

        def ways():
            (task,) = self.site.verb("stacks", job.id)["tasks"]
            return [process["way"] for process in task["processes"]]
        self.assertTrue(machine.wait_until(lambda: ways() == ["eu-stack"], tony_cli.DEADLINE_SECONDS, 0.2), ways())
        self.end(job)

    def test_a_python_without_a_handler(self):
        job = self.start(*self.path_with(self.py_spy()), script=SLEEP, python=NO_HANDLER)
        text = self.stacks_by(job, "py-spy")
        self.assertIn(" – by py-spy\n", text)
        # It may still be on its way from where it has said so.
        self.assertRegex(text, r"\n    (said .*\n    )?inner +\S*train\.py:\d+\n    outer +\S*train\.py:\d+\n")
        self.end(job)

    def test_py_spy_comes_before_eu_stack(self):
        job = self.start(*self.path_with(self.py_spy(), shutil.which("eu-stack")), script=SLEEP, python=NO_HANDLER)
        self.assertIn(" – by py-spy\n", self.stacks_by(job, "py-spy"))
        self.end(job)

    def test_a_stopped_python(self):
        job = self.start(*self.path_with(shutil.which("eu-stack")), script=SLEEP)
        (program,) = job.wait_until_running("worker:0")
        os.kill(program, signal.SIGSTOP)
        self.addCleanup(self.go_on, program)
        text = self.stacks_by(job, "eu-stack")
        self.assertIn("it is stopped (SIGSTOP)", text)
        self.assertRegex(text, r" – by eu-stack\n    \w+")
        self.assertIn("\n    _PyEval_EvalFrameDefault\n", text)
        self.assertEqual(machine.state_of(program), "T", "the tool has let it go on")
        self.go_on(program)
        self.end(job)

    @staticmethod
    def go_on(pid):
        """A stopped process runs again, if it is still there."""
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass


if __name__ == "__main__":
    if shutil.which("eu-stack") is None:
        print("eu-stack is missing; scripts/setup --for test installs it")
        sys.exit(77)
    if not may_trace():
        print("no process may read the memory of one that it has not started (/proc/sys/kernel/yama/ptrace_scope)")
        sys.exit(77)
    integration_case.main()
