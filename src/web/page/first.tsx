// The first screen: the job's state, why, whose fault, what is waited for, and how many tasks are where.
import { Fragment, h } from "preact";
import { useState } from "preact/hooks";
import { dateTime, duration, jobAge, stateClass } from "./format";
import { cleaned, shownName } from "./log_text";
import type { Connection } from "./store";
import type { LogPlace } from "./log_window";
import type { Errors, FoundError, Job } from "./types";
import { StopButton } from "./stop";

export function Badge({ state, text }: { state: string; text?: string }) {
  return <span class={`badge ${stateClass(state)}`}>{text ?? state}</span>;
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

interface HeadProps {
  job: Job;
  now: number;
  utc: boolean;
  proxied: boolean;
  onUtc: (utc: boolean) => void;
}

export function Head({ job, now, utc, proxied, onUtc }: HeadProps) {
  return (
    <header>
      {job.recorded && (
        <a class="quiet" href="../../">
          All jobs
        </a>
      )}
      <div class="title">
        <h1>
          {shownName(job.name) || "Job"} <Badge state={job.state} />
        </h1>
        <StopButton job={job} proxied={proxied} />
      </div>
      <dl>
        <Fact name="Job">
          <code>{job.id}</code>
        </Fact>
        <Fact name="User">{shownName(job.user)}</Fact>
        <Fact name="Framework">{shownName(job.framework)}</Fact>
        <Fact name="Backend">{job.backend}</Fact>
        {job.submitted_millis !== null && <Fact name="Submitted">{dateTime(job.submitted_millis, utc)}</Fact>}
        <Fact name={job.ended_millis ? "Ran for" : "Age"}>{duration(jobAge(job, now))}</Fact>
        {job.attempt > 1 && <Fact name="Attempt">{job.attempt}</Fact>}
        <Fact name="Times">
          <label>
            <input type="checkbox" checked={utc} onChange={(event) => onUtc(event.currentTarget.checked)} /> UTC
          </label>
        </Fact>
      </dl>
    </header>
  );
}

/** How current the page is, where `now` is the browser's own clock; role=status, so that screen readers tell of a change. */
export function Freshness({ connection, now, utc }: { connection: Connection; now: number; utc: boolean }) {
  switch (connection.kind) {
    case "live":
      return <p class="fresh live">live</p>;
    case "polling":
      return <p class="fresh live">renewed every 2 s</p>;
    case "silent":
      return <p class="fresh doubt">Nothing has been heard for {duration(now - connection.since)}; asking again …</p>;
    case "recorded":
      return <p class="fresh">from the job's history</p>;
    case "over":
      return (
        <p class="fresh" role="status">
          The job has ended, and so has its ApplicationMaster. This is what it said last, at{" "}
          {dateTime(connection.since, utc)}.
        </p>
      );
    case "gone":
      return (
        <p class="fresh gone" role="status">
          {connection.reason} {connection.command && <code>{connection.command}</code>} What you see is as of{" "}
          {dateTime(connection.since, utc)};{" "}
          {connection.retryAt > now ? `next try in ${duration(connection.retryAt - now)}` : "trying now"}.
        </p>
      );
    default:
      return <p class="fresh">loading …</p>;
  }
}

const textOf = (lines: string[]) => lines.map(cleaned).join("\n");

/** Opens a task's log, at its end or at a place. */
export type Open = (task: string, place?: LogPlace) => void;

/** Where the first line of an error stands; undefined: only the log is known. */
export const placeOf = ({ attempt, stream, offset }: FoundError): LogPlace | undefined =>
  offset === null ? undefined : { attempt, stream, offset };

function Excerpt({ error, open }: { error: FoundError; open: Open }) {
  return (
    <Fragment>
      <p class="quiet">
        {error.mention ? "Perhaps only a message: " : ""}
        <button class="link" onClick={() => open(error.task, placeOf(error))}>
          {error.task}, {error.stream}, line {error.line}
        </button>
      </p>
      <pre tabIndex={0}>
        {textOf(error.before)}
        {error.before.length > 0 && "\n"}
        <mark>{textOf(error.lines)}</mark>
      </pre>
    </Fragment>
  );
}

interface VerdictProps {
  job: Job;
  errors: Errors | null;
  open: Open;
}

/** The verdict with the guilty task and its last lines; before there is one, the last failed run. */
export function VerdictCard({ job, errors, open }: VerdictProps) {
  const verdict = job.verdict;
  const failure = errors?.failure ?? null;
  if (!verdict && !failure) return null;
  const guilty = verdict ? verdict.guilty : failure!.guilty;
  const exit = verdict ? verdict.exit : failure!.exit;
  // The search for errors knows the line; the tail is only the end of what was printed.
  const own = errors?.own ?? null;
  return (
    <section class={`card ${verdict ? stateClass(verdict.outcome) : "bad"}`} aria-label="Verdict">
      {verdict ? (
        <h2>
          {verdict.outcome} <small>{verdict.reason}</small>
        </h2>
      ) : (
        <h2>An earlier run failed</h2>
      )}
      <p>{verdict ? verdict.sentence : failure!.sentence}</p>
      {guilty && (
        <p>
          Because of{" "}
          <button class="link" onClick={() => open(guilty)}>
            <b>{guilty}</b>
          </button>
          {exit && `, which ${exit.description}`}
        </p>
      )}
      {own ? <Excerpt error={own} open={open} /> : exit && exit.tail.length > 0 && <pre tabIndex={0}>{textOf(exit.tail)}</pre>}
      {errors?.after && (
        <details>
          <summary>Others printed errors because of it</summary>
          <Excerpt error={errors.after} open={open} />
        </details>
      )}
    </section>
  );
}

/** How the API begins what is waited for when ranks wait for each other. */
const kStalled = "STALLED: ";

export function WaitCard({ job, now }: { job: Job; now: number }) {
  const waiting = job.waiting;
  if (!waiting || job.verdict) return null;
  const stalled = waiting.what.startsWith(kStalled);
  const what = stalled ? waiting.what.slice(kStalled.length) : waiting.what;
  return (
    <section class={`card ${stalled ? "bad" : "waiting"}`} aria-label="Waiting">
      <p>
        <b>
          {stalled ? "STALLED" : "Waiting for"} {duration(now - waiting.since_millis)}:
        </b>{" "}
        {what}
      </p>
      {waiting.missing.length > 0 && <p>Awaited: {waiting.missing.join(", ")}</p>}
      {waiting.unblock && <p class="quiet">{waiting.unblock}</p>}
    </section>
  );
}

/** What a frame of the program may do: all but leading the page itself elsewhere. */
const kProgramMay = "allow-scripts allow-same-origin allow-forms allow-popups allow-downloads allow-modals";

/** The way to the job's TensorBoard or notebook. It lies on another port, and so on another origin, to which the server
 * leads with a code for one visit. */
export function VisualizationCard({ job, proxied }: { job: Job; proxied: boolean }) {
  const [shown, setShown] = useState(false);
  if (!job.visualization || job.verdict) return null;
  const opens = !proxied && job.may.open;
  const command = <code>{job.may.open_command ?? `tony open ${job.id} --tensorboard`}</code>;
  return (
    <section class="card" id="program" aria-label="TensorBoard">
      <div class="tools">
        <b>TensorBoard</b> or notebook:
        {opens && (
          <Fragment>
            <a class="button" href="visualization" rel="noreferrer" target="_blank">
              open in a new tab
            </a>
            <button aria-expanded={shown} onClick={() => setShown(!shown)}>
              {shown ? "Hide it" : "Show it here"}
            </button>
          </Fragment>
        )}
      </div>
      {opens && shown && <iframe title="TensorBoard" src="visualization" sandbox={kProgramMay} />}
      <p class="quiet">
        {opens ? "On another machine: " : "To see it: "}
        {command} brings it there through the job's own connection.
      </p>
    </section>
  );
}

const kOrder = ["FAILED", "RUNNING", "READY", "STARTING", "NEW", "SUCCEEDED", "STOPPED"];

/** "2 FAILED  998 RUNNING": each is a filter of the task table. */
export function Counts(props: { counts: Record<string, number>; chosen: string; choose: (state: string) => void }) {
  const { counts, chosen, choose } = props;
  return (
    <span class="counts">
      {kOrder
        .filter((state) => counts[state])
        .map((state) => (
          <button
            key={state}
            class={`badge ${stateClass(state)}`}
            aria-pressed={chosen === state}
            onClick={() => choose(chosen === state ? "" : state)}
          >
            {counts[state].toLocaleString("en-US")} {state}
          </button>
        ))}
    </span>
  );
}
