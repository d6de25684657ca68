#!/usr/bin/env python3
"""What we make of placement constraints is what Hadoop makes of them.

    placement_test.py COMPARE_CONSTRAINTS

Exits with 77 where there is no Java or no Maven to get Hadoop's jars with.
"""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
import yarn_cluster  # noqa: E402

CONSTRAINTS = [
    "notin,node,worker",
    "in,rack,a,b",
    "IN, Node , a",
    "cardinality,node,a,1,3",
    "cardinality,rack,a,b,0,2",
    "notin,node,all/a,not-self/b,self/c",
    "java=1.8,1.9",
    "rm.yarn.io/spot!=true",
    "and(notin,node,a:in,rack,b)",
    "or(and(java=8:notin,node,a):cardinality,node,b,1,2:AND(in,node,c))",
]


def main():
    yarn_cluster.skip_without()
    java = os.environ.get("JAVA_HOME", "/usr/lib/jvm/java-17-openjdk-amd64") + "/bin/java"
    jars = subprocess.run([yarn_cluster.SCRIPT, "fetch"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()
    messages = subprocess.run(
        [java, "-XX:TieredStopAtLevel=1", "-cp", jars + "/lib/*", HERE / "PrintConstraints.java",
         *CONSTRAINTS], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    if len(messages) != len(CONSTRAINTS):
        sys.exit(f"{len(messages)} messages for {len(CONSTRAINTS)} constraints")
    pairs = [word for pair in zip(CONSTRAINTS, messages) for word in pair]
    sys.exit(subprocess.run([sys.argv[1], *pairs]).returncode)


if __name__ == "__main__":
    main()
