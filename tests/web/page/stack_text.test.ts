import assert from "node:assert/strict";
import test from "node:test";
import { hasStacks, keptText, membersText, stackText } from "../../../src/web/page/stack_text";
import type { StackGroup } from "../../../src/web/page/types";

const group = (values: Partial<StackGroup>): StackGroup => ({
  suspect: false,
  way: "faulthandler",
  members: [],
  frames: [],
  cut: false,
  ...values,
});
const member = (task: string, pid: number) => ({ task, attempt: 1, host: "node7", pid, program: "python3" });

test("a task with several processes in a group is named once", () => {
  assert.equal(membersText(group({ members: [member("worker:0", 1), member("worker:0", 2), member("ps:0", 3)] })), "worker:0, ps:0");
});

test("many tasks are counted", () => {
  const members = Array.from({ length: 11 }, (_, index) => member(`worker:${index}`, index));
  assert.ok(/^worker:0, .*worker:7 and 3 more$/.test(membersText(group({ members }))));
});

test("places stand below each other, and a cut stack says so", () => {
  const frames = [
    { function: "wait", file: "threading.py", line: 320 },
    { function: "load_batch", file: "train.py", line: 12 },
    { function: "futex_wait", file: "", line: 0 },
  ];
  assert.equal(
    stackText(group({ frames, cut: true })),
    "wait        threading.py:320\nload_batch  train.py:12\nfutex_wait\n…",
  );
});

test("a process without Python code says so", () => {
  assert.equal(stackText(group({})), "(no Python code)");
});

test("kept stacks say of whom they are, and a job without any has nothing to show", () => {
  const kept = { task: "worker:1", attempt: 2, text: "", cut: false };
  assert.equal(keptText(kept), "worker:1, attempt 2, before it was ended");
  assert.equal(keptText({ ...kept, task: null, attempt: 0 }), "All tasks, when the job seemed to hang");
  const none = { taken_millis: null, suspect: "", groups: [], troubles: [], kept: [], kept_left_out: 0 };
  assert.equal(hasStacks(none), false);
  assert.equal(hasStacks({ ...none, kept: [kept] }), true);
  assert.equal(hasStacks({ ...none, taken_millis: 1 }), true);
});
