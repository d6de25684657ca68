#!/usr/bin/env python3
"""Elastic training: real processes, and a driver that does what a test wants."""

import os
import pickle
import tempfile
import textwrap
import unittest

import elastic_driver
from elastic_driver import Driver

BEGIN = """
import os, signal, sys
import tony.collective as hvd
hvd.init()
def run_steps(state, steps, commit_each=1, then=lambda: None):
    # After step n the total is 1 + ... + n, whoever took part; the ranks of the round agree on each.
    while state.step < steps:
        parts = hvd.allgather_object(state.step + 1, name="part")
        state.total[0] += sum(parts) / len(parts)
        state.step += 1
        then()
        if state.step % commit_each == 0:
            state.commit()
def show(state, *more):
    assert state.total[0] == state.step * (state.step + 1) / 2, (state.step, state.total)
    print(hvd.rank(), hvd.size(), state.step, *more, flush=True)
"""


class ElasticTest(unittest.TestCase):
    """Each process is a host of its own, called a, b, c."""

    def driver(self, body, **options):
        """A driver of processes that run ``body``."""
        driver = Driver(["-c", BEGIN + textwrap.dedent(body)], **options)
        self.addCleanup(driver.__exit__)
        return driver

    def assert_ended(self, driver, **expected):
        """``expected``: by name the lines of the output; those without are not looked at."""
        ended = driver.wait()
        for name, lines in expected.items():
            status, output = ended[name]
            self.assertEqual((status, output.split("\n")[:-1]), (0, lines), f"{name}:\n{output}")
        return ended

    TRAIN_UNTIL_LOSS = """
        state = hvd.elastic.ObjectState(step=0, total=[0.0])
        @hvd.elastic.run
        def train(state):
            print("from", state.step, "with", hvd.size(), flush=True)
            def lose():
                if state.step == 7 and os.environ["HOROVOD_HOSTNAME"] == {victim!r}:
                    os.kill(os.getpid(), signal.SIGKILL)
            run_steps(state, 20, commit_each=5, then=lose)
            return "done"
        show(state, train(state))
        """

    def test_goes_back_to_what_was_committed_and_takes_another_one_in(self):
        for victim in ("a", "c"):
            for rounds in (True, False):
                with self.subTest(victim=victim, rounds=rounds):
                    driver = self.driver(self.TRAIN_UNTIL_LOSS.format(victim=victim), rounds=rounds)
                    for rank, name in enumerate("abc"):
                        driver.start(name, rank, 3)
                    left = [name for name in "abc" if name != victim]
                    # One that comes with the loss, to a host of its own.
                    driver.begin_round(left, ["d"])
                    self.assert_ended(driver, **{
                        left[0]: ["from 0 with 3", "from 5 with 3", "0 3 20 done"],
                        left[1]: ["from 0 with 3", "from 5 with 3", "1 3 20 done"],
                        "d": ["from 5 with 3", "2 3 20 done"]})

    def test_nothing_is_lost_when_others_come(self):
        driver = self.driver("""
            state = hvd.elastic.ObjectState(step=0, total=[0.0], end=False)
            resets = []
            state.register_reset_callbacks([lambda: resets.append(hvd.size())])
            @hvd.elastic.run
            def train(state):
                begin = state.step
                assert begin == getattr(state, "last", begin), (begin, state.last)
                # Without commit(): what is not saved is given to others even so.
                while hvd.size() == 1 or state.step < begin + 3:
                    state.step += 1
                    state.total[0] += state.step
                    state.last = state.step
                    state.check_host_updates()
            train(state)
            show(state, resets) if resets else show(state)
            """)
        driver.start("a", 0, 1)
        driver.notify_until_asked("a", elastic_driver.hosts_updated(1, 3))
        driver.begin_round(["a"])
        driver.notify_until_asked("a", elastic_driver.hosts_updated(2, 1))
        driver.begin_round(["a"], ["b"])
        ended = driver.wait()
        (status, mine), (other_status, theirs) = ended["a"], ended["b"]
        self.assertEqual((status, other_status), (0, 0), f"{mine}\n{theirs}")
        self.assertEqual(mine.split(" ", 3)[1], "2")
        self.assertTrue(mine.strip().endswith("[1, 2]"), mine)
        self.assertEqual(mine.split()[2], theirs.split()[2])

    def test_a_meeting_that_somebody_does_not_survive(self):
        """The next round is without him, also for one that has just begun."""
        driver = self.driver("""
            state = hvd.elastic.ObjectState(step=0, total=[0.0])
            train = hvd.elastic.run(lambda state: run_steps(state, 3))
            train(state)
            show(state)
            """, environment={"HOROVOD_GLOO_TIMEOUT_SECONDS": 3})
        for rank, name in enumerate("ab"):
            driver.start(name, rank, 3)  # c never comes
        driver.begin_round(["a", "b"])
        self.assert_ended(driver, a=["0 2 3"], b=["1 2 3"])

    def test_rounds_leave_nothing_behind(self):
        driver = self.driver("""
            import gc, threading
            state = hvd.elastic.ObjectState(step=0)
            @hvd.elastic.run
            def train(state):
                state.step += 1
                state.save()
                hvd.barrier()
                if state.step == 3:
                    state.before = used()
                if state.step < 12:
                    raise hvd.HorovodInternalError("a rank was lost", "ABORTED")
            def used():
                gc.collect()
                return len(os.listdir("/proc/self/fd")), threading.active_count(), len(os.listdir("/proc/self/task"))
            train(state)
            assert used() == state.before, (used(), state.before)
            print(state.step)
            """)
        for rank, name in enumerate("ab"):
            driver.start(name, rank, 2)
        for _ in range(11):
            driver.begin_round(["a", "b"])
        self.assert_ended(driver, a=["12"], b=["12"])

    def test_no_place(self):
        for change, text in (
                (lambda driver: driver.remove("a"), "a:0 has been removed from the elastic job"),
                (lambda driver: None, "the driver has not begun another round of this elastic job within 3 s "
                                      "(HOROVOD_ELASTIC_TIMEOUT)")):
            with self.subTest(text):
                driver = self.driver("""
                    @hvd.elastic.run
                    def train(state):
                        raise hvd.HorovodInternalError("a rank was lost", "ABORTED")
                    try:
                        train(hvd.elastic.ObjectState(step=0))
                    except hvd.HorovodInternalError as error:
                        assert isinstance(error, hvd.elastic.NoPlaceError)
                        print(error)
                    """, environment={"HOROVOD_ELASTIC_TIMEOUT": 3})
                driver.start("a", 0, 1)
                driver.wait_for("a asks", lambda driver=driver: driver.asked)
                change(driver)
                status, output = driver.wait()["a"]
                self.assertEqual(status, 0, output)
                self.assertIn(text, output)

    def test_without_a_driver(self):
        driver = self.driver("""
            os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"] = "1"
            try:
                hvd.elastic.run(lambda state: None)(hvd.elastic.ObjectState(step=0))
            except hvd.HorovodInternalError as error:
                print(error)
            """)
        driver.start("a", 0, 1)
        status, output = driver.wait()["a"]
        self.assertEqual(status, 0, output)
        self.assertIn("the driver cannot be told where to send news of other hosts: the rendezvous server at "
                      "127.0.0.1:1 does not answer", output)

    def test_mistakes_of_the_program_are_not_repeated(self):
        driver = self.driver("""
            state = hvd.elastic.ObjectState(step=0)
            runs = []
            @hvd.elastic.run
            def train(state):
                runs.append(1)
                hvd.broadcast_object(1, root_rank=5)
            try:
                train(state)
            except hvd.HorovodInternalError as error:
                print(len(runs), error.code)
            @hvd.elastic.run
            def fail(state):
                raise KeyError("the user's")
            try:
                fail(state)
            except KeyError as error:
                print(error)
            """)
        driver.start("a", 0, 1)
        self.assert_ended(driver, a=["1 INVALID_ARGUMENT", "\"the user's\""])

    def test_strangers_are_not_listened_to(self):
        with tempfile.TemporaryDirectory() as folder:
            harm = os.path.join(folder, "harm")
            driver = self.driver("""
                state = hvd.elastic.ObjectState(step=0)
                @hvd.elastic.run
                def train(state):
                    signal.pause()
                train(state)
                """)
            driver.start("a", 0, 1)
            news = elastic_driver.hosts_updated(1, 2)
            self.assertEqual(driver.notify("a", news, secret=b"x" * 32), b"")
            for words in (elastic_driver.harmful(harm), elastic_driver.attribute(), pickle.dumps(5), b"", b"\x80\x04",
                          b"x" * 100_000):
                self.assertEqual(driver.notify("a", words), b"")
            self.assertFalse(os.path.exists(harm))
            for result in ("mixed", "added"):
                self.assertIn(b"AckResponse", driver.notify("a", elastic_driver.hosts_updated_by_name(result)))
            # As horovodrun asks before it sends news.
            answer = driver.notify("a", elastic_driver.ping())
            self.assertIn(b"worker notification service", answer)
            self.assertIn(b"127.0.0.1", answer)

    def test_without_a_launcher(self):
        """A rank alone, to which nobody comes."""
        driver = self.driver("""
            state = hvd.elastic.ObjectState(step=0, total=[0.0])
            hvd.elastic.run(lambda state: run_steps(state, 3))(state)
            show(state)
            state.step, state.total[0] = 9, 9
            state.restore()
            show(state)
            """, environment={"HOROVOD_ELASTIC": 0})
        driver.start("a", 0, 1)
        self.assert_ended(driver, a=["0 1 3", "0 1 3"])


if __name__ == "__main__":
    unittest.main()
