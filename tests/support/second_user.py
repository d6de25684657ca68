"""A second user of the machine, who has no file and no credential of the job: the attacker.

Only root can become one; elsewhere tests that need him are skipped with a sentence.
"""

import os
import subprocess
import shutil
import textwrap

# The system's: an interpreter in the home folder of the tests' user is not for others.
PYTHON = shutil.which("python3", path=os.defpath)

# A user whom no account belongs to. Not 65534: in a user namespace everybody else is shown as that.
UID = 54322


def require(test):
    """Skips `test` where this process cannot become another user."""
    if os.geteuid() != 0:
        test.skipTest("only root can become another user of the machine")


def start(command, **options):
    """Starts `command` as the second user; `options` are Popen's. He starts in /."""
    return subprocess.Popen(
        command, user=UID, group=UID, extra_groups=[], cwd="/",
        **{"env": {"PATH": os.environ.get("PATH", os.defpath)}, **options},
    )


def start_python(code, *arguments, **options):
    """Starts Python code, indented as the caller likes, as the second user."""
    return start([PYTHON, "-c", textwrap.dedent(code), *map(str, arguments)], **options)


def run_python(code, *arguments, deadline_seconds=60):
    """Runs Python code as the second user to its end; returns what it printed.

    Fails with CalledProcessError when the code fails: the attack itself is broken.
    """
    with start_python(code, *arguments, stdout=subprocess.PIPE, text=True) as process:
        try:
            said, _ = process.communicate(timeout=deadline_seconds)
        finally:
            process.kill()
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, code, said)
    return said
