import assert from "node:assert/strict";
import test from "node:test";
import { marksText, marksWithin, restartMarks } from "../../../src/web/page/restart_marks";
import type { Timeline } from "../../../src/web/page/types";

const timeline = (values: Partial<Timeline>): Timeline => ({
  rows: [],
  ends: { rows: [] },
  epochs: [],
  first_steps: { rows: [] },
  begin_millis: 0,
  now_millis: 100_000,
  dropped: 0,
  ...values,
});
const epoch = (millis: number) => ({ epoch: 1, millis, cause: "", guilty: "worker:1", lost: false });
/** A run that fails after `begin` + 10, and the next one, which begins at `begin` + 15. */
const failing = (task: string, begin: number): Timeline["rows"] => [
  [task, "running", begin, begin + 10, 1],
  [task, "gone", begin + 10, begin + 15, 1],
  [task, "registering", begin + 15, begin + 20, 2],
];

test("a task that failed and runs again is marked, and one that stays away is not", () => {
  const marks = restartMarks(
    timeline({
      rows: [...failing("worker:1", 1_000), ["worker:2", "running", 1_000, 1_010, 1], ["worker:2", "gone", 1_010, null, 1]],
      ends: { rows: [["worker:1", "FAILED", 1_010, 1], ["worker:2", "FAILED", 1_010, 1]] },
    }),
  );
  assert.deepEqual(marks, [{ millis: 1_010, task: "worker:1" }]);
});

test("a failure that restarts the whole job is one mark, of the job", () => {
  const marks = restartMarks(
    timeline({
      rows: failing("worker:1", 1_000),
      ends: { rows: [["worker:0", "STOPPED", 1_012, 1], ["worker:1", "FAILED", 1_010, 1]] },
      epochs: [epoch(1_011)],
    }),
  );
  assert.deepEqual(marks, [{ millis: 1_011, task: null }]);
});

test("the next run counts, and not an earlier one", () => {
  const rows = [...failing("worker:1", 1_000), ["worker:1", "running", 1_020, 2_000, 2], ["worker:1", "gone", 2_000, null, 2]] as Timeline["rows"];
  const ends: Timeline["ends"]["rows"] = [["worker:1", "FAILED", 1_010, 1], ["worker:1", "FAILED", 2_000, 2]];
  assert.deepEqual(restartMarks(timeline({ rows, ends: { rows: ends } })), [{ millis: 1_010, task: "worker:1" }]);
});

test("a chart has the marks of its tasks and of its time", () => {
  const marks = [
    { millis: 10, task: null },
    { millis: 20, task: "worker:1" },
    { millis: 30, task: "my-ps:0" },
    { millis: 40, task: "chief:0" },
    { millis: 99, task: "worker:1" },
  ];
  const within = marksWithin(marks, { tasks: "my-ps-0", types: "worker" }, 5, 50);
  assert.deepEqual(within.map((mark) => mark.millis), [10, 20, 30]);
});

test("the marks as text", () => {
  assert.equal(marksText([]), "");
  assert.equal(marksText([{ millis: 1, task: null }]), "1 restart of the job");
  const single = [0, 1, 1, 2, 3, 4, 5, 6].map((index, millis) => ({ millis, task: `worker:${index}` }));
  assert.equal(
    marksText([{ millis: 1, task: null }, { millis: 2, task: null }, ...single]),
    "2 restarts of the job, 8 restarts of single tasks (worker:0, worker:1, worker:2, worker:3, worker:4 and 2 more)",
  );
});

test("a week of failures is marked at once", () => {
  const rows: Timeline["rows"] = [];
  const ends: Timeline["ends"]["rows"] = [];
  for (let run = 0; run < 16_384; ++run) {
    rows.push(...failing("worker:1", run * 30));
    ends.push(["worker:1", "FAILED", run * 30 + 10, run]);
  }
  const began = performance.now();
  assert.equal(restartMarks(timeline({ rows, ends: { rows: ends } })).length, 16_384);
  assert.ok(performance.now() - began < 1_000);
});
