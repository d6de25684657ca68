"""A job described in Python, and its configuration keys (docs/configuration.md)."""

import os
from typing import Dict, List, Mapping, Optional, Sequence, Union

Path = Union[str, "os.PathLike[str]"]
Value = Union[str, int, float, bool, Sequence[str]]
Keys = Dict[str, Value]
# What submit() takes: the path of a job file, its keys, or a description.
AnyJob = Union[Path, Mapping[str, Value], "JobSpec"]


def environment_items(env: Optional[Mapping[str, object]]) -> List[str]:
    """Variables as the items of a list key."""
    return [f"{name}={value}" for name, value in (env or {}).items()]


def merge(keys: Keys, more: Optional[Mapping[str, Value]]) -> None:
    """Adds `more` to `keys`: the items of two lists are joined, any other value is replaced."""
    for key, value in (more or {}).items():
        before = keys.get(key)
        if isinstance(before, (list, tuple)) and isinstance(value, (list, tuple)):
            keys[key] = [*before, *value]
        else:
            keys[key] = value


class Type:
    """The tasks of one type, such as the workers: how many, with what, and what they run.

    `more` are further keys of the type, with `_` for `-`: `Type(instances=2, depends_on="prep")` sets
    tony.worker.depends-on if it is given as `worker=`.
    """

    def __init__(self, instances: int = 1, *, memory: Optional[str] = None, vcores: Optional[int] = None,
                 gpus: Optional[int] = None, command: Optional[str] = None,
                 env: Optional[Mapping[str, object]] = None, **more: Value) -> None:
        self.instances = instances
        self.memory = memory
        self.vcores = vcores
        self.gpus = gpus
        self.command = command
        self.env = dict(env or {})
        self.more = more

    def __repr__(self) -> str:
        return f"Type({self.keys('type')!r})"

    def keys(self, name: str) -> Keys:
        """The keys of this type if it has this name."""
        given: Dict[str, Optional[Value]] = {
            "instances": self.instances, "memory": self.memory, "vcores": self.vcores, "gpus": self.gpus,
            "command": self.command, "env": environment_items(self.env) or None,
            **{key.replace("_", "-"): value for key, value in self.more.items()}}
        return {f"tony.{name}.{key}": value for key, value in given.items() if value is not None}


class JobSpec:
    """The description of a job. `types` are its types of tasks: `worker=Type(instances=2), ps=Type()`.

    `conf` are further keys, which win over what the other arguments say.
    """

    def __init__(self, *, command: Optional[str] = None, framework: Optional[str] = None, name: Optional[str] = None,
                 src_dir: Optional[Path] = None, env: Optional[Mapping[str, object]] = None,
                 conf: Optional[Mapping[str, Value]] = None, **types: Type) -> None:
        for type_name, described in types.items():
            if not isinstance(described, Type):
                raise TypeError(f"{type_name}={described!r} is no type of tasks; write "
                                f"{type_name}=tony.Type(instances=…), and other keys of a job into conf={{…}}")
        self.command = command
        self.framework = framework
        self.name = name
        self.src_dir = src_dir
        self.env = dict(env or {})
        self.conf = dict(conf or {})
        self.types = types

    def __repr__(self) -> str:
        return f"JobSpec({self.keys()!r})"

    def keys(self) -> Keys:
        """The job's configuration keys."""
        given: Dict[str, Optional[Value]] = {
            "tony.containers.command": self.command, "tony.application.framework": self.framework,
            "tony.application.name": self.name,
            "tony.application.src-dir": None if self.src_dir is None else os.fspath(self.src_dir),
            "tony.execution.envs": environment_items(self.env) or None}
        keys: Keys = {key: value for key, value in given.items() if value is not None}
        for name, described in self.types.items():
            keys.update(described.keys(name))
        merge(keys, self.conf)
        return keys
