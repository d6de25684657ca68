import assert from "node:assert/strict";
import test from "node:test";
import { describeAt, tickSeconds } from "../../../src/web/page/timeline_draw";
import { kMostUnfolded, rowLabel, rowText, timelineRows } from "../../../src/web/page/timeline_rows";
import type { Timeline } from "../../../src/web/page/types";

function timeline(tasks: number, failed: number[] = []): Timeline {
  const rows: Timeline["rows"] = [];
  const ends: Timeline["ends"]["rows"] = [];
  for (let i = 0; i < tasks; ++i) {
    rows.push([`worker:${i}`, "queued", 0, 1_000 + i / 100, 0], [`worker:${i}`, "running", 1_000 + i / 100, null, 1]);
    if (failed.includes(i)) ends.push([`worker:${i}`, "FAILED", 5_000, 1]);
  }
  return { rows, ends: { rows: ends }, first_steps: { rows: [] }, epochs: [], begin_millis: 0, now_millis: 600_000, dropped: 0 };
}

test("few tasks have a row each, failures first", () => {
  const rows = timelineRows(timeline(4, [2]), 600_000);
  assert.deepEqual(rows.map((row) => row.task), ["worker:2", "worker:0", "worker:1", "worker:3"]);
});

test("ten thousand equal neighbours fold into a row, failed ones never", () => {
  const rows = timelineRows(timeline(10_000, [3, 7_000]), 600_000);
  assert.deepEqual(rows.map((row) => row.task), ["worker:3", "worker:7000", "worker:0"]);
  assert.equal(rows[2].tasks.length, 9_998);
  assert.equal(rowLabel(rows[2]), "worker:0–9999 (9998 alike)");
});

test("neighbours that differ are not folded", () => {
  const held = timeline(kMostUnfolded + 10);
  held.rows[2 * 20 + 1][2] += 200_000;
  held.rows[2 * 20][3]! += 200_000;
  const rows = timelineRows(held, 600_000);
  assert.deepEqual(rows.map((row) => row.tasks.length), [20, 1, 29]);
});

test("a row says in words what it shows", () => {
  const row = timelineRows(timeline(1, [0]), 61_000)[0];
  assert.equal(rowText(row), "queued 1s, running 1m 0s; failed at run 1");
});

test("a row says when the first step of each run was made", () => {
  const held = timeline(1, [0]);
  held.rows.push(["worker:0", "running", 6_000, null, 2]);
  held.first_steps.rows.push(["worker:0", 3_000, 1], ["worker:0", 8_500, 2], ["worker:0", 9_000, 7]);
  const row = timelineRows(held, 61_000)[0];
  assert.equal(
    rowText(row),
    "queued 1s, running 1m 0s, running 55s; first step after 2s of run 1, first step after 2s of run 2, " +
      "first step of run 7; failed at run 1",
  );
});

test("neighbours are alike if their first steps are", () => {
  const held = timeline(kMostUnfolded + 10);
  for (let i = 0; i < kMostUnfolded + 10; ++i) held.first_steps.rows.push([`worker:${i}`, i === 20 ? 400_000 : 5_000 + i, 1]);
  assert.deepEqual(timelineRows(held, 600_000).map((row) => row.tasks.length), [20, 1, 29]);
});

test("the phase between attaching and the barrier has a name, a colour and a hint", () => {
  const held = timeline(1);
  held.rows.splice(1, 0, ["worker:0", "registering", 1_000, 61_000, 1]);
  held.first_steps.rows.push(["worker:0", 31_000, 1]);
  const row = timelineRows(held, 61_000)[0];
  const view = { from: 0, to: 61_000, top: 0, current: -1, utc: true };
  // The labels take 220 of the pixels, the right margin 4: twenty pixels a second.
  assert.equal(describeAt(row, 220 + 400, 1_444, view), "worker:0: registering, run 1, 00:00:01 – 00:01:01");
  assert.equal(describeAt(row, 220 + 620, 1_444, view), "worker:0: first step of run 1 at 00:00:31");
});

test("ticks are whole seconds, minutes or hours", () => {
  assert.equal(tickSeconds(60_000, 6), 10);
  assert.equal(tickSeconds(3_600_000, 8), 600);
  assert.equal(tickSeconds(86_400_000 * 30, 10), 86_400 * 3);
});
