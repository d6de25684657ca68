"""Which node has which role. Pure functions; the rules are TensorFlowOnSpark's."""

from typing import Dict, List, NamedTuple, Optional, Tuple

PS, EVALUATOR, WORKER = "ps", "evaluator", "worker"
MASTERS = ("chief", "master")
# Types whose tasks the job does not wait for: they serve until the others have ended.
SERVING = (PS, EVALUATOR)


class Node(NamedTuple):
    """A node of a cluster."""

    number: int  # among all nodes, from 0: TensorFlowOnSpark's executor_id
    role: str
    task_index: int  # among the nodes of its role, from 0

    @property
    def task(self) -> str:
        """The node's name as a task, such as worker:1."""
        return f"{self.role}:{self.task_index}"


def count_roles(num_executors: int, num_ps: int = 0, master_node: Optional[str] = None,
                eval_node: bool = False) -> Dict[str, int]:
    """How many nodes have each role: first parameter servers, then the chief, then the evaluator; the rest are workers.

    Raises ValueError for numbers that do not fit together.
    """
    if num_executors < 1:
        raise ValueError(f"num_executors={num_executors}: a cluster has one node or more")
    if num_ps < 0:
        raise ValueError(f"num_ps={num_ps} is negative")
    if master_node is not None and master_node not in MASTERS:
        raise ValueError(f"master_node={master_node!r}: TensorFlow knows the names {' and '.join(MASTERS)}")
    given: List[Tuple[str, int]] = [(PS, num_ps)]
    if master_node is not None:
        given.append((master_node, 1))
    given.append((EVALUATOR, 1 if eval_node else 0))
    used = sum(count for _, count in given)
    if used > num_executors:
        parts = ", ".join(f"{count} {role}" for role, count in given if count)
        raise ValueError(f"num_executors={num_executors} are too few nodes for {parts}; give {used} or more")
    given.append((WORKER, num_executors - used))
    roles = {role: count for role, count in given if count}
    if not any(role not in SERVING for role in roles):
        raise ValueError(f"all num_executors={num_executors} nodes would be ps or evaluator, and none would train; "
                         "give num_executors more nodes")
    return roles


def nodes_of(roles: Dict[str, int]) -> List[Node]:
    """The nodes in the order of their numbers."""
    nodes: List[Node] = []
    for role, count in roles.items():
        nodes += [Node(len(nodes) + index, role, index) for index in range(count)]
    return nodes


def trained_by(nodes: List[Node]) -> List[Node]:
    """The nodes that train: all but parameter servers and evaluators. They are fed, and the job ends with them."""
    return [node for node in nodes if node.role not in SERVING]
