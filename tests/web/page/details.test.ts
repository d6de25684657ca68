import assert from "node:assert/strict";
import test from "node:test";
import { AdviceSection } from "../../../src/web/page/details";
import type { Advice } from "../../../src/web/page/types";
import { elementText } from "./element_text";

const kPiece = {
  heuristic: "memory-unused",
  severity: "severe",
  type: "worker",
  sentence: "Ask for 1 GiB",
  evidence: "seen 612 MiB",
  cost: "",
  lines: { "tony.worker.memory": "1g" },
};
const kShort = "The programs have run for 4s, which is too short to judge them";
const textOf = (advice: Advice) => elementText(AdviceSection({ advice }));

test("a job that is too short to judge says so in place of advice", () => {
  assert.equal(textOf({ advice: [], xml: "", reservations: [kShort] }), `AdviceThere is nothing to advise.${kShort}.`);
});

test("a reservation stands behind the advice that there is", () => {
  const text = textOf({ advice: [kPiece], xml: "<property/>", reservations: [kShort] });
  assert.ok(text.startsWith("Advicesevere: Ask for 1 GiBseen 612 MiBtony.worker.memory = 1g"), text);
  assert.ok(text.includes(`${kShort}.`), text);
  assert.ok(!text.includes("nothing to advise"), text);
});

test("with neither advice nor reservation there is no section", () => {
  assert.equal(AdviceSection({ advice: { advice: [], xml: "", reservations: [] } }), null);
});
