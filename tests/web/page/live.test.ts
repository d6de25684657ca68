// The connection, with a clock and a server of the test's own.
import assert from "node:assert/strict";
import test from "node:test";
import { Problem } from "../../../src/web/page/api";
import {
  kAnswerMillis,
  kDoubtAnswerMillis,
  kFirstByteMillis,
  kHiddenPollMillis,
  kPollMillis,
  kSilenceMillis,
  kSlowMillis,
  Live,
  retryMillis,
  type Browser,
} from "../../../src/web/page/live";
import { StreamParser, type StreamEvent } from "../../../src/web/page/sse";
import type { Job } from "../../../src/web/page/types";
import type { News } from "../../../src/web/page/store";
import type { TabMessage } from "../../../src/web/page/tabs";

test("a stream is read whatever pieces it comes in", () => {
  const text = ": a comment\n\nevent: job\nid: 7\ndata: {\"a\":\ndata: 1}\n\r\nevent: bye\r\ndata: x\r\n\r\ndata: y\n\n";
  for (const size of [1, 2, 3, 7, 1000]) {
    const events: StreamEvent[] = [];
    const parser = new StreamParser((event) => events.push(event));
    for (let at = 0; at < text.length; at += size) parser.push(text.slice(at, at + size));
    assert.deepEqual(
      events,
      [
        { type: "job", data: '{"a":\n1}', id: "7" },
        { type: "bye", data: "x", id: "7" },
        { type: "message", data: "y", id: "7" },
      ],
      `pieces of ${size}`,
    );
  }
});

test("retries come later and later, but no later than 30 s", () => {
  assert.deepEqual([0, 1, 2, 3, 4, 5, 60].map(retryMillis), [1000, 2000, 4000, 8000, 16000, 30000, 30000]);
});

/** Lets promises that are ready go on. */
const settle = async () => {
  for (let i = 0; i < 20; ++i) await Promise.resolve();
  await new Promise((done) => setTimeout(done, 0));
};

class World {
  now = 0;
  isHidden = false;
  timers: { at: number; action: () => void }[] = [];
  news: News[] = [];
  asked: string[] = [];
  job = { id: "j", incarnation: 1, sequence: 5, verdict: null as object | null, recorded: false };
  dead: Error | null = null;
  /** Requests are taken and never answered: the ApplicationMaster was stopped, or the way to it was cut. */
  silent = false;
  unanswered: ((answer: unknown) => void)[] = [];
  /** Places for streams that are free, and how many this page has. */
  freePlaces = 1;
  places = 0;
  /** What was said to other tabs. */
  said: TabMessage[] = [];
  streams: { controller: ReadableStreamDefaultController<Uint8Array>; signal: AbortSignal }[] = [];
  live: Live;

  constructor(proxied = false) {
    const browser: Browser = {
      now: () => this.now,
      later: (millis, action) => {
        const timer = { at: this.now + millis, action };
        this.timers.push(timer);
        return () => (this.timers = this.timers.filter((other) => other !== timer));
      },
      hidden: () => this.isHidden,
      place: () => Promise.resolve(this.place()),
      sayToTabs: (message) => this.said.push(message),
      fetch: (_address, options) => this.stream(options.signal!),
      proxied,
    };
    this.live = new Live(browser, (news) => this.news.push(news), (address, signal) => this.get(address, signal!) as never);
    this.live.start();
  }

  private place(): (() => void) | null {
    if (this.freePlaces === 0) return null;
    this.freePlaces -= 1;
    this.places += 1;
    return () => {
      this.freePlaces += 1;
      this.places -= 1;
    };
  }

  private async get(address: string, signal: AbortSignal): Promise<unknown> {
    this.asked.push(address);
    if (this.silent) {
      await new Promise((done, fail) => {
        this.unanswered.push(done);
        signal.addEventListener("abort", () => fail(new DOMException("aborted", "AbortError")));
      });
    }
    if (this.dead) throw this.dead;
    if (address === "api/v1/jobs") return { jobs: [{ ...this.job }] };
    if (address.includes("/tasks")) return { columns: ["task"], rows: [["w:0"]], next: null, total: 1, sequence: 5 };
    return { ...this.job };
  }

  private stream(signal: AbortSignal): Promise<Response> {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.streams.push({ controller, signal });
        signal.addEventListener("abort", () => controller.error(new Error("aborted")));
      },
    });
    return Promise.resolve(new Response(body, { headers: { "Content-Type": "text/event-stream" } }));
  }

  say(text: string) {
    this.streams[this.streams.length - 1].controller.enqueue(new TextEncoder().encode(text));
  }

  /** The ApplicationMaster goes on, with what was asked meanwhile. */
  goOn() {
    this.silent = false;
    for (const answer of this.unanswered.splice(0)) answer(null);
  }

  async pass(millis: number) {
    const end = this.now + millis;
    for (;;) {
      await settle();
      const next = this.timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.timers = this.timers.filter((timer) => timer !== next);
      this.now = next.at;
      next.action();
    }
    this.now = end;
  }

  get connection() {
    return this.news.flatMap((news) => (news.kind === "connection" ? [news.connection] : [])).pop()!;
  }
  get snapshots() {
    return this.news.filter((news) => news.kind === "snapshot").length;
  }
}

test("the stream's news arrives", async () => {
  const world = new World();
  await world.pass(100);
  world.say(`event: job\ndata: ${JSON.stringify({ ...world.job, sequence: 6 })}\n\n`);
  world.say('event: tasks\ndata: {"columns":["task"],"rows":[["w:0"]]}\n\n');
  await world.pass(100);
  assert.deepEqual(world.news.slice(-2).map((news) => news.kind), ["job", "tasks"]);
  assert.equal(world.connection.kind, "live");
});

test("a stream that says nothing for 5 s gives way to polling", async () => {
  const world = new World();
  await world.pass(kFirstByteMillis - 1);
  assert.equal(world.connection.kind, "live");
  await world.pass(100);
  assert.equal(world.connection.kind, "polling");
  assert.ok(world.streams[0].signal.aborted);
  const before = world.asked.length;
  await world.pass(10 * kPollMillis);
  assert.equal(world.asked.length - before, 20, "the job and its tasks each 2 s");
  assert.equal(world.streams.length, 1, "no further stream is tried");
});

test("behind the proxy nothing is streamed, and a hidden page polls less", async () => {
  const world = new World(true);
  await world.pass(10);
  assert.equal(world.connection.kind, "polling");
  world.isHidden = true;
  world.live.visibilityChanged();
  await world.pass(kPollMillis);
  const before = world.asked.length;
  await world.pass(10 * kHiddenPollMillis);
  assert.equal(world.asked.length - before, 10, "the job alone: its tasks are not seen");
  assert.equal(world.streams.length, 0);
  assert.equal(world.freePlaces, 1);
});

test("a hidden page keeps its stream until another tab wants its place; a shown one begins anew", async () => {
  const world = new World();
  await world.pass(10);
  world.say(": hello\n\n");
  await world.pass(10);
  world.live.heard({ kind: "wanted" });
  assert.equal(world.places, 1, "it is seen itself");
  world.isHidden = true;
  world.live.visibilityChanged();
  world.say(`event: job\ndata: ${JSON.stringify({ ...world.job, sequence: 6 })}\n\n`);
  await world.pass(10);
  assert.equal(world.news[world.news.length - 1].kind, "job", "for its title");
  world.live.heard({ kind: "wanted" });
  assert.equal(world.places, 0);
  assert.ok(world.streams[0].signal.aborted);
  world.freePlaces = 0; // the other tab has it
  const before = world.asked.length;
  await world.pass(10 * kHiddenPollMillis);
  assert.equal(world.streams.length, 1);
  assert.equal(world.asked.length - before, 10, "the job, for the title");
  assert.deepEqual(world.said.filter((message) => message.kind === "wanted"), [], "a hidden page wants nothing");
  world.freePlaces = 1;
  world.isHidden = false;
  world.live.visibilityChanged();
  await world.pass(10);
  assert.equal(world.streams.length, 2);
  assert.equal(world.snapshots, 2);
});

test("a page that is shown again goes on with its stream", async () => {
  const world = new World();
  await world.pass(10);
  world.isHidden = true;
  world.live.visibilityChanged();
  world.isHidden = false;
  world.live.visibilityChanged();
  await world.pass(10);
  assert.equal(world.streams.length, 1);
  assert.equal(world.snapshots, 1);
});

test("a page without a place says that it wants one, and takes the news of a tab that has one", async () => {
  const world = new World();
  world.freePlaces = 0;
  await world.pass(kPollMillis / 2);
  assert.deepEqual(world.said, [{ kind: "wanted" }]);
  world.news = [];
  const job = { ...world.job, sequence: 7, verdict: { outcome: "SUCCEEDED" } } as unknown as Job;
  const hear = (id: string, changed: object) =>
    world.live.heard({ kind: "news", job: id, news: { kind: "job", job: { ...job, ...changed }, at: 0 } });
  hear("another", { id: "another" });
  hear("j", { sequence: 4 });
  hear("j", { incarnation: 2 });
  assert.deepEqual(world.news, []);
  hear("j", {});
  assert.equal(world.news.length, 1);
  // The ApplicationMaster has left: that was the end, and no failure.
  world.dead = new TypeError("failed to fetch");
  await world.pass(60_000);
  assert.equal(world.connection.kind, "over");
});

test("a page that is left holds nothing", async () => {
  const world = new World();
  await world.pass(10);
  world.live.stop();
  assert.equal(world.places, 0);
  assert.ok(world.streams[0].signal.aborted);
  world.live.start();
  await world.pass(10);
  assert.equal(world.streams.length, 2);
});

test("what the stream says is passed on to other tabs, and not back", async () => {
  const world = new World();
  await world.pass(10);
  const job = { ...world.job, sequence: 6 } as unknown as Job;
  world.say(`event: job\ndata: ${JSON.stringify(job)}\n\nevent: tasks\ndata: {"columns":["task"],"rows":[]}\n\n`);
  await world.pass(10);
  const passed = world.said.flatMap((message) => (message.kind === "news" ? [message] : []));
  assert.deepEqual(passed.map(({ job, news }) => `${job} ${news.kind}`), ["j job", "j tasks"]);
  const before = world.news.length;
  world.live.heard({ kind: "news", job: "j", news: { kind: "job", job, at: 0 } });
  assert.equal(world.news.length, before);
});

test("without a place for a stream the page polls, and streams when one is free", async () => {
  const world = new World();
  world.freePlaces = 0;
  await world.pass(100 * kPollMillis);
  assert.equal(world.connection.kind, "polling");
  assert.equal(world.streams.length, 0);
  world.freePlaces = 1;
  world.news = [];
  await world.pass(kPollMillis);
  assert.equal(world.streams.length, 1);
  assert.equal(world.connection.kind, "live");
  // The stream tells of changes since its beginning; what was before has been asked for.
  assert.deepEqual(world.news.map((news) => news.kind), ["connection", "job", "tasks"]);
  world.say(": hello\n\n");
  const before = world.asked.length;
  await world.pass(kSilenceMillis - 1);
  assert.equal(world.asked.length, before, "it polls no longer");
});

test("the place is given back whenever the stream ends, however it ends", async () => {
  for (const end of ["closed", "broken", "silent", "mute"]) {
    const world = new World();
    await world.pass(10);
    assert.equal(world.places, 1, end);
    if (end !== "mute") world.say(":\n\n");
    if (end === "closed") world.streams[0].controller.close();
    if (end === "broken") world.streams[0].controller.error(new TypeError("network error"));
    await world.pass(end === "silent" ? kSilenceMillis - 1 : end === "mute" ? kFirstByteMillis : 500);
    if (end === "silent") assert.equal(world.places, 1);
    world.dead = new TypeError("failed to fetch");
    await world.pass(60_000);
    assert.equal(world.places, 0, end);
    assert.equal(world.freePlaces, 1, end);
  }
});

test("a job that ends while it is polled and is history then is loaded once more", async () => {
  const world = new World();
  world.freePlaces = 0;
  await world.pass(10 * kPollMillis);
  world.job = { ...world.job, recorded: true, verdict: {} };
  await world.pass(kPollMillis);
  assert.equal(world.connection.kind, "recorded");
  const before = world.asked.length;
  await world.pass(3_600_000);
  assert.equal(world.asked.length, before);
});

test("comments keep a stream; silence ends it", async () => {
  const world = new World();
  await world.pass(10);
  for (let i = 0; i < 20; ++i) {
    world.say(":\n\n");
    await world.pass(15_000);
  }
  assert.equal(world.streams.length, 1);
  await world.pass(60_000);
  assert.equal(world.streams.length, 2);
});

test("another incarnation is loaded from its beginning", async () => {
  const world = new World();
  await world.pass(10);
  world.job.incarnation = 2;
  world.say(`event: job\ndata: ${JSON.stringify(world.job)}\n\n`);
  await world.pass(100);
  assert.equal(world.snapshots, 2);
});

test("when nobody answers, the page says so and tries again with growing pauses", async () => {
  const world = new World();
  await world.pass(10);
  world.dead = new TypeError("failed to fetch");
  world.streams[0].controller.close();
  await world.pass(2_000);
  const gone = world.connection;
  assert.equal(gone.kind, "gone");
  const before = world.asked.length;
  await world.pass(300_000);
  assert.ok(world.asked.length - before <= 15, `${world.asked.length - before} tries in five minutes`);
  world.dead = null;
  await world.pass(30_000);
  assert.equal(world.connection.kind, "live");
});

test("of an ApplicationMaster that is silent the page says so within 23 s, and goes on when it is back", async () => {
  const world = new World();
  await world.pass(10);
  world.say(":\n\n");
  await world.pass(10);
  const last = world.now;
  world.silent = true;
  await world.pass(kSilenceMillis - 20);
  assert.equal(world.connection.kind, "live", "the next comment is not that late");
  await world.pass(100);
  assert.deepEqual(world.connection, { kind: "silent", since: 10 }, "the time of its last words");
  await world.pass(kDoubtAnswerMillis);
  const gone = world.connection;
  assert.ok(gone.kind === "gone" && gone.since === 10 && gone.reason === "The job's ApplicationMaster does not answer.");
  assert.ok(world.now - last < 23_500, `${world.now - last} ms`);
  assert.equal(world.places, 0);
  const before = world.asked.length;
  await world.pass(60_000);
  assert.equal(world.connection.kind, "gone", "and not silent, in turns");
  assert.ok(world.asked.length - before >= 3, "it keeps trying, with a shorter deadline");
  world.goOn();
  for (let seconds = 0; seconds < 30 && world.connection.kind === "gone"; ++seconds) await world.pass(1_000);
  assert.equal(world.connection.kind, "live");
});

test("a busy ApplicationMaster is not called gone", async () => {
  const world = new World();
  await world.pass(10);
  world.say(":\n\n");
  await world.pass(10);
  // The comment comes late, and before the answer.
  world.silent = true;
  await world.pass(kSilenceMillis + kDoubtAnswerMillis - 1_000);
  assert.equal(world.connection.kind, "silent");
  world.say(":\n\n");
  await world.pass(10);
  assert.equal(world.connection.kind, "live");
  await world.pass(10_000);
  assert.equal(world.connection.kind, "live", "the late answer does not matter any more");
  assert.equal(world.streams.length, 1);
  world.goOn();
  // The stream alone is dead: the answer comes, and another stream is opened.
  await world.pass(10_000);
  assert.deepEqual(world.news.filter((news) => news.kind === "connection" && news.connection.kind === "gone"), []);
  assert.equal(world.streams.length, 2);
  assert.equal(world.connection.kind, "live");
});

test("a page that polls says that an answer is awaited, and then that none comes", async () => {
  const world = new World(true);
  await world.pass(kPollMillis + 10);
  world.silent = true;
  await world.pass(kPollMillis + kSlowMillis);
  assert.equal(world.connection.kind, "silent");
  await world.pass(kAnswerMillis - kSlowMillis);
  assert.equal(world.connection.kind, "gone");
  world.goOn();
  await world.pass(30_000);
  assert.equal(world.connection.kind, "polling");
  world.silent = true;
  await world.pass(kPollMillis + kSlowMillis);
  world.goOn();
  await world.pass(10);
  assert.equal(world.connection.kind, "polling", "it was only slow");
});

test("a job that had ended is over when nobody answers", async () => {
  const world = new World();
  await world.pass(10);
  world.say(`event: job\ndata: ${JSON.stringify({ ...world.job, verdict: { outcome: "SUCCEEDED" } })}\n\n`);
  await world.pass(10);
  world.dead = new TypeError("failed to fetch");
  world.streams[0].controller.close();
  await world.pass(10_000);
  assert.equal(world.connection.kind, "over");
  const before = world.asked.length;
  await world.pass(3_600_000);
  assert.equal(world.asked.length, before, "nobody is asked any more");
});

test("a refusal is shown with its command", async () => {
  const world = new World();
  await world.pass(10);
  world.dead = new Problem(403, "The visit has expired.", "tony open j");
  world.streams[0].controller.close();
  await world.pass(2_000);
  const gone = world.connection;
  assert.ok(gone.kind === "gone" && gone.command === "tony open j" && gone.reason === "The visit has expired.");
});

test("a job of the past is fetched once, and no stream stays open for it", async () => {
  const world = new World();
  await settle();
  assert.equal(world.streams.length, 1);
  world.job = { ...world.job, recorded: true, verdict: {} };
  const text = `event: job\ndata: ${JSON.stringify(world.job)}\n\n`;
  world.streams[0].controller.enqueue(new TextEncoder().encode(text));
  await settle();
  for (const timer of world.timers.splice(0)) timer.action();
  await settle();
  assert.ok(world.streams[0].signal.aborted);
  assert.equal(world.streams.length, 1);
  const connections = world.news.flatMap((news) => (news.kind === "connection" ? [news.connection.kind] : []));
  assert.equal(connections[connections.length - 1], "recorded");
});
