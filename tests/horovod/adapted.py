"""A temporary copy of Horovod's tests and examples, in which only the import is another."""

import os
import pathlib
import re
import shutil
import sys
from importlib import metadata

# The modules that Horovod's users import. The others, from which the tests import helpers, stay
# Horovod's own; the copy has those files.
_IMPORT = re.compile(r"^(\s*(?:import|from)\s+)horovod\.(torch|tensorflow|keras)\b", re.MULTILINE)
# Examples for TensorFlow 1 run with what TensorFlow 2 has of it.
_TENSORFLOW = re.compile(r"^import tensorflow as tf$", re.MULTILINE)
_TENSORFLOW_1 = "import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()"
_PACKAGE = re.compile(r"^(\s*import\s+)horovod$", re.MULTILINE)


class SourceError(Exception):
    """The folder is no checkout of Horovod's repository."""


def copy(checkout, folder, unchanged=False):
    """Copies ``checkout``'s tests and examples to ``folder``. ``unchanged``: with Horovod's imports.

    Returns: Horovod's version. SourceError.
    """
    checkout, folder = pathlib.Path(checkout), pathlib.Path(folder)
    init = checkout / "horovod" / "__init__.py"
    for needed in (checkout / "test" / "parallel", checkout / "examples" / "pytorch", init):
        if not needed.exists():
            raise SourceError(f"{checkout} is no checkout of Horovod's repository: it has no "
                              f"{needed.relative_to(checkout)}; git clone --branch v0.28.1 makes one")
    for name in ("test", "examples"):
        shutil.copytree(checkout / name, folder / name)
    for path in (folder / "examples" / "tensorflow").glob("*.py"):
        path.write_text(_TENSORFLOW.sub(_TENSORFLOW_1, path.read_text(encoding="utf-8")), encoding="utf-8")
    if not unchanged:
        for path in [*(folder / "test").rglob("*.py"), *(folder / "examples").rglob("*.py")]:
            text = _IMPORT.sub(r"\1tony.collective.\2", path.read_text(encoding="utf-8"))
            path.write_text(_PACKAGE.sub(r"\1tony.collective as horovod", text), encoding="utf-8")
        for name in ("runner", "common"):
            shutil.copytree(checkout / "horovod" / name, folder / "horovod" / name,
                            ignore=lambda at, names: [each for each in names if not each.endswith(".py")
                                                      and not os.path.isdir(os.path.join(at, each))])
        shutil.copy(init, folder / "horovod")
    version = re.search(r"__version__ *= *['\"]([^'\"]+)", init.read_text(encoding="utf-8"))
    return version[1] if version else "of an unknown version"


def environment(folder, **more):
    """Variables for what runs in the copy: with this process's modules, and without what would make a rank of it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOROVOD_", "TONY_"))}
    path = [str(folder), str(pathlib.Path(__file__).resolve().parent), os.environ.get("PYTHONPATH", "")]
    return {**kept, "PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
            "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", **more}


def versions():
    """What is tested, by name: of what can be imported."""
    found = {"Python": ".".join(map(str, sys.version_info[:3]))}
    for name in ("torch", "tensorflow", "tensorflow-cpu", "numpy"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
