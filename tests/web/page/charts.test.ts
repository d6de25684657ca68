import assert from "node:assert/strict";
import test from "node:test";
import { chartOf, newest, seriesWanted } from "../../../src/web/page/chart_data";
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
  assert.deepEqual(wanted, { tasks: "chief-0,my-ps-0,my-ps-1", types: "worker" });
});

test("many small types do not become a tangle of lines", () => {
  const types = Array.from({ length: 20 }, (_, i) => ({ name: `t${i}`, instances: 7 }));
  const wanted = seriesWanted(types);
  assert.equal(wanted.tasks.split(",").length, 21);
  assert.equal(wanted.types.split(",").length, 17);
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
