"""Independent instances of a program, started together: each on one node, and none knows of the others."""
# pylint: disable=invalid-name  # TensorFlowOnSpark's names

from typing import Any, Callable, List, Mapping, Optional

from ..spec import Value
from . import _place, _roles
from .TFCluster import start_nodes


def run(sc: Any, map_fn: Callable[..., Any], tf_args: Any, num_executors: int, use_barrier: bool = True, *,
        place: str = _place.AUTO, job: Optional[Mapping[str, Value]] = None) -> List[Any]:
    """Runs map_fn(tf_args, ctx) in `num_executors` instances; returns what each returned, by ctx.worker_num.

    On other hosts than this one the list is empty. use_barrier: without effect, as all instances begin together.
    sc, place and job: as for TFCluster.run(). Raises what an instance raises.
    """
    del use_barrier
    nodes = start_nodes(sc, map_fn, tf_args, _roles.count_roles(num_executors), place, job or {}, {}, alone=True)
    try:
        nodes.await_end()
    except BaseException:
        nodes.job.ask_to_stop()
        raise
    return nodes.values()
