// What people read of a request that has failed, in the ways in which requests fail in a browser.
import assert from "node:assert/strict";
import test from "node:test";
import { getJson, postJson, Problem, sentenceOf } from "../../../src/web/page/api";

/** Puts an answer in place of the network's, for one test. */
async function answering(answer: () => Promise<Response>, ask: () => Promise<unknown>): Promise<string> {
  const before = globalThis.fetch;
  globalThis.fetch = answer;
  try {
    await ask();
    return "it was answered";
  } catch (error) {
    return sentenceOf(error, "The portal");
  } finally {
    globalThis.fetch = before;
  }
}

const problem = () =>
  Promise.resolve(
    new Response(JSON.stringify({ status: 403, detail: "Nobody is logged in." }), {
      status: 403,
      headers: { "Content-Type": "application/problem+json" },
    }),
  );

test("what the server says is said as it is", async () => {
  assert.equal(await answering(problem, () => getJson("api/v1/jobs")), "Nobody is logged in.");
  assert.equal(await answering(problem, () => postJson("api/v1/jobs/j/stop", {})), "Nobody is logged in.");
  assert.equal(sentenceOf(new Problem(503, "Later.", "tony logs j"), "The portal"), "Later.");
});

test("when nobody answers, a sentence says so, and not the name of an error", async () => {
  const refused = () => Promise.reject(new TypeError("Failed to fetch"));
  assert.equal(await answering(refused, () => getJson("x")), "The portal does not answer.");
  const silent = () => Promise.reject(new DOMException("signal is aborted without reason", "AbortError"));
  assert.equal(await answering(silent, () => getJson("x")), "The portal has not answered in time.");
  const late = () => Promise.reject(new DOMException("signal timed out", "TimeoutError"));
  assert.equal(await answering(late, () => postJson("x", {})), "The portal has not answered in time.");
  const page = () => Promise.resolve(new Response("<html>", { status: 200 }));
  assert.equal(await answering(page, () => getJson("x")), "The portal has sent an answer that cannot be read.");
  assert.equal(await answering(() => Promise.reject(new Error("why")), () => getJson("x")), "The portal cannot be asked: why");
});
