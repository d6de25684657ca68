import assert from "node:assert/strict";
import test from "node:test";
import { jobAddress } from "../../../src/web/page/api";
import {
  cleaned,
  isOfLevel,
  jobTitle,
  kTaskColors,
  looksFor,
  nextHit,
  patternToMark,
  shownName,
  shownText,
  taskColor,
} from "../../../src/web/page/log_text";
import { marked, markerOf } from "../../../src/web/page/marker";
import { hasNewer, kMostLines, openAt, openEnd, withEnd, withNewer, withOlder, type Read } from "../../../src/web/page/log_window";
import type { LogBlock } from "../../../src/web/page/types";

/** A log of lines of the given lengths, served as the API does. */
function server(lines: string[]): Read {
  const offsets: number[] = [];
  let size = 0;
  for (const line of lines) {
    offsets.push(size);
    size += line.length + 1;
  }
  return (offset, limit) => {
    const from = offset < 0 ? Math.max(0, size + offset) : offset;
    const rows: LogBlock["rows"] = [];
    let first = offsets.findIndex((at) => at >= from);
    if (first < 0) first = lines.length;
    let end = first < lines.length ? offsets[first] : size;
    const begin = end;
    for (let i = first; i < lines.length && end + lines[i].length + 1 - begin <= limit; ++i) {
      rows.push([offsets[i], lines[i]]);
      end += lines[i].length + 1;
    }
    const none = { offset: 0, bytes: 0 };
    return Promise.resolve({
      offset: begin, end, size, dropped: none, rows, partial: false, next: end < size ? end : null, hits: 0,
    });
  };
}

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i} ${"x".repeat(i % 60)}`);

test("from the end back to the beginning no line is lost and none comes twice", async () => {
  const lines = numbered(15_000);
  const read = server(lines);
  let window = await openEnd(read);
  assert.equal(window.lines[window.lines.length - 1].text, lines[lines.length - 1]);
  while (window.begin > 0) window = await withOlder(read, window);
  assert.deepEqual(window.lines.map((line) => line.text), lines);
});

test("from the middle to the end likewise, within a limit", async () => {
  const lines = numbered(60_000);
  const read = server(lines);
  let window = await openAt(read, 500_000);
  while (hasNewer(window)) {
    window = await withNewer(read, window);
    assert.ok(window.lines.length <= kMostLines);
  }
  const texts = window.lines.map((line) => line.text);
  assert.deepEqual(texts, lines.slice(lines.length - texts.length));
  while (window.begin > 0) window = await withOlder(read, window);
  assert.deepEqual(window.lines.slice(0, 10).map((line) => line.text), lines.slice(0, 10));
  assert.equal(window.lines.length, kMostLines);
  assert.ok(hasNewer(window));
});

test("a line that is longer than a block does not stop the way back", async () => {
  const lines = [...numbered(10), "y".repeat(200_000), ...numbered(10)];
  const read = server(lines);
  let window = await openEnd(read);
  for (let i = 0; i < 10 && window.begin > 0; ++i) window = await withOlder(read, window);
  assert.equal(window.begin, 0);
});

test("an unfinished line is replaced when it is whole", async () => {
  const none = { offset: 0, bytes: 0 };
  const blocks: LogBlock[] = [
    { offset: 0, end: 4, size: 6, dropped: none, rows: [[0, "one"], [4, "tw"]], partial: true, next: null, hits: 0 },
    { offset: 4, end: 8, size: 8, dropped: none, rows: [[4, "two"]], partial: false, next: null, hits: 0 },
  ];
  const read: Read = () => Promise.resolve(blocks.shift()!);
  const window = await withNewer(read, await openEnd(read));
  assert.deepEqual(window.lines.map((line) => line.text), ["one", "two"]);
});

test("whoever follows a log sees its end, however fast it grows", async () => {
  const all = numbered(40_000);
  let window = await openEnd(server(all.slice(0, 1_000)));
  for (const length of [1_010, 9_000, 40_000]) {
    window = await withEnd(server(all.slice(0, length)), window);
    const texts = window.lines.map((line) => line.text);
    assert.deepEqual(texts, all.slice(length - texts.length, length));
    assert.ok(!hasNewer(window));
  }
});

test("what a followed log has shown stays when little has come", async () => {
  const all = numbered(1_010);
  const before = await openEnd(server(all.slice(0, 1_000)));
  const after = await withEnd(server(all), before);
  assert.equal(after.begin, before.begin);
  assert.equal(after.lines.length, before.lines.length + 10);
});

test("hits are gone through in a ring", () => {
  assert.equal(nextHit(-1, 3, 1), 0);
  assert.equal(nextHit(-1, 3, -1), 2);
  assert.equal(nextHit(2, 3, 1), 0);
  assert.equal(nextHit(0, 0, 1), -1);
});

test("a line shows what it says, whatever a terminal would make of it", () => {
  assert.equal(cleaned("\x1b]0;a title\x07text"), "text");
  assert.equal(cleaned("\x1b]8;;http://elsewhere/\x1b\\a link\x1b]8;;\x1b\\!"), "a link!");
  assert.equal(cleaned("\x1b[2J\x1b[1;31mred\x1b[0m"), "red");
  assert.equal(cleaned("\x1bPq#0\x1b\\after"), "after");
  assert.equal(cleaned("\x1b(Bplain"), "plain");
  assert.equal(cleaned("exe\u202etxt.\u2066x"), "exe\ufffdtxt.\ufffdx");
  assert.equal(cleaned("bell\x07 nul\x00\ttab"), "bell\ufffd nul\ufffd\ttab");
  assert.equal(cleaned("\x1b]an end that never comes"), "");
  assert.equal(cleaned("10%\r55%\r100%\r\n".trimEnd()), "100%");
});

test("a name of anybody's is one bounded line that shows what it says", () => {
  assert.equal(shownName("bert \u202egpj.exe"), "bert \ufffdgpj.exe");
  assert.equal(shownName("\x1b]0;a title\x07\x1b[2Jbert"), "bert");
  assert.equal(shownName(" one\r\n two\tthree "), "one two three");
  assert.equal(shownName("not \ufffd\ufffd text"), "not \ufffd\ufffd text", "as the server sends what is not UTF-8");
  assert.equal(shownName("x".repeat(1 << 20)), `${"x".repeat(200)}…`);
  assert.equal([...shownName("\u{1f600}".repeat(300))].length, 201);
  assert.equal(shownName(null), "");
  assert.equal(jobTitle({ name: "\x1b[2J \n", id: "job-1" }), "job-1");
  assert.equal(jobTitle({ name: "<b>", id: "job-1" }), "<b>");
});

test("of a value nothing is left out", () => {
  assert.equal(shownText("rm -r\rharmless \x1b[8mhidden\n\u2066"), "rm -r\ufffdharmless \ufffd[8mhidden\n\ufffd");
});

test("what matches is marked; colours and overwritten progress are not shown", () => {
  assert.deepEqual(marked("a loss=nan b", markerOf("loss=\\w+")), [["a ", false], ["loss=nan", true], [" b", false]]);
  assert.deepEqual(marked("Error", markerOf("(?i)error")), [["Error", true]]);
  assert.deepEqual(marked("abc", markerOf("x*")), [["abc", false]]);
  assert.equal(markerOf("("), null);
  assert.equal(cleaned("\x1b[31mred\x1b[0m"), "red");
  assert.equal(cleaned("10 %\r50 %\r90 %\r"), "90 %");
});

test("a pattern and a level are asked for side by side, and the pattern is what is marked", () => {
  const address = jobAddress("j", "logs", { match: "ValueError", level: "error" });
  assert.equal(address, "api/v1/jobs/j/logs?match=ValueError&level=error");
  assert.ok(looksFor({ pattern: "", level: "error" }) && !looksFor({ pattern: "", level: "" }));
  const line = "ValueError: bad batch 17";
  assert.ok(isOfLevel(line, "error", false));
  assert.deepEqual(marked(line, markerOf(patternToMark({ pattern: "ValueError", level: "error" }))), [
    ["ValueError", true],
    [": bad batch 17", false],
  ]);
  const words = markerOf(patternToMark({ pattern: "", level: "error" }));
  assert.deepEqual(marked("fatal flaw", words), [["fatal", true], [" flaw", false]]);
  assert.equal(markerOf(patternToMark({ pattern: "", level: "" })), null);
});

test("lines of programs are of a level by their words, tony's own by what they say", () => {
  assert.ok(isOfLevel("step 17", "", false));
  assert.ok(!isOfLevel("step 17", "warning", false));
  assert.ok(isOfLevel("UserWarning: slow", "warning", false) && !isOfLevel("UserWarning: slow", "error", false));
  const own = (rest: string, level: string) => isOfLevel(`2001-09-09T03:46:40.100+02:00 ${rest}`, level, true);
  assert.ok(!own("info no error so far", "error") && own("info no error so far", "info"));
  assert.ok(own("error port taken", "error") && own("error port taken", "warning"));
  assert.ok(isOfLevel("terminate called", "error", true), "a line without a level is that of a crash");
});

test("neighbours have different colours, and each keeps its own", () => {
  const colors = Array.from({ length: kTaskColors }, (_, i) => taskColor(`worker:${i}`));
  assert.equal(new Set(colors).size, kTaskColors);
  assert.equal(taskColor("worker:3"), colors[3]);
  assert.ok([taskColor("am"), taskColor("ps:0")].every((color) => color >= 0 && color < kTaskColors));
});
