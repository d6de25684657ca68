"""The API of a job's page, as a client in a browser uses it and as others would misuse it."""

import json
import socket
import tarfile

import integration_case
import machine
import tony_cli
from job_page import Page, rows

# Prints numbered lines, a needle among them, and waits.
PRINT = ("for i in $(seq 1 20000); do echo line $i; done; echo a needle; echo to stderr >&2; "
         "read word < {gate}; exit {code}")


MOST_STREAMS = 512


class PageApiTest(integration_case.JobTest):
    """Against one real job each."""

    def open_page(self, job):
        """A browser that has entered the page."""
        page = Page(self.site.verb("open", job.id)["url"])
        self.assertEqual(page.enter()[0], 303)
        return page

    def running(self, *arguments):
        """A job of two workers that wait; its page, its place in the API and the pipe."""
        gate = self.pipe("gate")
        command = PRINT.format(gate=gate.path, code=0)
        job = self.submit(command, *arguments, workers=2)
        job.wait_until_running("worker:0", "worker:1")
        return job, self.open_page(job), f"jobs/{job.id}", gate

    def test_what_a_page_shows(self):
        job, page, place, gate = self.running()
        summary = page.api(place)
        self.assertEqual((summary["id"], summary["state"]), (job.id, "RUNNING"))
        self.assertEqual(summary["counts"], {"RUNNING": 2})
        self.assertEqual(summary["types"], [{"name": "worker", "instances": 2, "tracked": True}])
        self.assertTrue(summary["may"]["stop"])
        self.assertEqual([one["id"] for one in page.api("jobs")["jobs"]], [job.id])

        tasks = rows(page.api(f"{place}/tasks"))
        self.assertEqual([(task["task"], task["state"]) for task in tasks],
                         [("worker:0", "RUNNING"), ("worker:1", "RUNNING")])
        first = page.api(f"{place}/tasks", limit=1, sort="trouble")
        self.assertEqual(first["total"], 2)
        second = page.api(f"{place}/tasks", limit=1, sort="trouble", cursor=first["next"])
        self.assertEqual([one["rows"][0][0] for one in (first, second)], ["worker:0", "worker:1"])
        self.assertIsNone(second["next"])
        self.assertEqual(page.api(f"{place}/tasks", state="FAILED,STOPPED")["total"], 0)
        one = page.api(f"{place}/tasks/worker-1")
        status = self.site.verb("status", job.id)["tasks"][1]
        for changing in ("usage",):
            one.pop(changing, None)
            status.pop(changing, None)
        self.assertEqual(one, {**status, "path": "worker-1"})

        timeline = page.api(f"{place}/timeline")
        kinds = [span["kind"] for span in rows(timeline) if span["task"] == "worker:0"]
        self.assertEqual(kinds[-1], "running")
        self.assertEqual(sorted(set(kinds), key=kinds.index), kinds)

        events = page.api(f"{place}/events", limit=3)
        self.assertEqual([event["sequence"] for event in events["events"]], [1, 2, 3])
        more = page.api(f"{place}/events", after=events["next"])
        numbers = [event["sequence"] for event in more["events"]]
        self.assertEqual(numbers, list(range(4, 4 + len(numbers))))
        self.assertIsInstance(more["events"][0]["unix_millis"], int)
        gate.write(2)
        self.assert_succeeds(job)

    def test_the_timeline_has_the_time_of_unpacking_and_the_first_step(self):
        gate, archive = self.pipe("gate"), self.site.folder / "data.tar"
        with tarfile.open(archive, "w") as data:
            for number in range(2_000):
                data.addfile(tarfile.TarInfo(f"data/{number}"))
        job = self.submit(f'echo step=1 > "$TONY_PROGRESS"; read word < {gate.path}', "--conf",
                          f"tony.containers.resources={archive}::data#archive", "--conf", "tony.task.metrics-interval-ms=100")
        job.wait_until_running("worker:0")
        page, place = self.open_page(job), f"jobs/{job.id}/timeline"
        timeline = machine.wait_until(
            lambda: (lambda answer: answer if answer["first_steps"]["rows"] else None)(page.api(place)), 30, 0.1)
        spans = rows(timeline)
        self.assertEqual([span["kind"] for span in spans if span["kind"] in ("localizing", "registering", "running")],
                         ["localizing", "registering", "running"])
        (step,) = rows(timeline["first_steps"])
        self.assertEqual((step["task"], step["attempt"]), ("worker:0", 1))
        self.assertGreaterEqual(step["millis"], spans[-1]["begin_millis"])
        gate.write()
        self.assert_succeeds(job)

    def test_metrics_over_time(self):
        gate = self.pipe("gate")
        job = self.submit(f"read word < {gate.path}", *integration_case.conf(task__metrics_interval_ms=200), workers=8)
        job.wait_until_running(*(f"worker:{index}" for index in range(8)))
        page, place = self.open_page(job), f"jobs/{job.id}/metrics"

        def names():
            return {metric["name"] for metric in page.api(place)["metrics"]}

        # What is used per second needs two samples.
        self.assertTrue(machine.wait_until(lambda: {"cpu", "memory", "processes"} <= names(), 20, 0.1), names())
        self.assertEqual(page.api(place)["types"], [{"type": "worker", "tasks": 8, "bands": True}])

        def bands():
            answer = page.api(place, names="memory", tasks="worker-7", types="worker", points=50)
            return answer if len(answer["series"]) == 6 else None

        answer = machine.wait_until(bands, 20, 0.1)
        task, *lines = answer["series"]
        self.assertEqual((task["task"], task["quantile"]), ("worker:7", None))
        self.assertEqual([line["quantile"] for line in lines], [0, 0.1, 0.5, 0.9, 1])
        used = [value for value in task["max"] if value is not None]
        self.assertGreater(min(used), 100_000)
        self.assertEqual({len(series["mean"]) for series in answer["series"]}, {answer["points"]})
        self.assertEqual(page.api(f"jobs/{job.id}/advice")["advice"], [])
        gate.write(8)
        self.assert_succeeds(job)

    def wait_for_log(self, page, place, text):
        """The answer to a search for `text`, once the log has it."""
        def find():
            answer = page.api(place, match=text)
            return answer if answer["hits"] else None

        found = machine.wait_until(find, tony_cli.DEADLINE_SECONDS)
        self.assertTrue(found, f"no line has {text}")
        return found

    def test_logs(self):
        job, page, place, gate = self.running()
        log = f"{place}/logs/worker-0/1/stdout"
        hit = self.wait_for_log(page, log, "needle")
        (row,) = [row for row in hit["rows"] if row[2]]
        self.assertEqual(row[1], "a needle")
        with_context = page.api(log, match="^line 777$", context=2)
        self.assertEqual([row[1:] for row in with_context["rows"]],
                         [[f"line {n}", n == 777] for n in range(775, 780)])
        # From block to block, each line comes once.
        text, offset = "", 0
        while offset is not None:
            block = page.api(log, offset=offset)
            self.assertEqual(block["offset"], offset)
            text += "".join(f"{row[1]}\n" for row in block["rows"])
            offset = block["next"]
        self.assertEqual(text, job.log("worker:0").decode())
        end = page.api(log, offset=-30)
        self.assertEqual(end["rows"][-1][1], "a needle")
        self.assertEqual(end["end"], len(text))
        status, headers, raw = page.get(f"{page.base}api/v1/{log}/raw")
        self.assertEqual((status, raw), (200, text))
        self.assertIn("attachment", headers["Content-Disposition"])

        merged, times = self.merge(page, place, 2 * 20002)
        self.assertEqual(len(merged), len(set(merged)))
        self.assertEqual(len(merged), 2 * 20002)
        self.assertEqual(times, sorted(times))
        found = page.api(f"{place}/logs", streams="stderr", task="worker-1")
        self.assertEqual([row[1:] for row in found["rows"]], [["worker:1", 1, "stderr", "to stderr"]])
        self.assertEqual(len(page.api(f"{place}/logs", match="needle")["rows"]), 2)
        for bad in ({"match": "("}, {"offset": "x"}, {"limit": 0}, {"hits": 1001}, {"offset": 1 << 60}):
            status, text = page.ask(log, **bad)
            self.assertEqual(status, 400, bad)
            self.assertIn("detail", json.loads(text))
        for where in ("worker-2/1/stdout", "worker-0/2/stdout", "worker-0/0/stdout", "worker-00/1/stdout",
                      "worker-0/1/passwd", "..%2f..%2f/1/stdout", "worker-0/+1/stdout", "am/1/am"):
            self.assertEqual(page.ask(f"{place}/logs/{where}")[0], 404, where)
        self.assertIn("am", {row[3] for row in page.api(f"{place}/logs", task="am")["rows"]})
        gate.write(2)
        self.assert_succeeds(job)
        # The portal merges them as well, now that the job is over.
        portal = Page(self.start_portal())
        portal.enter()
        self.assertEqual(self.merge(portal, place, 2 * 20002), (merged, times))

    def merge(self, page, place, count):
        """The first `count` merged lines, as (task, attempt, stream, text), and their times. A line that was printed
        just now comes a tenth of a second later."""
        merged, cursor, times = [], {}, []

        def read():
            answer = page.api(f"{place}/logs", limit=5000, **cursor)
            merged.extend(tuple(row[1:]) for row in answer["rows"])
            times.extend(row[0] for row in answer["rows"])
            self.assertEqual(answer["notes"], [])
            cursor["cursor"] = answer["next"]
            return len(merged) >= count

        self.assertTrue(machine.wait_until(read, tony_cli.DEADLINE_SECONDS), f"{len(merged)} lines")
        return merged, times

    def test_a_failure_and_what_it_printed(self):
        gate = self.pipe("gate")
        program = self.site.folder / "fail.py"
        program.write_text("raise ValueError('bad batch 17')\n", encoding="utf-8")
        job = self.submit(
            f"if test $TONY_EPOCH = 0; then python3 {program}; else read word < {gate.path}; fi",
            "--conf", "tony.am.retry-count=1")
        job.wait_until_running("worker:0", epoch=1)
        page, place = self.open_page(job), f"jobs/{job.id}"
        errors = page.api(f"{place}/errors")
        self.assertEqual(errors["failure"]["guilty"], "worker:0")
        self.assertEqual(errors["own"]["lines"][-1], "ValueError: bad batch 17")
        self.assertEqual(page.api(place)["attempts"][0]["guilty"], "worker:0")
        timeline = page.api(f"{place}/timeline")
        self.assertEqual([end["state"] for end in rows(timeline["ends"])], ["FAILED"])
        self.assertEqual(len(timeline["epochs"]), 1)
        gate.write()
        self.assert_succeeds(job)

    def test_the_configuration_has_no_secrets(self):
        job, page, place, gate = self.running(
            "--conf", "tony.execution.envs=WANDB_API_KEY=abc123secret,MODE=fast",
            "--conf", "tony.am.retry-count=0")
        keys = {key["key"]: key for key in page.api(f"{place}/config")["keys"]}
        self.assertEqual(keys["tony.execution.envs"]["value"], "MODE=fast,WANDB_API_KEY=[redacted]")
        self.assertEqual(keys["tony.worker.memory"]["value"], "64m")
        self.assertFalse(keys["tony.am.retry-count"]["differs"])
        self.assertEqual(keys["tony.am.retry-count"]["origin"], "--conf")
        differing = page.api(f"{place}/config", against="defaults")["keys"]
        self.assertNotIn("tony.am.retry-count", {key["key"] for key in differing})
        self.assertNotIn("abc123secret", json.dumps(page.api(f"{place}/events")))
        gate.write(2)
        self.assert_succeeds(job)

    def test_the_configuration_beside_that_of_the_last_successful_run(self):
        named = ("--conf", "tony.application.name=again")
        first = self.submit("true", *named, workers=2)
        self.assert_succeeds(first)
        _, page, place, gate = self.running(*named, "--conf", "tony.am.retry-count=2")
        previous = page.api(f"{place}/config/previous")
        self.assertEqual(previous["job"], first.id)
        changed = {one["key"]: (one["value"], one["previous"]) for one in previous["changes"]}
        self.assertEqual(changed.pop("tony.am.retry-count"), ("2", None))
        # The first run had another command.
        self.assertLessEqual(changed.keys(), {"tony.containers.command"})
        gate.write(2)

    def test_the_stream_tells_everything_until_the_end(self):
        job, page, place, gate = self.running()
        stream = page.stream(f"{place}/events")
        first = next(stream)
        self.assertEqual((first["event"], first["data"]["state"]), ("job", "RUNNING"))
        self.assertEqual(int(first["id"]), first["data"]["sequence"])
        second = next(stream)
        self.assertEqual([row[0] for row in second["data"]["rows"]], ["worker:0", "worker:1"])
        gate.write(2)
        rest = list(stream)
        self.assertEqual(rest[-1]["event"], "bye")
        self.assertEqual([event for event in rest if event["event"] == "job"][-1]["data"]["state"],
                         "SUCCEEDED")
        states = {}
        for event in rest:
            if event["event"] == "tasks":
                states.update({row["task"]: row["state"] for row in rows(event["data"])})
        self.assertEqual(states, {"worker:0": "SUCCEEDED", "worker:1": "SUCCEEDED"})
        self.assert_succeeds(job)

    def test_as_many_streams_as_there_may_be(self):
        job, page, place, gate = self.running()
        master = machine.master_of(job.id)
        page.api(place)
        before = machine.memory_kb(master)
        streams = []
        for _ in range(MOST_STREAMS + 1):
            connection = page.connect()
            self.addCleanup(connection.close)
            connection.request("GET", f"{page.base}api/v1/{place}/events",
                               headers={"Cookie": page.cookie, "Accept": "text/event-stream"})
            streams.append(connection.getresponse())
        refused = streams.pop()
        self.assertEqual(refused.status, 503)
        self.assertIn("Too many streams are open", json.loads(refused.read())["detail"])
        self.assertEqual({stream.status for stream in streams}, {200})
        # Nobody reads them yet, and others are answered meanwhile.
        for _ in range(10):
            self.assertEqual(page.api(place)["state"], "RUNNING")
        self.assertLess(machine.memory_kb(master) - before, MOST_STREAMS * 64)
        gate.write(2)
        for stream in streams:
            text = stream.read().decode()
            self.assertTrue(text.startswith("id: "), text[:200])
            self.assertIn("\nevent: bye\n", text)
            self.assertIn('"SUCCEEDED"', text)
        self.assert_succeeds(job)

    def test_many_requests_on_one_connection(self):
        job, page, place, gate = self.running()
        connection = page.connect()
        for _ in range(20):
            connection.request("GET", f"{page.base}api/v1/{place}", headers={"Cookie": page.cookie})
            response = connection.getresponse()
            self.assertEqual(response.getheader("Connection"), "keep-alive")
            tag = response.getheader("ETag")
            json.loads(response.read())
        connection.request("GET", f"{page.base}api/v1/{place}",
                           headers={"Cookie": page.cookie, "If-None-Match": tag})
        response = connection.getresponse()
        self.assertEqual((response.status, response.read()), (304, b""))
        connection.close()
        gate.write(2)
        self.assert_succeeds(job)

    def test_only_the_page_itself_ends_the_job(self):
        job, page, place, _ = self.running()
        stop = f"{place}/stop"
        reason = json.dumps({"reason": "enough"})
        for headers, expected in (({"Origin": "http://evil.example"}, 403),
                                  ({"Origin": "http://127.0.0.1:1"}, 403),
                                  ({"Origin": "null"}, 403),
                                  ({"Origin": None}, 403),
                                  ({"Sec_Fetch_Site": "same-site"}, 403),
                                  ({"Sec_Fetch_Site": None}, 403),
                                  ({"Host": "evil.example"}, 403),
                                  ({"Content_Type": "text/plain"}, 415),
                                  ({"Content_Type": None}, 415),
                                  ({"Cookie": "tony-page=x"}, 403)):
            cookie = page.cookie
            if "Cookie" in headers:
                page.cookie = headers.pop("Cookie")
            status, problem = page.post(stop, reason, **headers)
            page.cookie = cookie
            self.assertEqual((status, problem["status"]), (expected, expected), headers)
        for body in ("", "x", "[]", '{"reason": 1}', '{"other": "x"}',
                     json.dumps({"reason": "x" * 501})):
            self.assertEqual(page.post(stop, body)[0], 400, body)
        self.assertEqual(page.post(stop, json.dumps({"reason": "x" * 70_000}))[0], 413)
        for method in ("GET", "PUT", "QUERY", "DELETE"):
            status, headers, _ = page.get(f"{page.base}api/v1/{stop}", method)
            self.assertEqual((status, headers["Allow"]), (405, "POST"), method)
        status, headers, _ = page.get(f"{page.base}api/v1/{place}", "QUERY")
        self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"))
        self.assertEqual(page.api(place)["state"], "RUNNING")

        status, answer = page.post(stop, reason)
        self.assertEqual(status, 202, answer)
        sentence = self.assert_ends(job, 4, "KILLED_BY_USER")
        self.assertIn("enough", sentence)

    def test_what_others_ask_for(self):
        job, page, place, gate = self.running()
        stranger = Page(f"http://{page.host}{page.base}")
        for where in ("api/v1/openapi.json", "healthz", "metrics", f"api/v1/{place}"):
            self.assertEqual(stranger.get(f"{page.base}{where}")[0], 403, where)
            self.assertEqual(page.get(f"/{where}")[0], 403, where)
            self.assertEqual(page.get(f"{page.base}{where}", Host="evil.example")[0], 403, where)
        self.assertEqual(page.get(f"{page.base}healthz")[2], '{"status":"ok"}\n')
        self.assertEqual(page.api("openapi.json")["openapi"], "3.1.0")
        self.assertEqual(page.ask("jobs/other")[0], 404)
        self.assertEqual(page.ask(f"{place}/advices")[0], 404)
        text = page.get(f"{page.base}metrics")[2]
        self.assertIn(f'tony_job_state{{job="{job.id}",state="RUNNING"}} 1\n', text)
        self.assertIn(f'tony_task_running{{job="{job.id}",task="worker:1",attempt="1"}} 1\n', text)
        # Half a request holds up nobody.
        host, port = page.host.split(":")
        with socket.create_connection((host, int(port)), tony_cli.DEADLINE_SECONDS) as slow:
            slow.sendall(b"GET /")
            self.assertEqual(page.api(place)["id"], job.id)
        gate.write(2)
        self.assert_succeeds(job)


if __name__ == "__main__":
    integration_case.main()
