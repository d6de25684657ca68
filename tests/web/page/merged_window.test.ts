import assert from "node:assert/strict";
import test from "node:test";
import {
  heldRows, kMostMergedLines, kNoLines, kPageLines, linesBefore, withEarlier, withLater, type Ask, type MergedWindow,
} from "../../../src/web/page/merged_window";
import type { MergedLogs } from "../../../src/web/page/types";

/** Merged logs that grow, served as the API does: a cursor is the number of lines before. */
function server(budget = kPageLines) {
  const lines: string[] = [];
  const ask: Ask = (cursor, limit) => {
    const from = Number(cursor ?? 0);
    const to = Math.min(lines.length, from + Math.min(limit, budget));
    const rows: MergedLogs["rows"] = lines.slice(from, to).map((text) => [1, "worker:0", 1, "stdout", text]);
    return Promise.resolve({ rows, next: `${to}`, more: to < lines.length, notes: [] });
  };
  return { lines, ask, grow: (count: number) => { for (let i = 0; i < count; ++i) lines.push(`line ${lines.length}`); } };
}
const texts = (window: MergedWindow) => heldRows(window).map((row) => row[4]);

async function toEnd(ask: Ask, window: MergedWindow): Promise<MergedWindow> {
  let now = await withLater(ask, window);
  while (now.more) now = await withLater(ask, now);
  return now;
}

test("a follower holds the newest lines, within a limit", async () => {
  const { ask, grow, lines } = server();
  grow(50_001);
  let window = await toEnd(ask, kNoLines);
  for (let i = 0; i < 30; ++i) {
    grow(7);
    window = await toEnd(ask, window);
  }
  const shown = texts(window);
  assert.ok(shown.length <= kMostMergedLines);
  assert.equal(linesBefore(window) + shown.length, lines.length);
  assert.deepEqual(shown, lines.slice(linesBefore(window)));
});

test("back from the end to the beginning and to the end again no line is lost and none comes twice", async () => {
  for (const budget of [kPageLines, 700]) {
    const { ask, grow, lines } = server(budget);
    grow(47_123);
    let window = await toEnd(ask, kNoLines);
    while (window.earlier.length > 0) {
      window = await withEarlier(ask, window);
      const shown = texts(window);
      assert.ok(shown.length <= kMostMergedLines);
      assert.deepEqual(shown, lines.slice(linesBefore(window), linesBefore(window) + shown.length));
    }
    assert.equal(texts(window)[0], "line 0");
    assert.ok(window.more);
    window = await toEnd(ask, window);
    assert.deepEqual(texts(window), lines.slice(linesBefore(window)));
  }
});

test("logs that are not there yet, or not any more, change nothing", async () => {
  const none: Ask = () => Promise.resolve({ rows: [], next: null, more: false, notes: ["worker:1 did not answer"] });
  const empty = await withLater(none, kNoLines);
  assert.deepEqual([empty.next, empty.more, empty.parts.length], [undefined, false, 0]);
  assert.deepEqual(empty.notes, ["worker:1 did not answer"]);
  const { ask, grow } = server();
  grow(3);
  const window = await withLater(ask, kNoLines);
  assert.equal((await withLater(none, window)).next, "3");
  assert.equal(await withEarlier(none, window), window);
});
