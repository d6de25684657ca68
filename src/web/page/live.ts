// Keeps the page up to date: by an event stream while this tab has a place for one (tabs.ts), else by polling; and
// what happens when nobody answers.
//
//   load ──▶ stream ──bye, broken──▶ load        A page without a stream begins with load when it is shown.
//     │       ▲  │  ╲ silent for 18 s: is somebody there? no answer within 5 s ──▶ gone
//     │  place│  │hidden, and the place is wanted; no byte at first, for 5 s
//     │       │  ▼
//     ├────▶ poll each 2 s, 10 s when hidden
//     └─nobody answers──▶ gone ──1 s, 2 s, … 30 s──▶ load
import { following, getJson, jobAddress, Problem } from "./api";
import { StreamParser, type StreamEvent } from "./sse";
import type { News } from "./store";
import type { TabMessage } from "./tabs";
import type { Job, TaskTable } from "./types";

/** The browser, as far as the connection needs it. */
export interface Browser {
  now(): number;
  /** Calls `action` after `millis`; the result cancels that. */
  later(millis: number, action: () => void): () => void;
  hidden(): boolean;
  /** A place for a stream: the result gives it back. Null: there is none now. */
  place(): Promise<(() => void) | null>;
  /** Says something to the other tabs, which call Live.heard(). */
  sayToTabs(message: TabMessage): void;
  fetch(address: string, options: RequestInit): Promise<Response>;
  proxied: boolean;
}

export const kFirstByteMillis = 5_000;
/** The server sends a comment each 15 s. A stream that is silent for longer is doubted: it may be that the server is
 * busy, so it is asked for something small before the page says that nobody answers. */
export const kSilenceMillis = 18_000;
export const kDoubtAnswerMillis = 5_000;
/** So long the job's state may take; it is small, and the server has it at hand. */
export const kAnswerMillis = 20_000;
/** After this much of it the page says that it waits. */
export const kSlowMillis = 10_000;
/** The same for a page that has said so already: the next try begins sooner. */
export const kRetryAnswerMillis = 10_000;
/** The tasks' rows may be many. */
export const kTasksMillis = 40_000;
export const kPollMillis = 2_000;
export const kHiddenPollMillis = 10_000;
export const kLongestRetryMillis = 30_000;
/** From so many tasks on, polling asks for their rows less often. */
const kManyTasks = 1_000;

export function retryMillis(failures: number): number {
  return Math.min(kLongestRetryMillis, 1_000 * 2 ** Math.min(failures, 10));
}

/** Whether nothing will happen any more in a job that is shown from its history. */
function isPast(job: Job): boolean {
  return job.recorded && (job.verdict !== null || job.state === "LOST");
}

export class Live {
  private job: Job | null = null;
  private failures = 0;
  private goneSince = 0;
  /** When the server said something last; 0: never. */
  private heardAt = 0;
  private mayStream: boolean;
  private abort = new AbortController();
  private cancelTimer: () => void = () => {};
  /** Gives back the place for a stream that this page has. */
  private givePlaceBack: (() => void) | null = null;

  constructor(
    private readonly browser: Browser,
    private readonly tell: (news: News) => void,
    private readonly get: typeof getJson = getJson,
  ) {
    this.mayStream = !browser.proxied;
  }

  start(): void {
    void this.load();
  }

  /** To be called when the page is left. The browser may keep it for its "Back", with all that it holds; then start()
   * goes on. */
  stop(): void {
    this.halt();
  }

  /** To be called when the page was hidden or shown. */
  visibilityChanged(): void {
    if (!this.browser.hidden() && !this.givePlaceBack) void this.load();
  }

  /** To be called with what another tab says. */
  heard(message: TabMessage): void {
    if (message.kind === "wanted") {
      if (!this.givePlaceBack || !this.browser.hidden()) return;
      this.halt();
      return this.pollLater(0);
    }
    const { news } = message;
    // The stream is the better source. What was polled may be newer, and another attempt is loaded by polling.
    if (this.givePlaceBack || !this.job || message.job !== this.job.id) return;
    if (news.kind === "job") {
      if (news.job.incarnation !== this.job.incarnation || news.job.sequence < this.job.sequence) return;
      this.job = news.job;
    }
    this.tell(news);
  }

  private halt(): void {
    this.leavePlace();
    this.cancelTimer();
    this.abort.abort();
    this.abort = new AbortController();
  }

  private leavePlace(): void {
    this.givePlaceBack?.();
    this.givePlaceBack = null;
  }

  /** Whether this page may hold a stream now. */
  private async takePlace(signal: AbortSignal): Promise<boolean> {
    if (!this.mayStream) return false;
    const giveBack = await this.browser.place();
    if (!giveBack) {
      if (!this.browser.hidden()) this.browser.sayToTabs({ kind: "wanted" });
      return false;
    }
    // Meanwhile another attempt may have begun, which takes a place of its own.
    if (signal.aborted) giveBack();
    else this.givePlaceBack = giveBack;
    return !signal.aborted;
  }

  private wait(millis: number, action: () => void): void {
    this.cancelTimer();
    this.cancelTimer = this.browser.later(millis, action);
  }

  /** Fetches JSON, for at most `millis`. Throws as getJson() does. */
  private async ask<T>(address: string, signal: AbortSignal, millis: number): Promise<T> {
    const { abort, release } = following(signal);
    const cancel = this.browser.later(millis, () => abort.abort());
    try {
      const answer = await this.get<T>(address, abort.signal);
      this.heardAt = this.browser.now();
      return answer;
    } finally {
      cancel();
      release();
    }
  }

  /** Fetches the job's state, and says so when that takes long. */
  private askForJob<T>(address: string, signal: AbortSignal): Promise<T> {
    const gone = this.goneSince !== 0;
    if (this.job && !gone) this.wait(kSlowMillis, () => this.doubt());
    return this.ask<T>(address, signal, gone ? kRetryAnswerMillis : kAnswerMillis);
  }

  private doubt(): void {
    this.tell({ kind: "connection", connection: { kind: "silent", since: this.heardAt } });
  }

  /** Fetches everything, and goes on with the stream or with polling. */
  private async load(): Promise<void> {
    this.halt();
    const signal = this.abort.signal;
    try {
      const job = (await this.askForJob<{ jobs: Job[] }>("api/v1/jobs", signal)).jobs[0];
      if (signal.aborted) return;
      this.cancelTimer();
      if (!job) throw new Problem(404, "The server knows of no job.");
      const tasks = await this.loadTasks(job.id, signal);
      const placed = !isPast(job) && (await this.takePlace(signal));
      if (signal.aborted) return;
      this.arrived(job);
      this.tell({ kind: "snapshot", job, tasks, at: this.browser.now() });
      if (isPast(job)) {
        this.tell({ kind: "connection", connection: { kind: "recorded" } });
      } else if (placed) await this.stream(job, signal);
      else this.pollLater(tasks[0]?.total ?? 0);
    } catch (error) {
      if (!signal.aborted) this.lost(error);
    }
  }

  private async loadTasks(job: string, signal: AbortSignal): Promise<TaskTable[]> {
    const pages: TaskTable[] = [];
    let cursor: string | undefined;
    do {
      const address = jobAddress(job, "tasks", { limit: 10_000, cursor });
      const page = await this.ask<TaskTable>(address, signal, kTasksMillis);
      pages.push(page);
      cursor = page.next ?? undefined;
    } while (cursor);
    return pages;
  }

  private arrived(job: Job): void {
    this.job = job;
    this.failures = 0;
    this.goneSince = 0;
    this.tell({ kind: "connection", connection: { kind: this.givePlaceBack ? "live" : "polling" } });
  }

  private pollLater(tasks: number, count = 1): void {
    const millis = this.browser.hidden() ? kHiddenPollMillis : kPollMillis;
    this.wait(millis, () => void this.poll(tasks, count));
  }

  private async poll(tasks: number, count: number): Promise<void> {
    const signal = this.abort.signal;
    try {
      const placed = await this.takePlace(signal);
      const job = await this.askForJob<Job>(jobAddress(this.job!.id, ""), signal);
      if (signal.aborted) return;
      this.cancelTimer();
      if (job.incarnation !== this.job!.incarnation || isPast(job)) return void this.load();
      const changed = job.sequence !== this.job!.sequence;
      this.arrived(job);
      this.tell({ kind: "job", job, at: this.browser.now() });
      // Of a hidden page only its title is seen. A stream says what has changed since, so it begins with all tasks.
      if (placed || (!this.browser.hidden() && (changed || tasks < kManyTasks || count % 5 === 0))) {
        for (const table of await this.loadTasks(job.id, signal)) this.tell({ kind: "tasks", table });
      }
      if (placed) await this.stream(job, signal);
      else this.pollLater(tasks, count + 1);
    } catch (error) {
      if (!signal.aborted) this.lost(error);
    }
  }

  /** Reads the stream until it ends. If it says nothing at first, polling takes its place for good; if it falls silent
   * later, the server is asked whether it is still there. */
  private async stream(job: Job, signal: AbortSignal): Promise<void> {
    const { abort, release } = following(signal);
    let heard = false;
    let doubted = false;
    let doubts = 0;
    let failure: unknown = null;
    const doubt = async () => {
      const mine = ++doubts;
      doubted = true;
      this.doubt();
      const asked = this.ask(jobAddress(job.id, ""), abort.signal, kDoubtAnswerMillis);
      const problem: unknown = await asked.then(() => null, (error) => error);
      // If the stream spoke meanwhile, the answer does not matter.
      if (mine !== doubts || !doubted) return;
      // Either nobody is there, or this stream is dead.
      failure = problem;
      abort.abort();
    };
    const mute = () => {
      this.mayStream = false;
      abort.abort();
    };
    const watch = () => this.wait(heard ? kSilenceMillis : kFirstByteMillis, heard ? () => void doubt() : mute);
    watch();
    try {
      const address = jobAddress(job.id, "events", { after: job.sequence });
      const response = await this.browser.fetch(address, {
        signal: abort.signal,
        // Firefox lets requests for the same address wait for each other, to share what is cached.
        cache: "no-store",
        headers: { Accept: "text/event-stream" },
      });
      if (!response.ok || !response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
        this.mayStream = false;
        return void this.load();
      }
      await this.read(response, () => {
        heard = true;
        this.heardAt = this.browser.now();
        if (doubted) this.tell({ kind: "connection", connection: { kind: "live" } });
        doubted = false;
        watch();
      });
    } catch (error) {
      if (signal.aborted) return;
      if (!abort.signal.aborted) return this.lost(error);
    } finally {
      release();
      if (!signal.aborted) this.leavePlace();
    }
    if (failure && !signal.aborted) return this.lost(failure);
    // The stream has ended, or it alone was silent for too long: a new snapshot says how things are.
    if (!signal.aborted) this.wait(heard ? 1_000 : 0, () => void this.load());
  }

  private async read(response: Response, heard: () => void): Promise<void> {
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    const parser = new StreamParser((event) => this.take(event));
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      parser.push(decoder.decode(value, { stream: true }));
    }
  }

  private take(event: StreamEvent): void {
    if (event.type === "tasks") this.pass({ kind: "tasks", table: JSON.parse(event.data) as TaskTable });
    if (event.type !== "job") return;
    const job = JSON.parse(event.data) as Job;
    if (job.incarnation !== this.job!.incarnation) return void this.load();
    this.job = job;
    this.pass({ kind: "job", job, at: this.browser.now() });
    // Nothing more will come; the rest of this frame does first.
    if (isPast(job)) this.wait(1_000, () => void this.load());
  }

  /** Tells what the stream said, here and in tabs that have none: its last words are a job's end, which nobody can ask
   * an ApplicationMaster for that has left. */
  private pass(news: News): void {
    this.tell(news);
    this.browser.sayToTabs({ kind: "news", job: this.job!.id, news });
  }

  /** Nobody answers, or what answers refuses. */
  private lost(error: unknown): void {
    this.leavePlace();
    const now = this.browser.now();
    if (this.goneSince === 0) this.goneSince = this.heardAt || now;
    const delay = retryMillis(this.failures);
    this.failures += 1;
    const refused = error instanceof Problem;
    // An ApplicationMaster ends with its job, and nobody comes after it. A network may fail then, too, so it is asked twice.
    if (this.job?.verdict && !refused && this.failures > 2) {
      return this.tell({ kind: "connection", connection: { kind: "over", since: this.goneSince } });
    }
    const reason = refused ? error.message : "The job's ApplicationMaster does not answer.";
    const command = refused ? error.command : "";
    this.tell({
      kind: "connection",
      connection: { kind: "gone", since: this.goneSince, reason, command, retryAt: now + delay },
    });
    this.wait(delay, () => void this.load());
  }
}
