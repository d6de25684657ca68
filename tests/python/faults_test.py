#!/usr/bin/env python3
"""tony.collective when something is missing, wrong, or gone: in real processes of this machine."""

import http.server
import os
import resource
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import rank_processes
from rank_processes import Ranks
from tony.collective import _stores

BEGIN = """
import os, signal, sys
import tony.collective as hvd
from tony.collective import HorovodInternalError
def floats(count=4):
    import array
    return array.array("f", [1] * count)
def expect_error(text, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except HorovodInternalError as error:
        assert text in str(error), f"'{error}' does not have '{text}'"
        print("told:", error, flush=True)
        return error
    raise AssertionError(f"no error with '{text}'")
"""


def program(body):
    """A command after the interpreter."""
    return ["-c", BEGIN + textwrap.dedent(body)]


class RanksTest(unittest.TestCase):
    """Runs several processes together."""

    def run_ranks(self, body, size=2, expected=None, **options):
        """Outputs by rank. ``expected``: exit statuses by rank, if not 0."""
        with Ranks(program(body), size, **options) as ranks:
            ended = ranks.wait()
        for rank, (status, output) in ended.items():
            self.assertEqual(status, (expected or {}).get(rank, 0), f"rank {rank}:\n{output}")
        return {rank: output for rank, (_, output) in ended.items()}

    def test_a_killed_rank_is_told_at_once(self):
        for victim in range(3):
            with self.subTest(victim=victim):
                began = time.monotonic()
                self.run_ranks(f"""
                    hvd.init()
                    def train():
                        for step in range(1000000):
                            if step == 30 and hvd.rank() == {victim}:
                                os.kill(os.getpid(), signal.SIGKILL)
                            hvd.allreduce(floats(), name="gradient")
                    assert expect_error("rank {victim} has ended", train).code == "ABORTED"
                    expect_error("rank {victim} has ended", hvd.allreduce, floats(), name="later")
                    """, size=3, expected={victim: -9})
                self.assertLess(time.monotonic() - began, 30)

    def test_a_rank_that_fails_is_told_too(self):
        self.run_ranks("""
            hvd.init()
            hvd.barrier()
            if hvd.rank() == 1:
                sys.exit(3)
            expect_error("rank 1 has left", hvd.allreduce, floats(), name="gradient")
            """, expected={1: 3})

    def test_errors_come_from_what_the_user_has_called(self):
        self.run_ranks("""
            import array, traceback
            hvd.init()
            def frames(error):
                return [os.path.basename(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
            for function in (hvd.allreduce, lambda *_, **__: hvd.synchronize(hvd.allreduce_async(values, name="w"))):
                values = floats() if hvd.rank() == 0 else array.array("f", [1])
                try:
                    function(values, name="w")
                except hvd.HorovodInternalError as error:
                    inside = [name for name in frames(error) if name.startswith("_")]
                    assert inside == ["_surface.py"], inside
                    assert error.__suppress_context__
                else:
                    assert False
            """)

    def test_after_shutdown(self):
        self.run_ranks("""
            for life in range(3):
                hvd.init()
                assert hvd.is_initialized()
                assert hvd.allreduce(floats(), op=hvd.Sum)[0] == 2
                hvd.barrier()
                hvd.shutdown()
                hvd.shutdown()
                assert not hvd.is_initialized()
                expect_error("hvd.init()", hvd.rank)
                expect_error("hvd.init()", hvd.allreduce, floats())
                expect_error("hvd.init()", hvd.barrier)
            """)

    def test_what_is_on_its_way_at_shutdown_fails(self):
        self.run_ranks("""
            hvd.init()
            other = 1 - hvd.rank()
            handle = hvd.allreduce_async(floats(), name=f"of {hvd.rank()}")
            hvd.barrier()
            hvd.shutdown()
            # The rank that shuts down first is gone for the other one.
            error = expect_error("", hvd.synchronize, handle)
            assert str(error).startswith(("the engine was shut down", f"rank {other} has left: ")), error
            """)

    def test_before_init(self):
        self.run_ranks("""
            for function in (hvd.rank, hvd.size, hvd.local_rank, hvd.cross_size, hvd.barrier, hvd.join):
                expect_error("use hvd.init()", function)
                try:
                    function()
                except ValueError:
                    pass
            hvd.init()
            """)

    def test_a_rank_that_does_not_come_is_named(self):
        self.run_ranks("""
            error = expect_error("rank 2 has not come", hvd.init)
            assert hvd.is_initialized() is False and error.code == "DEADLINE_EXCEEDED", error.code
            """, size=3, started=[0, 1], environment=lambda rank: {
                "HOROVOD_GLOO_TIMEOUT_SECONDS": "3" if rank == 0 else "60"})

    def die_in_init(self, after, told, **options):
        """Rank 1 of three is killed when it has told the others what is called ``after``; all begin at once."""
        self.run_ranks(f"""
            from tony.collective import _stores
            rank = os.environ["HOROVOD_RANK"]
            store = _stores.HttpStore("127.0.0.1", int(os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"]), "are there", 60)
            store.put(rank, b"")
            for other in "012":
                store.get(other, 60)
            put = _stores.HttpStore.put
            def last(self, key, value):
                put(self, key, value)
                if rank == "1" and key == "{after}":
                    os.kill(os.getpid(), signal.SIGKILL)
            _stores.HttpStore.put = last
            expect_error("{told}", hvd.init)
            assert not hvd.is_initialized()
            """, size=3, expected={1: -9}, environment=lambda rank: {"HOROVOD_GLOO_TIMEOUT_SECONDS": "3"}, **options)

    def test_a_rank_that_is_killed_in_init_is_named(self):
        self.die_in_init("host/1", "rank 1 of this host has not come")

    def test_a_rank_of_another_host_that_is_killed_in_init_is_named(self):
        self.need_hosts()
        for after, told in (("host/1", "rank 1 has not come"), ("net/1", "rank 1 at 127.0.0.1 ")):
            with self.subTest(after):
                self.die_in_init(after, told, apart=(0, 1, 2))

    def test_a_rank_without_threads_is_told_and_can_begin_again(self):
        self.run_ranks("""
            import resource
            from tony.collective._library import library
            library()  # while it can be read
            if os.getuid() == 0:
                os.setuid(54321)  # limits are not for root
            processes, most = resource.getrlimit(resource.RLIMIT_NPROC)
            if os.environ["HOROVOD_RANK"] == "1":
                resource.setrlimit(resource.RLIMIT_NPROC, (1, most))
                assert expect_error("no thread can be started", hvd.init).code == "RESOURCE_EXHAUSTED"
                resource.setrlimit(resource.RLIMIT_NPROC, (processes, most))
            else:
                hvd.init()
                expect_error("rank 1 has ended", hvd.barrier)
                hvd.shutdown()
            hvd.init()
            hvd.barrier()
            """)

    def test_another_key_is_refused(self):
        self.guess_a_key()

    def test_another_key_is_refused_between_hosts(self):
        self.need_hosts()
        self.guess_a_key(apart=(0, 1))

    def need_hosts(self):
        reason = rank_processes.refusal_of_hosts()
        if reason:
            self.skipTest(reason)

    def guess_a_key(self, **options):
        """Each rank has a key of its own: what the other one has put into the store is not signed with it."""
        self.run_ranks("""
            own = int(os.environ["HOROVOD_RANK"])
            expect_error("'%s' in the job's store is not believed to be of rank %d: its signature is not of this key"
                         % (("plan", 0) if own == 1 else ("host/1", 1)), hvd.init)
            """, environment=lambda rank: {"TONY_COLLECTIVE_KEY": f"guess {rank}"}, **options)

    def test_only_one_has_a_key(self):
        for who in (0, 1):
            self.run_ranks("""
                expect_error("TONY_COLLECTIVE_KEY", hvd.init)
                """, environment=lambda rank, who=who: {"TONY_COLLECTIVE_KEY": "a key" if rank == who else None})

    def test_the_same_key(self):
        self.run_ranks("""
            hvd.init()
            hvd.barrier()
            """, environment=lambda rank: {"TONY_COLLECTIVE_KEY": "a long key" * 20})

    def test_a_changed_pickle_is_not_unpickled(self):
        """As somebody on the network between two ranks could change it."""
        self.run_ranks("""
            from tony.collective import _objects
            hvd.init()
            if hvd.rank() == 1:
                class Changed(type(_objects._memory)):
                    def broadcast_(self, *arguments):
                        return super().broadcast_(*arguments).replace(b"right", b"wrong")
                    def allgather(self, *arguments):
                        return super().allgather(*arguments).replace(b"of rank 0", b"of rank 1")
                _objects._memory = Changed(_objects._Memory)
                error = expect_error("the object that came from rank 0 (object.mine) is not what it has sent",
                                     hvd.broadcast_object, None, name="mine")
                assert error.code == "ABORTED"
                expect_error("the object that came from rank 0 (object.all) is not what it has sent",
                             hvd.allgather_object, "of rank 1", name="all")
            else:
                assert hvd.broadcast_object("the right one", name="mine") == "the right one"
                assert hvd.allgather_object("of rank 0", name="all") == ["of rank 0", "of rank 1"]
            hvd.barrier()
            """, environment=lambda rank: {"TONY_COLLECTIVE_KEY": "a key"})

    def test_after_fork(self):
        self.run_ranks("""
            hvd.init()
            hvd.barrier()
            child = os.fork()
            if child == 0:
                try:
                    assert not hvd.is_initialized()
                    expect_error("forked", hvd.allreduce, floats())
                    expect_error("forked", hvd.init)
                    hvd.shutdown()
                except BaseException as error:
                    print(error, flush=True)
                    os._exit(1)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            assert hvd.allreduce(floats(), op=hvd.Sum)[0] == 2
            """)

    def test_a_killed_rank_whose_child_lives_on(self):
        self.run_ranks("""
            hvd.init()
            child = os.fork() if hvd.rank() == 1 else 0
            if hvd.rank() == 1 and child == 0:
                os.closerange(0, 3)  # so that nobody waits for its output
                signal.alarm(120)
                signal.pause()
            _, child = hvd.allgather_object(child)
            hvd.barrier()
            if hvd.rank() == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                signal.alarm(60)
                expect_error("rank 1 has ended", hvd.barrier)
            finally:
                os.kill(child, signal.SIGKILL)
            """, expected={1: -9})

    def test_fork_before_init(self):
        self.run_ranks("""
            assert not hvd.is_initialized()
            child = os.fork()
            if child != 0:
                sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            hvd.init()
            assert hvd.allreduce(floats(), op=hvd.Sum)[0] == 2
            """)

    def test_interrupted_by_the_keyboard(self):
        self.run_ranks("""
            hvd.init()
            # So that what is interrupted is no import.
            hvd.allreduce(floats(), name="all do")
            if hvd.rank() == 0:
                signal.signal(signal.SIGALRM, signal.default_int_handler)
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                try:
                    hvd.allreduce(floats(), name="nobody else does")
                except KeyboardInterrupt:
                    print("interrupted")
                else:
                    raise AssertionError("not interrupted")
            hvd.barrier()
            """)

    def test_a_server_that_is_not_there(self):
        self.run_ranks("""
            expect_error("does not answer", hvd.init)
            """, environment=lambda rank: {"HOROVOD_GLOO_RENDEZVOUS_PORT": "1", "HOROVOD_GLOO_TIMEOUT_SECONDS": "2"})

    def test_a_server_that_refuses(self):
        self.run_ranks("""
            import http.server, threading
            class Refusing(http.server.BaseHTTPRequestHandler):
                def do_PUT(self):
                    self.send_error(507)
                def log_message(self, *_):
                    pass
            server = http.server.HTTPServer(("127.0.0.1", 0), Refusing)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"] = str(server.server_address[1])
            expect_error("answers 507 to PUT", hvd.init)
            """)


class StoreTest(unittest.TestCase):
    """A server in which ranks meet."""

    def test_one_that_is_slow_at_the_end_is_no_error_of_its_own(self):
        over = threading.Event()

        class Server(http.server.BaseHTTPRequestHandler):
            """Has nothing, and at the second time does not even say so."""
            asked = 0

            def do_GET(self):  # pylint: disable=invalid-name
                """Answers once."""
                Server.asked += 1
                if Server.asked == 1:
                    return self.send_error(404)
                return over.wait(rank_processes.DEADLINE_SECONDS)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                """To nobody."""

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                with self.assertRaisesRegex(_stores.StoreTimeout, "nobody has put it within 5 s"):
                    _stores.HttpStore("127.0.0.1", server.server_address[1], "scope", 60).get("key", 5)
                self.assertGreater(Server.asked, 1)
            finally:
                over.set()
                server.shutdown()


class OneProcessTest(unittest.TestCase):
    """A process that nobody has started as a rank."""

    def run_program(self, body, before=None, **variables):
        """Its output."""
        ended = subprocess.run([sys.executable, "-B", *program(body)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env={**rank_processes.clean_environment(), **variables}, text=True, check=False,
                               timeout=rank_processes.DEADLINE_SECONDS, preexec_fn=before)
        self.assertEqual(ended.returncode, 0, ended.stdout)
        return ended.stdout

    def test_it_is_the_only_rank(self):
        self.run_program("""
            hvd.init()
            places = [hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size(), hvd.cross_rank(), hvd.cross_size()]
            assert places == [0, 1, 0, 1, 0, 1], places
            assert list(hvd.allreduce(floats())) == [1] * 4 and hvd.is_homogeneous()
            """)

    def test_variables_that_are_none(self):
        self.run_program("""expect_error("HOROVOD_SIZE is '' instead of a number", hvd.init)""", HOROVOD_RANK="0")
        self.run_program("""expect_error("HOROVOD_RANK is 'x' instead of a number", hvd.init)""", HOROVOD_RANK="x",
                         HOROVOD_SIZE="1")
        self.run_program("""expect_error("HOROVOD_GLOO_RENDEZVOUS_ADDR is not set", hvd.init)""", HOROVOD_RANK="0",
                         HOROVOD_SIZE="2")
        self.run_program("""expect_error("rank 3 of 1", hvd.init)""", HOROVOD_RANK="3", HOROVOD_SIZE="1")

    def test_a_thread_that_cannot_be_started_is_an_error(self):
        def no_room_for_stacks():
            resource.setrlimit(resource.RLIMIT_STACK, (1 << 40, resource.getrlimit(resource.RLIMIT_STACK)[1]))
            resource.setrlimit(resource.RLIMIT_AS, (1 << 36, 1 << 36))

        self.run_program("""
            assert expect_error("", hvd.init).code == "RESOURCE_EXHAUSTED"
            assert not hvd.is_initialized()
            """, before=no_room_for_stacks)

    @unittest.skipUnless(os.getuid() == 0, "only root can have a user whose processes are counted exactly")
    def test_each_thread_that_cannot_be_started_is_an_error(self):
        self.run_program("""
            import resource, time
            from tony.collective._library import library
            library()  # while it can be read
            os.setuid(100000 + os.getpid())
            most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
            refused = 0
            while not hvd.is_initialized():
                deadline = time.monotonic() + 60
                while len(os.listdir("/proc/self/task")) > 1:  # for a moment also those that were waited for
                    assert time.monotonic() < deadline, "threads are left"
                resource.setrlimit(resource.RLIMIT_NPROC, (refused + 1, most))
                try:
                    hvd.init()
                except HorovodInternalError as error:
                    assert error.code == "RESOURCE_EXHAUSTED" and "no thread can be started" in str(error), error
                    refused += 1
            assert refused == 3, refused
            assert hvd.allreduce(floats(), op=hvd.Sum)[0] == 1
            """)

    def test_one_of_several_tasks_is_not_the_only_rank(self):
        task = {"TONY_CONTAINER_ID": "c", "JOB_NAME": "worker", "TASK_INDEX": "1"}
        self.run_program("""
            error = expect_error("worker:1 is one of 3 tasks, and nothing says which rank it is: set "
                                 "tony.application.framework to horovod", hvd.init)
            assert error.code == "FAILED_PRECONDITION", error.code
            assert not hvd.is_initialized()
            os.environ.update(HOROVOD_RANK="0", HOROVOD_SIZE="1")
            hvd.init()
            """, **task, TASK_NUM="3")
        self.run_program("hvd.init()", **task, TASK_NUM="1")
        self.run_program("hvd.init()", TASK_NUM="3")  # whatever it means elsewhere

    def test_the_import_needs_no_numpy(self):
        self.run_program("""
            sys.modules["numpy"] = sys.modules["torch"] = None
            hvd.init()
            assert hvd.allgather_object(7) == [7]
            """)

    def test_help_has_something_to_say(self):
        self.run_program("""
            for name in hvd.__all__:
                assert (getattr(hvd, name).__doc__ or "").strip(), name
            """)


if __name__ == "__main__":
    unittest.main()
