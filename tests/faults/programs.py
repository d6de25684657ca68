"""The programs of the tasks during a fault: each waits at a gate and then ends."""

import horovod_job

# A line of the gate lets one attempt of a task continue.
_WAIT = "read -r < $GATES/gate-$TASK_INDEX"

# Two that nobody below the program's own session would find: the second has lost the environment by
# which a container's processes are known, too.
_DAEMONS = (
    "(setsid bash -c '(setsid sleep 1000 &) &' &); "
    "(setsid env -i bash -c '(setsid sleep 1000 &) &' &)"
)

PROGRAMS = {
    "waits": _WAIT,
    "daemons": f"{_DAEMONS}; {_WAIT}",
    "closes-output": f"exec >&- 2>&-; {_WAIT}",
    "one-long-line": f"{_WAIT}; [ $TASK_INDEX != $VICTIM ] || head -c 100000000 /dev/zero | tr '\\0' x",
    "ignores-term": f"trap '' TERM; {_WAIT}",
    "kills-all": f"{_WAIT}; if [ $TASK_INDEX$TONY_ATTEMPT = ${{VICTIM}}1 ]; then kill -9 -1 || true; fi",
    "packs": _WAIT,
    # The job is one of Horovod's: its ranks meet before they wait.
    "ranks": f"{horovod_job.WORKER} --hold $GATES/gate-$TASK_INDEX",
    "prints": f"{_WAIT}; head -c 1000000 /dev/zero | tr '\\0' '\\n'",
}
# Settings of the job for its program.
CONF = {"ranks": ("tony.application.framework=horovod", "tony.driver.memory=64m")}
