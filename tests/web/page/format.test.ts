import assert from "node:assert/strict";
import test from "node:test";
import * as format from "../../../src/web/page/format";

test("bytes have one decimal below a hundred", () => {
  assert.equal(format.bytes(0), "0 B");
  assert.equal(format.bytes(999), "999 B");
  assert.equal(format.bytes(1_300_000_000), "1.3 GB");
  assert.equal(format.bytes(999_700), "1.0 MB");
  assert.equal(format.bytes(123_400_000), "123 MB");
  assert.equal(format.bytes(null), "–");
});

test("numbers have three digits, and zero is not unknown", () => {
  assert.equal(format.number(0), "0");
  assert.equal(format.number(0.012345), "0.0123");
  assert.equal(format.number(12345.6), "12,346");
  assert.equal(format.number(Number.NaN), "–");
});

test("durations are those of tony status", () => {
  assert.equal(format.duration(-5), "0s");
  assert.equal(format.duration(59_999), "59s");
  assert.equal(format.duration(250_000), "4m 10s");
  assert.equal(format.duration(3_600_000), "1h 0m");
  assert.equal(format.duration(90_000_000), "1d 1h");
});

test("clocks have 24 hours", () => {
  const evening = Date.UTC(2026, 10, 28, 23, 5, 9);
  assert.equal(format.clock(evening, true), "23:05:09");
  assert.equal(format.dateTime(evening, true), "2026-11-28 23:05:09");
  assert.equal(format.tick(evening, 60, true), "23:05");
  assert.equal(format.tick(evening, 10, true), "23:05:09");
  assert.equal(format.tick(Date.UTC(2026, 10, 28), 3600, true), "11-28");
});

test("quantities have their unit", () => {
  assert.equal(format.quantity(2.5, "cores"), "2.5 cores");
  assert.equal(format.quantity(2_000_000, "bytes/s"), "2.0 MB/s");
  assert.equal(format.quantity(0.5, "ratio"), "50 %");
  assert.equal(format.quantity(null, "cores"), "–");
});

test("a type may contain colons and dashes", () => {
  assert.equal(format.taskPath("my-worker:12"), "my-worker-12");
  assert.deepEqual(format.taskParts("a:b:3"), ["a:b", 3]);
});

test("memory is read as job files give it", () => {
  assert.equal(format.memorySetting("2g"), 2 * 1024 ** 3);
  assert.equal(format.memorySetting("512m"), 512 * 1024 ** 2);
  assert.equal(format.memorySetting("much"), null);
});
