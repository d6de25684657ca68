#!/usr/bin/env python3
"""What another user of the machine can do to a Horovod job: neither read its secrets nor hold it up."""

import subprocess

import integration_case
import horovod_job
import machine
import second_user
import tony_cli
from horovod_case import HorovodTest

# Looks where a worker listens for its driver and by which secret it knows it, and has the worker
# unpickle a command. Says what the store has answered, and whether there was a secret.
ATTACK = """
    import base64, hashlib, hmac, os, pickle, socket, struct, sys
    port, key, marker = int(sys.argv[1]), sys.argv[2], sys.argv[3]

    def ask(request):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            answer = b""
            try:
                connection.sendall(request)
                while more := connection.recv(4096):
                    answer += more
            except ConnectionError:
                pass
            return answer

    class Command:
        def __reduce__(self):
            return os.mkdir, (marker,)

    print(ask(b"PUT /runfunc/func HTTP/1.1\\r\\nContent-Length: 4\\r\\n\\r\\nevil"))
    answer = ask(f"GET /worker_addresses/{key} HTTP/1.1\\r\\n\\r\\n".encode())
    print(answer.partition(b"\\r\\n")[0])
    value = answer.partition(b"\\r\\n\\r\\n")[2]
    if not value:
        sys.exit()
    interfaces, secret = pickle.loads(base64.b64decode(value))
    command = pickle.dumps(Command())
    for (address,) in interfaces.values():
        with socket.create_connection(address, timeout=60) as worker:
            digest = hmac.new(secret, command, hashlib.sha256).digest()
            worker.sendall(struct.pack("=32si", digest, len(command)) + command)
            worker.recv(1)
            print("a command was sent")
"""
# As many requests that have no end as there are connections, until the input's end.
FLOOD = """
    import resource, socket, sys
    port, count = map(int, sys.argv[1:])
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    connections = []
    for _ in range(count):
        connections.append(socket.create_connection(("127.0.0.1", port), timeout=60))
        try:
            connections[-1].sendall(b"GET /rank_and_size/x:0 HTTP/1.1\\r\\n\\r\\n")
        except ConnectionError:
            pass
    print("all are there", flush=True)
    sys.stdin.read()
"""
CONNECTIONS = 5000


class StrangersTest(HorovodTest):
    """An elastic job of three, of which two are enough."""

    def start(self, worker=horovod_job.ELASTIC_WORKER):
        second_user.require(self)
        self.rounds = horovod_job.ElasticRounds(self, self.site.folder, worker)
        job = self.submit_ranks(self.rounds.command, *horovod_job.TWO_ARE_ENOUGH, workers=3)
        self.rounds.wait_for(3)
        self.worker = job.wait_until_running("worker:1")[0]
        return job, horovod_job.port_of(self.worker)

    def test_no_stranger_has_a_worker_run_a_command(self):
        job, port = self.start(horovod_job.ELASTIC_WORKER + " --trusting")
        host, local_rank = (
            machine.variable_of(self.worker, name, tony_cli.DEADLINE_SECONDS)
            for name in ("HOROVOD_HOSTNAME", "HOROVOD_LOCAL_RANK"))
        marker = self.site.folder / "made by the attacker"
        said = second_user.run_python(ATTACK, port, f"{host}:{local_rank}", marker)
        self.assertFalse(marker.exists(), said)
        self.assertEqual(said, "b''\nb''\n")
        self.rounds.end()
        self.assert_succeeds(job)

    def test_five_thousand_connections_do_not_hold_the_job_up(self):
        job, port = self.start()
        with second_user.start_python(FLOOD, port, CONNECTIONS, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True) as crowd:
            self.assertEqual(crowd.stdout.readline(), "all are there\n")
            # All have to speak with the driver now.
            subprocess.run(["kill", "-9", str(self.worker)], check=True)
            self.assertEqual(self.rounds.wait_for(2)[0], ["worker:0", "worker:2"])
            self.assertEqual(self.rounds.wait_for(3)[0], ["worker:0", "worker:2", "worker:1"])
            self.rounds.end()
            self.assert_succeeds(job)
            crowd.communicate()


if __name__ == "__main__":
    integration_case.main()
