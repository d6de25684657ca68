"""The file system in which paths without a scheme are."""

import os
import xml.etree.ElementTree
from typing import Any, Optional

LOCAL = "file://"
_KEY = "fs.defaultFS"


def default_fs(sc: Any) -> str:
    """Spark's or Hadoop's default file system, without a slash at its end; LOCAL without either."""
    if sc is not None:
        # pylint: disable-next=protected-access  # Spark has no other way to Hadoop's configuration
        found = str(sc._jsc.hadoopConfiguration().get(_KEY) or LOCAL)
    else:
        found = _of_hadoop(os.environ.get("HADOOP_CONF_DIR"))
    return LOCAL if found.startswith("file:") else found.rstrip("/")


def _of_hadoop(folder: Optional[str]) -> str:
    file = os.path.join(folder or "", "core-site.xml")
    if not folder or not os.path.exists(file):
        return LOCAL
    for entry in xml.etree.ElementTree.parse(file).getroot().iter("property"):
        if entry.findtext("name", "").strip() == _KEY:
            return entry.findtext("value", "").strip() or LOCAL
    return LOCAL
