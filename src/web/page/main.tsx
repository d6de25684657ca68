// The live page of a job: takes the place of the page without scripts, from which it was started.
import { Fragment, h, render } from "preact";
import { useEffect, useLayoutEffect, useMemo, useReducer, useState } from "preact/hooks";
import { behindProxy, getJson, jobAddress } from "./api";
import { Charts } from "./charts";
import { AdviceSection, Config, Past } from "./details";
import { Freshness, Head, VerdictCard, VisualizationCard, WaitCard, type Open } from "./first";
import { memorySetting, taskPath } from "./format";
import { Live } from "./live";
import { Logs, LogsElsewhere, type Chosen } from "./log";
import { jobTitle } from "./log_text";
import { useRefresh } from "./refresh";
import { restartMarks } from "./restart_marks";
import { hasStacks } from "./stack_text";
import { StacksSection } from "./stacks";
import { apply, kNothing, type News, type State } from "./store";
import { takePlace, type TabMessage } from "./tabs";
import { Tasks } from "./tasks";
import { TimelineSection } from "./timeline";
import type { Advice, ConfigKey, Errors, Job, Meaning, PreviousConfig, Stacks, Timeline } from "./types";

const proxied = behindProxy(location.pathname);

/** Starts the connection, and gathers its news into one state per frame. */
function useLive(): State {
  const [state, tell] = useReducer((held: State, news: News[]) => news.reduce(apply, held), kNothing);
  useEffect(() => {
    let queue: News[] = [];
    const flush = () => {
      tell(queue);
      queue = [];
    };
    // All pages behind a proxy have its origin, also those of other users; nothing is streamed there anyway.
    const tabs = proxied ? null : new BroadcastChannel("tony");
    const live = new Live(
      {
        now: () => Date.now(),
        later: (millis, action) => {
          const timer = setTimeout(action, millis);
          return () => clearTimeout(timer);
        },
        hidden: () => document.hidden,
        sayToTabs: (message) => tabs?.postMessage(message),
        place: () => takePlace(navigator.locks as LockManager | undefined),
        fetch: (address, options) => fetch(address, options),
        proxied,
      },
      (news) => {
        queue.push(news);
        if (queue.length === 1) setTimeout(flush, 0);
      },
    );
    live.start();
    if (tabs) tabs.onmessage = (event: MessageEvent<TabMessage>) => live.heard(event.data);
    document.addEventListener("visibilitychange", () => live.visibilityChanged());
    addEventListener("pagehide", () => live.stop());
    addEventListener("pageshow", (event) => event.persisted && live.start());
  }, []);
  return state;
}

/** The browser's clock each second, for durations that grow by themselves. */
function useNow(skew: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now + skew;
}

/** A resource beside the stream: fetched again each `millis`, and when one of `inputs` changes. Null until it is there;
 * `job` null: it is not wanted. */
function useResource<T>(job: Job | null, resource: string, millis: number | null, inputs: unknown[]): T | null {
  const [value, setValue] = useState<T | null>(null);
  const load = async (signal: AbortSignal) => {
    if (!job) return;
    try {
      const next = await getJson<T>(jobAddress(job.id, resource), signal);
      if (!signal.aborted) setValue(next);
    } catch {
      // There is none yet, or nobody answers, which the connection tells: what there is stays.
    }
  };
  useRefresh(load, job ? millis : null, [job?.id, ...inputs]);
  return value;
}

const kRarely = 60_000;
/** A portal copies logs within seconds; the requests are small. A cluster that collects none is not asked so often for
 * long. */
const kCopyMillis = 2_000;
const kMostSoonAsks = 150;
/** Above the number of any job's tasks. */
const kMostTasks = 1_000_000;

interface Contract {
  paths: Record<string, object>;
}

/** Says what this server serves, by its own description: asking for what it lacks would be an error in the console. */
function useOffered(): (job: Job | null, resource: string) => Job | null {
  const [contract, setContract] = useState<Contract | null>(null);
  useEffect(() => {
    getJson<Contract>("api/v1/openapi.json").then(setContract, () => {});
  }, []);
  return (job, resource) => (contract?.paths[`/api/v1/jobs/{job}/${resource}`] ? job : null);
}

/** What may be done with the job. The portal may have its logs later, or more of them, which no event tells, so it is
 * asked for them as long as something is said to be missing. */
function useMay(job: Job | null, over: boolean): Job["may"] | undefined {
  const [asked, setAsked] = useState<Job["may"] | null>(null);
  const [asks, setAsks] = useState(0);
  const may = asked ?? job?.may;
  const lacks = !!job?.recorded && typeof may?.logs_note === "string";
  const soon = over && may?.logs === false;
  const load = async (signal: AbortSignal) => {
    try {
      const next = await getJson<Job>(jobAddress(job!.id, ""), signal);
      if (signal.aborted) return;
      setAsked(next.may);
    } catch {
      // Nobody answers, which the connection tells.
    }
    setAsks((before) => (soon ? before + 1 : 0));
  };
  const pause = soon && asks < kMostSoonAsks ? kCopyMillis : kRarely;
  // Also those that have come may go again, when the page was not shown for long and others took their room.
  useRefresh(load, lacks || asked ? pause : null, [job?.id]);
  return may;
}

function withLogs(job: Job | null, may: Job["may"] | undefined): Job | null {
  return job && { ...job, may: { ...job.may, logs: may?.logs, logs_note: may?.logs_note } };
}

/** What changes with events only is asked for when there are new ones, but not with each of a burst. */
function useSequenceStep(sequence: number, millis: number): number {
  const [step, setStep] = useState(sequence);
  useEffect(() => {
    if (sequence === step) return;
    const timer = setTimeout(() => setStep(sequence), millis);
    return () => clearTimeout(timer);
  }, [sequence === step, step]);
  return step;
}

function guiltyOrFirst(state: State): string {
  const guilty = state.job?.verdict?.guilty;
  if (guilty) return guilty;
  const failed = state.tasks.find((task) => task.state === "FAILED");
  return failed?.task ?? state.tasks[0]?.task ?? "am";
}

const kNoTasks: Timeline = {
  rows: [],
  ends: { rows: [] },
  first_steps: { rows: [] },
  epochs: [],
  begin_millis: 0,
  now_millis: 0,
  dropped: 0,
};

function Page() {
  const state = useLive();
  const offered = useOffered();
  const { tasks, connection } = state;
  const may = useMay(state.job, connection.kind === "recorded");
  const job = useMemo(() => withLogs(state.job, may), [state.job, may]);
  const now = useNow(state.clockSkew);
  const [utc, setUtc] = useState(localStorage.getItem("tony-utc") === "yes");
  const [chosen, setChosen] = useState<Chosen>({ task: "", turn: 0 });
  const alive = !!job && job.phase !== "ENDED" && connection.kind !== "over" && connection.kind !== "recorded";
  // A first step is no event, and yet something new of the timeline.
  const stepping = useMemo(() => tasks.filter((task) => task.step !== null).length, [tasks]);
  const step = useSequenceStep((job?.sequence ?? 0) * kMostTasks + stepping, tasks.length > 2_000 ? 5_000 : 1_000);
  const timeline = useResource<Timeline>(job, "timeline", kRarely, [step, state.generation]) ?? kNoTasks;
  const failures = (job?.counts.FAILED ?? 0) + (job?.attempt ?? 0) + (job?.verdict ? 1 : 0);
  const wrong = !!job && (job.verdict?.outcome === "FAILED" || failures > 1);
  const logs = job?.may.logs !== false;
  const errors = useResource<Errors>(wrong && logs ? job : null, "errors", kRarely, [failures, may?.logs_note]);
  const shown = chosen.task ? chosen : { task: guiltyOrFirst(state), turn: 0 };
  const choose = (task: string) => setChosen({ task, turn: chosen.turn + 1 });
  const placed = !logs && tasks.some((task) => task.task === shown.task);
  const place = useResource<{ log_url: string | null }>(
    placed ? job : null, `tasks/${taskPath(shown.task)}`, kRarely, [shown.task]);
  const config = useResource<{ keys: ConfigKey[] }>(job, "config", kRarely * 10, [state.generation]);
  const previous = useResource<PreviousConfig>(offered(job, "config/previous"), "config/previous", kRarely * 100, [state.generation]);
  const metrics = useResource<{ metrics: Meaning[] }>(offered(job, "metrics"), "metrics", 10_000, [state.generation]);
  const advice = useResource<Advice>(offered(job, "advice"), "advice", kRarely, [!!job?.verdict]);
  const [taken, setTaken] = useState(0);
  const stacks = useResource<Stacks>(proxied ? null : offered(job, "stacks"), "stacks", kRarely, [taken, job?.notes.length, logs, may?.logs_note]);
  const memory = useMemo(() => memoryByType(config?.keys ?? []), [config]);
  const restarts = useMemo(() => restartMarks(timeline), [timeline]);

  useEffect(() => {
    if (job) document.title = `${job.state} – ${jobTitle(job)}`;
  }, [job?.state, job?.name]);
  const changeUtc = (wanted: boolean) => {
    localStorage.setItem("tony-utc", wanted ? "yes" : "no");
    setUtc(wanted);
  };
  const open: Open = (task, place) => {
    setChosen({ task, turn: chosen.turn + 1, place, opened: true });
    // Not smoothly: what the log changes on its way would end the way half-way.
    document.getElementById("logs")?.scrollIntoView({ block: "start", behavior: "instant" });
  };

  useLayoutEffect(() => {
    if (!job) return;
    document.body.className = "live";
    document.body.replaceChildren(root);
  }, [!job]);

  if (!job) return connection.kind === "gone" ? <Freshness connection={connection} now={now - state.clockSkew} utc={utc} /> : null;
  return (
    <Fragment>
      <Head job={job} now={now} utc={utc} proxied={proxied} onUtc={changeUtc} />
      <nav aria-label="Sections">
        <a href="#tasks">Tasks</a>
        <a href="#timeline">Timeline</a>
        {metrics && metrics.metrics.length > 0 && <a href="#charts">Charts</a>}
        <a href="#logs">Logs</a>
        {stacks && (!job.verdict || hasStacks(stacks)) && <a href="#stacks">Stacks</a>}
        {config && <a href="#config">Configuration</a>}
        <Freshness connection={connection} now={now - state.clockSkew} utc={utc} />
      </nav>
      <main>
        <WaitCard job={job} now={now} />
        <VerdictCard job={job} errors={errors} open={open} />
        <VisualizationCard job={job} proxied={proxied} />
        <Tasks tasks={tasks} counts={job.counts} now={job.ended_millis ?? now} memory={memory} open={open} />
        {timeline.rows.length > 0 && (
          <TimelineSection timeline={timeline} now={now} ended={job.ended_millis} utc={utc} open={open} />
        )}
        {metrics && <Charts job={job} meanings={metrics.metrics} now={now} utc={utc} alive={alive} restarts={restarts} />}
        {logs ? (
          <Logs
            job={job}
            tasks={tasks}
            chosen={shown}
            choose={choose}
            alive={alive}
            utc={utc}
            now={job.ended_millis ?? now}
          />
        ) : (
          <LogsElsewhere
            job={job}
            tasks={tasks}
            task={shown.task}
            choose={choose}
            url={shown.task === "am" ? job.master_log_url : (place?.log_url ?? null)}
          />
        )}
        {advice && <AdviceSection advice={advice} />}
        {stacks && (
          <StacksSection job={job} stacks={stacks} utc={utc} onTaken={() => setTaken(taken + 1)} />
        )}
        <Past job={job} utc={utc} />
        {config && <Config keys={config.keys} previous={previous} utc={utc} />}
      </main>
      <footer>
        In a terminal, also later: <code>tony status {job.id}</code>, <code>tony logs {job.id}</code>.
      </footer>
    </Fragment>
  );
}

/** The memory that each type asks for, of tony.TYPE.memory. */
function memoryByType(keys: ConfigKey[]): Map<string, number> {
  const result = new Map<string, number>();
  for (const { key, value } of keys) {
    const match = /^tony\.([A-Za-z0-9_.-]+)\.memory$/.exec(key);
    const size = match && memorySetting(value);
    if (size) result.set(match![1], size);
  }
  return result;
}

// The page without scripts stays until there is something to show in its place.
const root = document.createElement("div");
document.body.prepend(root);
render(<Page />, root);
