import assert from "node:assert/strict";
import test from "node:test";
import { chartOf, kMostLines, leftOutText, newest, seriesWanted } from "../../../src/web/page/chart_data";
import { hashWithLines, hasTask, kMostChosen, linesOfHash, withLine } from "../../../src/web/page/chosen_lines";
import type { Series } from "../../../src/web/page/types";

const series = (values: Partial<Series>): Series => ({
  name: "memory",
  task: null,
  type: "worker",
  quantile: null,
  mean: [1, 2],
  min: [0, 1],
  max: [3, 4],
  ...values,
});

test("small types are asked for task by task, large ones as bands", () => {
  const wanted = seriesWanted([
    { name: "chief", instances: 1 },
    { name: "worker", instances: 8 },
    { name: "my-ps", instances: 2 },
  ]);
  assert.deepEqual(wanted, { tasks: "chief-0,my-ps-0,my-ps-1", types: "worker", leftOut: [] });
});

test("of many small types no band is asked for, since there is none, and what is not drawn is said", () => {
  const types = Array.from({ length: 20 }, (_, i) => ({ name: `t${i}`, instances: 7 }));
  const wanted = seriesWanted(types);
  const tasks = wanted.tasks.split(",");
  assert.equal(wanted.types, "");
  assert.equal(tasks.length, kMostLines);
  assert.deepEqual(tasks.slice(0, 3), ["t0-0", "t0-1", "t1-0"]);
  for (const { name } of types) assert.ok(tasks.includes(`${name}-0`), `${name} has vanished`);
  assert.deepEqual(wanted.leftOut[0], { type: "t0", drawn: 2, instances: 7 });
  assert.equal(leftOutText(wanted.leftOut.slice(3, 5)), "Not drawn: 5 of 7 tasks of t3, 6 of 7 tasks of t4.");
  assert.ok(leftOutText(wanted.leftOut).endsWith("6 of 7 tasks of t4, and some of 15 more types."));
  assert.equal(leftOutText(seriesWanted([{ name: "worker", instances: 7 }]).leftOut), "");
});

test("bands beyond what the server takes are said to be missing", () => {
  const types = Array.from({ length: 34 }, (_, i) => ({ name: `t${i}`, instances: 9 }));
  const wanted = seriesWanted(types, ["t33:4"]);
  assert.equal(wanted.types.split(",").length, 32);
  assert.deepEqual(wanted.leftOut, [
    { type: "t32", drawn: 0, instances: 9 },
    { type: "t33", drawn: 1, instances: 9 },
  ]);
});

test("chosen tasks are lines besides the bands, each once, within the server's bounds", () => {
  const types = [{ name: "worker", instances: 100 }, { name: "my-ps", instances: 2 }];
  assert.deepEqual(seriesWanted(types, ["worker:42", "my-ps:1"]), {
    tasks: "my-ps-0,my-ps-1,worker-42",
    types: "worker",
    leftOut: [],
  });
  const many = Array.from({ length: 50 }, (_, i) => ({ name: `t${i}`, instances: 3 }));
  const chosen = [1, 2, 3, 4, 5].map((i) => `w:${i}`);
  assert.equal(seriesWanted([...many, { name: "w", instances: 9 }], chosen).tasks.split(",").length, kMostLines + kMostChosen);
  assert.ok(kMostLines + kMostChosen <= 32);
});

test("the address keeps the chosen tasks, whatever section it names", () => {
  assert.deepEqual(linesOfHash("#lines=worker-3,my-ps-12"), ["worker:3", "my-ps:12"]);
  assert.equal(hashWithLines("", ["worker:3", "my-ps:12"]), "#lines=worker-3,my-ps-12");
  assert.equal(hashWithLines("#timeline", ["worker:3"]), "#timeline&lines=worker-3");
  assert.equal(hashWithLines("#timeline&lines=worker-3", []), "#timeline");
  assert.equal(hashWithLines("#lines=worker-3", []), "");
  assert.equal(linesOfHash("#timeline"), null);
  assert.deepEqual(linesOfHash("#lines="), []);
  assert.deepEqual(linesOfHash("#lines=<b>-1,worker-3,worker-3,x,worker-1e9,%00-1"), ["worker:3"]);
  assert.equal(linesOfHash(`#lines=${Array.from({ length: 50 }, (_, i) => `w-${i}`).join()}`)!.length, kMostChosen);
});

test("only tasks of the job can be chosen; of too many the oldest gives way", () => {
  const types = [{ name: "worker", instances: 10 }];
  assert.ok(hasTask(types, "worker:9"));
  for (const wrong of ["worker:10", "worker", "worker:-1", "worker:1.5", "worker:", "worker:01", "ps:0", ""]) {
    assert.ok(!hasTask(types, wrong), wrong);
  }
  assert.deepEqual(withLine(["a:0", "b:0"], "a:0"), ["b:0", "a:0"]);
  assert.deepEqual(withLine(["a:0", "b:0", "c:0", "d:0", "e:0"], "f:0"), ["b:0", "c:0", "d:0", "e:0", "f:0"]);
});

test("a band has its extremes at the outside and its median as a line", () => {
  const band = [0, 0.1, 0.5, 0.9, 1].map((quantile) => series({ type: "worker", quantile }));
  const chart = chartOf({ begin_millis: 10_000, step_millis: 2_000, series: [...band, series({ task: "chief:0", type: "chief" })] }, "memory");
  assert.deepEqual(chart.times, [11, 13]);
  assert.deepEqual(chart.lines.map((line) => line.label), ["worker max", "worker p90", "worker p50", "worker p10", "worker min", "chief:0"]);
  assert.deepEqual(chart.lines[0].values, [3, 4]);
  assert.deepEqual(chart.lines[4].values, [0, 1]);
  assert.deepEqual(chart.bands.map((one) => [one.upper, one.lower]), [[0, 4], [1, 3]]);
});

test("half a band is not drawn", () => {
  const chart = chartOf({ begin_millis: 0, step_millis: 1, series: [series({ type: "worker", quantile: 0.5 })] }, "memory");
  assert.equal(chart.lines.length, 0);
});

test("the newest value is the last one that is known", () => {
  assert.equal(newest([1, 0, null]), 0);
  assert.equal(newest([null]), null);
});
