import assert from "node:assert/strict";
import test from "node:test";
import { h } from "preact";
import { VerdictCard } from "../../../src/web/page/first";
import type { LogPlace } from "../../../src/web/page/log_window";
import type { Errors, FoundError, Job } from "../../../src/web/page/types";
import { elementsNamed, elementText } from "./element_text";

const found = (change: Partial<FoundError>): FoundError => ({
  task: "worker:1", attempt: 2, stream: "stderr", line: 7, offset: 4_711, millis: null, before: ["fine"],
  lines: ["ValueError: x"], mention: false, ...change,
});

const failed: Job["verdict"] = { outcome: "FAILED", reason: "TASK_FAILED", sentence: "s", guilty: "worker:1", exit: null };

/** What the links of a verdict's errors open, by their texts. */
function opened(errors: Partial<Errors>): [string, string, LogPlace | undefined][] {
  const calls: [string, string, LogPlace | undefined][] = [];
  let text = "";
  const card = h(VerdictCard, {
    job: { verdict: failed } as Job,
    errors: { failure: null, own: null, printed: true, after: null, ...errors },
    open: (task: string, place?: LogPlace) => calls.push([text, task, place]),
  });
  for (const button of elementsNamed(card, "button")) {
    text = elementText(button);
    (button.props.onClick as () => void)();
  }
  return calls;
}

test("an error's link opens its log at the very line", () => {
  const after = found({ task: "worker:0", attempt: 1, stream: "stdout", line: 1, offset: 0 });
  assert.deepEqual(opened({ own: found({}), after }), [
    ["worker:1", "worker:1", undefined],
    ["worker:1, stderr, line 7", "worker:1", { attempt: 2, stream: "stderr", offset: 4_711 }],
    ["worker:0, stdout, line 1", "worker:0", { attempt: 1, stream: "stdout", offset: 0 }],
  ]);
});

test("where the place is not known it opens the log", () => {
  assert.deepEqual(opened({ own: found({ offset: null }) })[1], ["worker:1, stderr, line 7", "worker:1", undefined]);
});
