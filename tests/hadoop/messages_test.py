#!/usr/bin/env python3
"""Our subset of Hadoop's messages agrees with the descriptors inside of Hadoop's jars.

    messages_test.py COMPARE_MESSAGES

Exits with 77 where there is no Java or no Maven to get the jars with.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
YARN = "org.apache.hadoop.yarn.proto."
RPC = "org.apache.hadoop.ipc.protobuf."
CLASSES = [
    YARN + "YarnServiceProtos",
    YARN + "YarnSecurityTokenProtos",
    RPC + "RpcHeaderProtos",
    RPC + "IpcConnectionContextProtos",
    RPC + "ProtobufRpcEngine2Protos",
]


def main():
    java = os.environ.get("JAVA_HOME", "/usr/lib/jvm/java-17-openjdk-amd64") + "/bin/java"
    missing = [tool for tool in (java, "mvn") if not shutil.which(tool)]
    if missing:
        print(f"skipped: Hadoop's jars cannot be read without {', '.join(missing)}; "
              "scripts/setup installs them")
        sys.exit(SKIPPED)
    script = HERE.parents[1] / "scripts" / "yarn-cluster"
    jars = subprocess.run([script, "fetch"], check=True, stdout=subprocess.PIPE, text=True)
    with tempfile.TemporaryDirectory() as folder:
        descriptors = pathlib.Path(folder) / "hadoop.desc"
        subprocess.run([java, "-XX:TieredStopAtLevel=1", "-cp", jars.stdout.strip() + "/lib/*",
                        HERE / "DumpDescriptors.java", descriptors, *CLASSES], check=True)
        sys.exit(subprocess.run([sys.argv[1], descriptors]).returncode)


if __name__ == "__main__":
    main()
