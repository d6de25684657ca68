"""The faults of a job, at each step of its protocol, and the expected outcomes."""

import dataclasses

# The steps of a job with several tasks, in their order; steps.py tells how each is recognised.
STEPS = (
    "starting",
    "submitted",
    "allocating",
    "first-launched",
    "first-registered",
    "all-registered",
    "running",
    "one-task-ended",
    "stopping",
)

# One line for each fault; `a..b` is a line for each step from a to b, and where several outcomes are
# right they are divided by "/".
#
# target      whose process: client, am, am-keeper (of a detached job, as is detached-am), executor,
#             executor-tree (with keeper and program), ended-executor (of the task that has ended), keeper, program, fork-server,
#             driver (of a Horovod job: the program tony-driver), everything; several with "+"; or what else is taken away
# what        faults.py has them
# program     what the tasks run: programs.py has them
# user infra  the two budgets of restarts
# state       as `tony status` says; "-" for no job at all
# guilty      "it": the task whose processes were the target
# exit        of tony-submit; -9: it was killed
# restarts    epochs after the first
# outlives    ways of containment under which processes of the program may outlive the job
TABLE = """
# target          what            program         at                            user infra | state               reason                       guilty exit  restarts outlives

client            kill            waits           starting                      0    0     | KILLED/LOST/-       CLIENT_GONE/-                -      -9    0        -
client            kill            waits           submitted..one-task-ended     0    0     | KILLED              CLIENT_GONE                  -      -9    0        -
client            kill            waits           stopping                      0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      -9/0  0        -
client            stop            waits           submitted..stopping           0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
client            interrupt       waits           submitted..one-task-ended     0    0     | KILLED              KILLED_BY_USER               -      4     0        -

am                kill            waits           submitted..stopping           0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
am                stop            waits           submitted..stopping           0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
am                stop-and-kill   waits           submitted..stopping           0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
am                kill-twice      waits           submitted..one-task-ended     0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
am                terminate       waits           submitted..one-task-ended     0    0     | KILLED              MASTER_STOPPED               -      4     0        -
am                kill-for-good   waits           running                       0    0     | LOST                -                            -      3     0        -

detached-am       kill            waits           submitted..stopping           0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
detached-am       stop            waits           submitted..stopping           0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
detached-am       kill-twice      waits           submitted..one-task-ended     0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
am-keeper         kill            waits           submitted..stopping           0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
am-keeper         stop            waits           submitted..stopping           0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
am-keeper+detached-am  kill       waits           running                       0    0     | LOST                -                            -      0     0        -

executor          kill            waits           first-launched                0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
executor          kill            waits           first-registered              0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
executor          kill            waits           all-registered..one-task-ended 0   1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
executor          kill            waits           first-launched..one-task-ended 1   0     | FAILED              TASK_LOST                    it     3     0        -
executor          kill            waits           stopping                      0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
executor          kill-again      waits           running                       0    2     | SUCCEEDED           TASKS_SUCCEEDED              -      0     2        -
executor          kill-again      waits           running                       0    1     | FAILED              TASK_LOST                    it     3     1        -
executor          stop            waits           first-launched..stopping      0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
executor          stop-for-good   waits           running                       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
executor          stop-for-good   waits           running                       1    0     | FAILED              HEARTBEAT_LOST               it     3     0        -
executor          terminate       waits           running                       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
executor          wake-late       waits           all-registered..running       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
executor-tree     wake-late       waits           all-registered..running       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
executor-tree     wake-late       daemons         running                       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
executor-tree     wake-late       ignores-term    running                       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
ended-executor    kill            waits           one-task-ended                0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
fork-server       kill            waits           submitted..stopping           0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
fork-server       stop            waits           submitted..stopping           0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
fork-server+executor kill         waits           running                       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -

keeper            kill            waits           all-registered..one-task-ended 0   1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
keeper            kill            waits           running                       1    0     | FAILED              TASK_LOST                    it     3     0        -
keeper            stop            waits           all-registered..stopping      0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -

program           kill            waits           running..one-task-ended       1    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
program           kill            waits           running..one-task-ended       0    1     | FAILED              TASK_FAILED                  it     1     0        -
program           kill-again      waits           running                       1    0     | FAILED              TASK_FAILED                  it     1     1        -
program           stop            waits           running..one-task-ended       0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
program           terminate       waits           running                       0    1     | FAILED              TASK_FAILED                  it     1     0        -

driver            kill            ranks           all-registered..running       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
driver            kill            ranks           all-registered..running       1    0     | FAILED              TASK_LOST                    it     3     0        -
driver            stop            ranks           all-registered..running       0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
driver+am         kill            ranks           running                       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -

am+executor       kill            waits           running                       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
am+executor       kill            waits           running                       1    0     | FAILED              TASK_LOST                    it     3     0        -
am+executor       kill            waits           first-registered              0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0/1      -
am+executor+keeper kill           waits           running                       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
am+program        kill            waits           running                       1    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
am+program        kill            waits           running                       0    1     | FAILED              TASK_FAILED                  it     1     0        -
client+am         kill            waits           running                       0    0     | LOST                -                            -      -9    0        -
everything        kill            waits           submitted..stopping           0    0     | LOST/SUCCEEDED      -/TASKS_SUCCEEDED            -      -9/0  0        -

program           nothing         daemons         running                       0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
program           kill            daemons         running                       1    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
client            kill            daemons         running                       0    0     | KILLED              CLIENT_GONE                  -      -9    0        -
am                kill            daemons         running                       0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
executor          kill            daemons         running                       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
keeper            kill            daemons         running                       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
executor+keeper   kill            daemons         running                       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
client+am         kill            daemons         running                       0    0     | LOST                -                            -      -9    0        -
everything        kill            daemons         running                       0    0     | LOST                -                            -      -9    0        cgroup/process-tree
program           nothing         closes-output   running                       0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
program           nothing         one-long-line   running                       0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
client            interrupt       ignores-term    running                       0    0     | KILLED              KILLED_BY_USER               -      4     0        -
client            kill            ignores-term    running                       0    0     | KILLED              CLIENT_GONE                  -      -9    0        -
executor          kill            ignores-term    running                       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     1        -
program           nothing         kills-all       running                       0    1     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0/1      -

disk              full            packs           starting                      0    0     | -                   -                            -      3     0        -
disk              full            prints          running..one-task-ended       0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
disk              full-for-a-while prints         running                       0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
descriptors       few             waits           starting                      0    0     | SUCCEEDED/FAILED/LOST/- TASKS_SUCCEEDED/TASK_LOST/BACKEND_FAILED/- -/it/other 0/3 0 -
neighbour         nothing         waits           running                       0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
neighbour+am      kill            waits           running                       0    0     | SUCCEEDED           TASKS_SUCCEEDED              -      0     0        -
neighbour+client  kill            waits           running                       0    0     | KILLED              CLIENT_GONE                  -      -9    0        -
neighbour+everything kill         waits           running                       0    0     | LOST                -                            -      -9    0        -
"""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a job ended. What a row expects has a tuple of alternatives in each place."""

    state: object
    reason: object
    guilty: object
    exit: object
    restarts: object

    def within(self, expected):
        """Whether this is what `expected` allows."""
        return all(
            value in alternatives
            for value, alternatives in zip(dataclasses.astuple(self), dataclasses.astuple(expected))
        )

    def __str__(self):
        return " ".join(
            "/".join(value) if isinstance(value, tuple) else value
            for value in dataclasses.astuple(self)
        )


@dataclasses.dataclass(frozen=True)
class Row:
    """One fault. Immutable."""

    target: str
    what: str
    program: str
    step: str
    user_budget: int
    infrastructure_budget: int
    expected: Outcome
    outlives: tuple

    @property
    def targets(self):
        """The names in `target`."""
        return self.target.split("+")

    @property
    def name(self):
        """Unique in the table."""
        budgets = f"user{self.user_budget}-infra{self.infrastructure_budget}"
        return f"{self.target}.{self.what}.{self.program}.{self.step}.{budgets}"


def _steps(text):
    first, _, last = text.partition("..")
    return STEPS[STEPS.index(first) : STEPS.index(last or first) + 1]


def parse(text):
    """The rows of a table in the form above."""
    rows = []
    for line in text.splitlines():
        words = line.partition("#")[0].replace("|", " ").split()
        if not words:
            continue
        target, what, program, steps, user, infrastructure, *expected, outlives = words
        for step in _steps(steps):
            rows.append(
                Row(
                    *(target, what, program, step, int(user), int(infrastructure)),
                    Outcome(*(tuple(word.split("/")) for word in expected)),
                    tuple(outlives.split("/")),
                )
            )
    return rows


ROWS = parse(TABLE)
