import assert from "node:assert/strict";
import test from "node:test";
import { tickSeconds } from "../../../src/web/page/timeline_draw";
import { kMostUnfolded, rowLabel, rowText, timelineRows } from "../../../src/web/page/timeline_rows";
import type { Timeline } from "../../../src/web/page/types";

function timeline(tasks: number, failed: number[] = []): Timeline {
  const rows: Timeline["rows"] = [];
  const ends: Timeline["ends"]["rows"] = [];
  for (let i = 0; i < tasks; ++i) {
    rows.push([`worker:${i}`, "queued", 0, 1_000 + i / 100, 0], [`worker:${i}`, "running", 1_000 + i / 100, null, 1]);
    if (failed.includes(i)) ends.push([`worker:${i}`, "FAILED", 5_000, 1]);
  }
  return { rows, ends: { rows: ends }, epochs: [], begin_millis: 0, now_millis: 600_000, dropped: 0 };
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

test("ticks are whole seconds, minutes or hours", () => {
  assert.equal(tickSeconds(60_000, 6), 10);
  assert.equal(tickSeconds(3_600_000, 8), 600);
  assert.equal(tickSeconds(86_400_000 * 30, 10), 86_400 * 3);
});
