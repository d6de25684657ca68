import assert from "node:assert/strict";
import test from "node:test";
import { kLevelWords } from "../../../src/web/page/log_text";
import { isHit, marked, markerOf } from "../../../src/web/page/marker";

test("patterns that the browser would search for hours are not marked", () => {
  for (const pattern of ["(a+)+$", "(a|a)*b", "(a|aa)+$", "(?:x+x+)+y", "(.*)*z", "(a{1,9}){1,9}", "a*a*a*b", ".*.*.*.*=",
                         "a?".repeat(30) + "a".repeat(30), "(a|b)".repeat(20), "(a?){40}", "a{0,9}a{0,9}a{0,9}b"]) {
    assert.equal(markerOf(pattern), null, pattern);
  }
});

test("patterns that mean something else to the browser are not marked", () => {
  for (const pattern of ["\\Qa.b\\E", "[[:alpha:]]+", "\\x{41}", "\\p{Greek}", "(?P<name>a)", "(?s).", "\\z", "("]) {
    assert.equal(markerOf(pattern), null, pattern);
  }
});

test("what people look for is marked", () => {
  const found = (text: string, pattern: string) =>
    marked(text, markerOf(pattern)).filter(([, hit]) => hit).map(([part]) => part);
  assert.deepEqual(found("step=77 loss=0.25 lr=1e-3", "loss=\\d+\\.\\d+"), ["loss=0.25"]);
  assert.deepEqual(found("step=770 loss", "step=77\\d loss"), ["step=770 loss"]);
  assert.deepEqual(found("a ERROR b Warn", "(?i)warn|error|exception|traceback|fatal|critical"), ["ERROR", "Warn"]);
  assert.deepEqual(found("x [rank 3] y", "\\[rank \\d\\]"), ["[rank 3]"]);
  assert.deepEqual(found("ab abc", "ab(?:c)?"), ["ab", "abc"]);
  assert.deepEqual(found("took 12ms, 7s", "\\d{1,3}(?:ms|s)"), ["12ms", "7s"]);
});

test("what is cheap may be tried on many lines, and other patterns reach less far", () => {
  assert.equal(markerOf("needle")!.cheap, true);
  assert.equal(markerOf("step=\\d+ ")!.cheap, true);
  for (const words of Object.values(kLevelWords)) assert.equal(markerOf(words)!.cheap, true);
  const twice = markerOf("\\d+\\.\\d+")!;
  assert.equal(twice.cheap, false);
  assert.equal(marked(`${"x".repeat(300)} 1.5`, twice).length, 1);
  assert.equal(isHit(`${"x".repeat(3_000)} needle`, markerOf("needle")!), true);
  assert.equal(isHit(`${"x".repeat(5_000)}`, markerOf("x$")!), false); // its end is not looked at
});

test("no pattern that is marked takes long", () => {
  const text = "a".repeat(4_000);
  for (const pattern of ["a*b", "a+a+b", "(?:a|b)c", "a{0,8}b", "[a-z]*\\d", "a*$", ".*x.*y"]) {
    const marker = markerOf(pattern);
    if (marker) assert.deepEqual(marked(text, marker).filter(([, hit]) => hit && pattern.endsWith("b")), [], pattern);
  }
});
