// The places for event streams, which tabs share by Web Locks; the locks here are of one process.
import assert from "node:assert/strict";
import test from "node:test";
import { kMostStreams, takePlace, type Locks } from "../../../src/web/page/tabs";

/** Locks that are granted at once or not at all, as `ifAvailable` says. */
function locksOfOneProcess(): Locks {
  const held = new Set<string>();
  const request = async (name: string, options: LockOptions, use: (lock: Lock | null) => unknown) => {
    assert.ok(options.ifAvailable, "nobody waits for a place");
    const free = !held.has(name);
    held.add(name);
    await use(free ? { name, mode: "exclusive" } : null);
    if (free) held.delete(name);
  };
  return { request } as Locks;
}

test("so many tabs stream, and the place of one that is closed is free", async () => {
  const locks = locksOfOneProcess();
  const places = [];
  for (let i = 0; i < kMostStreams; ++i) places.push(await takePlace(locks));
  assert.ok(places.every((place) => place !== null));
  assert.equal(await takePlace(locks), null);
  places[1]!();
  const next = await takePlace(locks);
  assert.ok(next);
  assert.equal(await takePlace(locks), null);
});

test("a browser opens six connections, and others are needed", () => {
  assert.ok(kMostStreams >= 1 && kMostStreams <= 4);
});

test("without Web Locks, and where they are refused, nothing is streamed", async () => {
  assert.equal(await takePlace(undefined), null);
  const refuse = () => Promise.reject(new DOMException("not here", "SecurityError"));
  assert.equal(await takePlace({ request: refuse } as Locks), null);
});
