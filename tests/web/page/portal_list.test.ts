import assert from "node:assert/strict";
import test from "node:test";
import {
  append,
  choiceOfHash,
  hashOfChoice,
  kAll,
  listAddress,
  renew,
  sortedBy,
  type JobPage,
  type ListedJob,
} from "../../../src/web/page/portal_list";

const job = (address: string, state = "RUNNING") => ({ address, id: address, state }) as ListedJob;
const page = (names: string, next: string | null): JobPage => ({
  jobs: [...names].map((name) => job(name)),
  next,
  now_millis: 0,
  index: { complete: true, done: 0, total: 0, trouble: null },
});
const names = (jobs: ListedJob[]) => jobs.map((each) => each.address).join("");

test("a choice survives its address", () => {
  const choice = { ...kAll, q: "bert & co", user: "ann", state: "FAILED", sort: "-duration" };
  assert.deepEqual(choiceOfHash(`#${hashOfChoice(choice)}`), choice);
  assert.deepEqual(choiceOfHash(""), kAll);
  assert.equal(hashOfChoice(kAll), "");
});

test("the request has what is chosen and nothing else", () => {
  assert.equal(listAddress(kAll, 50, null), "api/v1/jobs?sort=-submitted&limit=50");
  const address = listAddress({ ...kAll, q: " a b ", state: "ALIVE" }, 7, "xyz");
  const parts = new URLSearchParams(address.split("?")[1]);
  assert.deepEqual(Object.fromEntries(parts), { q: "a b", alive: "yes", sort: "-submitted", limit: "7", cursor: "xyz" });
});

test("a further page adds what is new", () => {
  const held = { jobs: page("abc", "1").jobs, next: "1" };
  const more = append(held, page("cde", "2"));
  assert.equal(names(more.jobs), "abcde");
  assert.equal(more.next, "2");
});

test("the first jobs are renewed in front of the rest", () => {
  const held = { jobs: page("abcdef", "far").jobs, next: "far" };
  const renewed = renew(held, { ...page("xab", "near"), jobs: [job("x"), job("a", "FAILED"), job("b")] });
  assert.equal(names(renewed.jobs), "xabcdef");
  assert.equal(renewed.jobs[1].state, "FAILED");
  assert.equal(renewed.next, "far");
});

test("when the order has changed, or there is no more, only what is new stays", () => {
  const held = { jobs: page("abcdef", "far").jobs, next: "far" };
  assert.deepEqual(renew(held, page("xyz", "near")), { jobs: page("xyz", null).jobs, next: "near" });
  assert.deepEqual(renew(held, page("ab", null)), { jobs: page("ab", null).jobs, next: null });
  assert.equal(names(renew({ jobs: page("ab", "1").jobs, next: "1" }, page("xa", "2")).jobs), "xa");
});

test("a second click on a column turns its order round", () => {
  assert.equal(sortedBy("-submitted", "name"), "name");
  assert.equal(sortedBy("name", "name"), "-name");
  assert.equal(sortedBy("-name", "name"), "name");
  assert.equal(sortedBy("name", "duration"), "-duration");
});
