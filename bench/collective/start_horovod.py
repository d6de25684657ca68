"""start_horovod.py RANKS COMMAND…: runs ranks of Horovod on this machine like horovodrun, without its checks."""

import os
import subprocess
import sys

from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
from horovod.runner.gloo_run import create_run_env_vars, create_slot_env_vars
from horovod.runner.http.http_server import RendezvousServer

ranks, *command = sys.argv[1:]
plan = get_host_assignments(parse_hosts(f"localhost:{ranks}"), int(ranks))
server = RendezvousServer()
port = server.start()
server.init(plan)
common = {name: str(value) for name, value in create_run_env_vars("127.0.0.1", ["lo"], port).items()}
processes = [subprocess.Popen(command, env={**os.environ, **common, **create_slot_env_vars(slot)}) for slot in plan]
codes = [process.wait() for process in processes]
sys.stdout.flush()
os._exit(max(abs(code) for code in codes))  # Horovod's server has threads that would keep the process alive
