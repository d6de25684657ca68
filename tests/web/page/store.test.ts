import assert from "node:assert/strict";
import test from "node:test";
import { apply, byName, kNothing, tasksOf } from "../../../src/web/page/store";
import { chosenTasks } from "../../../src/web/page/task_list";
import type { Job, Task } from "../../../src/web/page/types";

const columns = ["task", "state", "attempt", "host", "step", "seconds", "memory_bytes"];
const table = (...rows: (string | number | null)[][]) => ({ columns, rows, next: null, total: 9, sequence: 1 });
const job = (values: Partial<Job> = {}) => ({ id: "j", now_millis: 5_000, counts: {}, ...values }) as Job;

test("news changes the rows it names and leaves the others", () => {
  const tasks = [table(["worker:0", "RUNNING", 1, "a", 1, 1, 5], ["worker:1", "READY", 1, "b", null, null, null])];
  const before = apply(kNothing, { kind: "snapshot", job: job(), tasks, at: 4_000 });
  const after = apply(before, { kind: "tasks", table: table(["worker:1", "RUNNING", 1, "b", 1, 2, 7]) });
  assert.deepEqual(
    after.tasks.map((task) => [task.task, task.state]),
    [
      ["worker:0", "RUNNING"],
      ["worker:1", "RUNNING"],
    ],
  );
  assert.equal(before.tasks[1].state, "READY", "the old state is untouched");
  assert.equal(after.tasks[0], before.tasks[0], "unchanged rows are the same objects");
  assert.equal(after.clockSkew, 1_000);
});

test("a task that is new takes its place by name", () => {
  const before = apply(kNothing, { kind: "tasks", table: table(["worker:2", "NEW", 0, null, null, null, null]) });
  const after = apply(before, { kind: "tasks", table: table(["worker:10", "NEW", 0, null, null, null, null], ["ps:0", "NEW", 0, null, null, null, null]) });
  assert.deepEqual(after.tasks.map((task) => task.task), ["ps:0", "worker:2", "worker:10"]);
});

test("what the columns do not name is unknown", () => {
  assert.equal(tasksOf({ columns: ["task", "host"], rows: [["worker:0", null]] })[0].host, null);
});

test("sorting puts the unknown last in both directions, and failures first by state", () => {
  const tasks = tasksOf(
    table(["w:0", "RUNNING", 1, "b", 1, 1, 5], ["w:1", "FAILED", 1, "a", 1, 1, null], ["w:2", "RUNNING", 1, "c", 1, 1, 9]),
  );
  const names = (choice: object) =>
    chosenTasks(tasks, { state: "", text: "", sort: "task", descending: false, ...choice }, 0).map((task) => task.task);
  assert.deepEqual(names({ sort: "memory" }), ["w:0", "w:2", "w:1"]);
  assert.deepEqual(names({ sort: "memory", descending: true }), ["w:2", "w:0", "w:1"]);
  assert.deepEqual(names({ sort: "state" }), ["w:1", "w:0", "w:2"]);
  assert.deepEqual(names({ text: "B" }), ["w:0"]);
  assert.deepEqual(names({ state: "FAILED" }), ["w:1"]);
});

test("indices are compared as numbers", () => {
  assert.ok(byName({ task: "w:9" } as Task, { task: "w:10" } as Task) < 0);
});
