"""How the steps of a job's protocol are recognised by its events."""

import tony_cli


def _state(name):
    def happened(events):
        return any(event.get("state_changed", {}).get("state") == name for event in events)

    return happened


def _tasks(state, count):
    """Whether `count` tasks that wait at gates have been in a state: a driver does not."""

    def happened(events):
        changes = (event["task_changed"] for event in events if "task_changed" in event)
        seen = {tony_cli.task_name(change["task"]) for change in changes if change["state"] == state}
        return len(seen - {"driver:0"}) >= count

    return happened


def reach(step, job, gates, bystander):
    """Waits until `job` is at `step`.

    `gates` lets its tasks go on; `bystander` is the number of the task that is to end first, where
    one is to have ended.
    """
    if step in ("one-task-ended", "stopping"):
        job.wait_for(_tasks("RUNNING", gates.tasks), "running tasks")
    if step == "one-task-ended":
        gates.open(bystander)
    elif step == "stopping":
        gates.open_all()
    happened = {
        "submitted": bool,
        "allocating": _state("ALLOCATING"),
        "first-launched": _tasks("STARTING", 1),
        "first-registered": _tasks("READY", 1),
        "all-registered": _state("RUNNING"),
        "running": _tasks("RUNNING", gates.tasks),
        "one-task-ended": _tasks("SUCCEEDED", 1),
        "stopping": _state("STOPPING"),
    }[step]
    job.wait_for(happened, f"step {step}")
