import assert from "node:assert/strict";
import test from "node:test";
import { comparedJobs, differingKeys, facts, figureNames, figureQuery, figures, pick, type Side } from "../../../src/web/page/compare_data";
import type { ConfigKey, Job, Meaning, Series } from "../../../src/web/page/types";

const key = (name: string, value: string) => ({ key: name, value }) as ConfigKey;
const job = (change: Partial<Job>): Job =>
  ({ state: "SUCCEEDED", verdict: null, attempts: [], types: [], submitted_millis: 0, ended_millis: 60_000, ...change }) as Job;
const kMeanings: Meaning[] = [
  { name: "memory", unit: "bytes", title: "Memory" },
  { name: "written", unit: "bytes/s", title: "Written to storage" },
  { name: "step", unit: "steps", title: "Step" },
  { name: "report.loss", unit: "", title: "loss" },
];
const band = (name: string, quantile: number, mean: (number | null)[], max = mean): Series => ({
  name,
  task: null,
  type: "worker",
  quantile,
  mean,
  min: mean,
  max,
});
const side = (series: Series[], change: Partial<Job> = {}): Side => ({
  job: job({ types: [{ name: "worker", instances: 2, tracked: true }], ...change }),
  keys: [],
  metrics: { begin_millis: 0, step_millis: 1, series },
  meanings: kMeanings,
});

test("only keys whose values differ, and those that one lacks", () => {
  const one = [key("a", "1"), key("b", "2"), key("d", "")];
  const other = [key("c", "3"), key("b", "x"), key("a", "1")];
  assert.deepEqual(differingKeys(one, other), [
    { name: "b", values: ["2", "x"] },
    { name: "c", values: [null, "3"] },
    { name: "d", values: ["", null] },
  ]);
});

test("the figures are the highest memory, the highest step and the last report", () => {
  assert.deepEqual(figureNames(kMeanings), ["memory", "step", "report.loss"]);
  const one = side([
    band("memory", 1, [1e6, 2e6, null], [1e6, 3e6, null]),
    band("memory", 0.5, [9e6]),
    band("step", 0.5, [1, 20, null]),
    band("report.loss", 0.5, [0.9, 0.25]),
  ]);
  const other = side([band("step", 0.5, [null])]);
  assert.deepEqual(figures([one, other]), [
    { name: "Memory, highest of worker", values: ["3.0 MB", null] },
    { name: "Step, highest of worker", values: ["20 steps", null] },
    { name: "loss, last of worker", values: ["0.25", null] },
  ]);
});

test("a few tasks have a series each", () => {
  const of = (index: number, values: number[]) => ({ ...band("memory", 0, values), task: `worker:${index}`, quantile: null });
  const one = side([of(0, [1e6, 2e6]), of(1, [4e6, 3e6])]);
  assert.deepEqual(figures([one, side([])]), [{ name: "Memory, highest of worker", values: ["4.0 MB", null] }]);
});

test("a request stays within the server's bounds", () => {
  const types = Array.from({ length: 60 }, (_, i) => ({ name: `type${i}`, instances: i < 5 ? 4 : 100, tracked: true }));
  const reports = Array.from({ length: 50 }, (_, i) => ({ name: `report.r${i}`, unit: "", title: `r${i}` }));
  const query = figureQuery(job({ types }), [...kMeanings, ...reports]);
  const count = (list: string) => list.split(",").length;
  const series = count(query.names) * (count(query.tasks) + 5 * count(query.types));
  assert.ok(series * query.points <= 200_000, `${series} ${query.points}`);
  assert.ok(query.points >= 1);
});

test("facts name what at least one of them has", () => {
  const failed = { outcome: "FAILED", reason: "", sentence: "worker:0 failed", guilty: "worker:0", exit: null } as const;
  const rows = facts([side([]), side([], { state: "FAILED", verdict: failed, ended_millis: null })], 120_000);
  const values = Object.fromEntries(rows.map((row) => [row.name, row.values]));
  assert.deepEqual(values["State"], ["SUCCEEDED", "FAILED"]);
  assert.deepEqual(values["Guilty task"], [null, "worker:0"]);
  assert.deepEqual(values["Ran"], ["1m 0s", "2m 0s"]);
  assert.deepEqual(values["Tasks"], ["2", "2"]);
  assert.equal("Framework" in values && values["Framework"][0] === null, false);
});

test("two jobs are chosen at most", () => {
  assert.deepEqual(pick(["a"], "b"), ["a", "b"]);
  assert.deepEqual(pick(["a", "b"], "c"), ["b", "c"]);
  assert.deepEqual(pick(["a", "b"], "a"), ["b"]);
  assert.deepEqual(comparedJobs("a,b@2"), ["a", "b@2"]);
  for (const text of ["", "a", "a,", "a,a", "a,b,c"]) assert.equal(comparedJobs(text), null);
});
