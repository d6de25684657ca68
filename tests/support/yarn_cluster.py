"""A real Hadoop cluster of scripts/yarn-cluster, for tests."""

import getpass
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "yarn-cluster"
PATIENCE_SECONDS = 180  # for a server of Java's to start
SKIPPED = 77  # what a test exits with that cannot run here


def skip_without(*tools):
    """Exits where Hadoop, or one of `tools`, cannot run."""
    java = os.environ.get("JAVA_HOME", "/usr/lib/jvm/java-17-openjdk-amd64") + "/bin/java"
    missing = [tool for tool in (java, "mvn", "curl", *tools)
               if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin")]
    if missing:
        print(f"skipped: Hadoop cannot run without {', '.join(missing)}; "
              "scripts/setup installs them")
        sys.exit(SKIPPED)


def read_json(url):
    """The JSON answer of a web server."""
    with urllib.request.urlopen(url, timeout=60) as response:
        return json.loads(response.read())


def log_in(user, environment, *options):
    """Gets a ticket for a user of a cluster with Kerberos; `options` are kinit's."""
    keytab = f"{environment['KEYTABS']}/{user}.keytab"
    subprocess.run(["kinit", *options, "-kt", keytab, user], env=environment, check=True,
                   timeout=PATIENCE_SECONDS)


class YarnCluster:
    """Runs from its making to stop(); `options` are those of the script's start."""

    def __init__(self, *options):
        # Short, because Hadoop makes long paths of it.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tony-yarn-"))
        try:
            self.run_script("start", "--offset", "auto", *options, self.folder)
            script = f'source "{self.folder}/env.sh" && env -0'
            text = subprocess.run(["bash", "-c", script], check=True, capture_output=True,
                                  text=True).stdout
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self.environment = dict(item.split("=", 1) for item in text.split("\0") if item)

    def stop(self):
        try:
            self.run_script("stop", self.folder)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def run_script(self, *arguments):
        """One of the script's commands."""
        command = [SCRIPT, *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if result.returncode != 0:
            raise AssertionError(f"{arguments[0]}: {result.stdout}{result.stderr}")

    def kill(self, daemon):
        self.run_script("kill", daemon, self.folder)

    def launch(self, daemon):
        self.run_script("launch", daemon, self.folder)

    def start_again(self, node):
        """Kills a NodeManager of distinct hosts, and waits until the next one has registered."""
        host = f"127.0.0.{10 + int(node.removeprefix('nodemanager'))}"

        def first_seen():
            """The time at which this NodeManager first checked its own health."""
            nodes = self.ask("nodes")["nodes"]["node"]
            return [node["lastHealthUpdate"] for node in nodes if node["nodeHostName"] == host]
        before = first_seen()
        self.kill(node)
        self.launch(node)
        self._wait_for(lambda: first_seen() != before, f"{node} does not register")

    def node_of(self, pid):
        """The NodeManager, as the script calls it, that started a container's process."""
        folders = machine.variable_of(pid, "LOCAL_DIRS", PATIENCE_SECONDS)
        number = re.search(r"/data/node(\d+)/", folders).group(1)
        return f"nodemanager{number}"

    def web_hdfs(self, method, path, operation, user=None, **parameters):
        """The NameNode's answer to `user`, whom it believes; not with Kerberos."""
        text = self.ask_web_hdfs(method, path, operation, user, **parameters)
        return json.loads(text) if text else None

    def ask_web_hdfs(self, method, path, operation, user=None, **parameters):
        """The bytes that the NameNode, or the DataNode that it names, answers."""
        query = urllib.parse.urlencode(
            {"op": operation, "user.name": user or getpass.getuser(), **parameters})
        request = urllib.request.Request(
            f"http://{self.environment['NAMENODE_WEB']}/webhdfs/v1{path}?{query}", method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.read()

    def list_hdfs(self, folder, user):
        """The names of what is in a folder there, as `user` sees it: not with Kerberos."""
        try:
            answer = self.web_hdfs("GET", folder, "LISTSTATUS", user)
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return []
        return [status["pathSuffix"] for status in answer["FileStatuses"]["FileStatus"]]

    def read_hdfs(self, path, user):
        """The bytes of a file there, as `user` sees it: not with Kerberos."""
        return self.ask_web_hdfs("GET", path, "OPEN", user)

    def write_hdfs(self, path, user, data):
        """Makes a file there, with its folders: not with Kerberos."""
        query = urllib.parse.urlencode({"op": "CREATE", "user.name": user, "overwrite": "true",
                                        "noredirect": "true"})
        web = f"http://{self.environment['NAMENODE_WEB']}/webhdfs/v1{path}"
        with urllib.request.urlopen(
                urllib.request.Request(f"{web}?{query}", method="PUT"), timeout=60) as answer:
            place = json.loads(answer.read())["Location"]
        urllib.request.urlopen(
            urllib.request.Request(place, method="PUT", data=data), timeout=60).close()

    def wait_for_hdfs(self, state):
        """Until the NameNode is in "safe mode", or "operational" again."""
        url = (f"http://{self.environment['NAMENODE_WEB']}/jmx"
               "?qry=Hadoop:service=NameNode,name=NameNodeInfo")

        def reached():
            beans = read_json(url).get("beans")
            return beans and bool(beans[0]["Safemode"]) == (state == "safe mode")
        self._wait_for(reached, f"HDFS is not {state}")

    def wait_for_nodes(self, count):
        """Until the ResourceManager has so many."""
        self._wait_for(
            lambda: self.ask("metrics")["clusterMetrics"]["activeNodes"] == count,
            f"there are not {count} nodes")

    @staticmethod
    def _wait_for(reached, complaint):
        """Waits until it is reached; the server may still be starting."""
        def looked():
            try:
                return reached()
            except OSError:
                return False
        if not machine.wait_until(looked, PATIENCE_SECONDS, pause_seconds=0.1):
            raise AssertionError(complaint)

    def logs(self, pattern):
        """Files of containers, "container_…/NAME", on all nodes."""
        return list(self.folder.glob(f"data/node*/log*/*/{pattern}"))

    def ask(self, path, body=None, user="bob", method=None):
        """The ResourceManager's answer to a request of `user`, whom it believes; not with Kerberos."""
        separator = "&" if "?" in path else "?"
        request = urllib.request.Request(
            f"http://{self.environment['RM_WEB']}/ws/v1/cluster/{path}{separator}user.name={user}",
            data=None if body is None else json.dumps(body).encode(), method=method,
            headers={"Content-Type": "application/json", "Accept": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            text = response.read()
        return json.loads(text) if text else None
