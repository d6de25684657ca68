// Configuration, advice, notes: what is looked at now and then. What the API lacks is not shown.
import { Fragment, h } from "preact";
import { useMemo, useState } from "preact/hooks";
import { dateTime, duration } from "./format";
import { shownText } from "./log_text";
import type { Advice, ConfigKey, Job, PreviousConfig } from "./types";

/** What has changed since the last successful run of the job. */
function Changes({ previous, wanted }: { previous: PreviousConfig; wanted: string }) {
  const shown = previous.changes.filter(
    (one) => !wanted || `${one.key} ${one.value ?? ""} ${one.previous ?? ""}`.toLowerCase().includes(wanted),
  );
  const cell = (value: string | null) => (value === null ? <span class="quiet">not set</span> : <code>{shownText(value)}</code>);
  return (
    <div class="wide">
      <table class="keys">
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">Now</th>
            <th scope="col">Then</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((one) => (
            <tr key={one.key} class="differs">
              <th scope="row">
                <code>{one.key}</code>
              </th>
              <td data-column="Now">{cell(one.value)}</td>
              <td data-column="Then">{cell(one.previous)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length === 0 && <p class="quiet empty">{wanted ? "No key is like that." : "Nothing has changed."}</p>}
    </div>
  );
}

function Keys({ keys, wanted, all }: { keys: ConfigKey[]; wanted: string; all: boolean }) {
  const shown = useMemo(
    () =>
      keys.filter(
        (key) => (all || key.differs) && (!wanted || `${key.key} ${key.value}`.toLowerCase().includes(wanted)),
      ),
    [keys, all, wanted],
  );
  return (
    <div class="wide">
      <table class="keys">
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">Value</th>
            <th scope="col">Default</th>
            <th scope="col">From</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((key) => (
            <tr key={key.key} class={key.differs ? "differs" : ""}>
              <th scope="row">
                <code>{key.key}</code>
                {!key.known && <span class="quiet"> not a key of tony's</span>}
              </th>
              <td data-column="Value">
                <code>{shownText(key.value)}</code>
              </td>
              <td class="quiet" data-column="Default">
                {key.default === null ? "–" : <code>{key.default}</code>}
              </td>
              <td class="quiet" data-column="From">
                {key.origin}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length === 0 && <p class="quiet empty">No key is like that.</p>}
    </div>
  );
}

type Against = "defaults" | "nothing" | "previous";

/** `previous` is absent while it is not known whether there is an earlier run. */
export function Config({ keys, previous, utc }: { keys: ConfigKey[]; previous: PreviousConfig | null; utc: boolean }) {
  const [against, setAgainst] = useState<Against>("defaults");
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  return (
    <section id="config">
      <h2>Configuration</h2>
      <div class="tools">
        <select
          aria-label="Which keys"
          value={against}
          onChange={(event) => setAgainst(event.currentTarget.value as Against)}
        >
          <option value="defaults">what differs from the defaults</option>
          <option value="nothing">all keys</option>
          {previous?.job && <option value="previous">what differs from the last successful run</option>}
        </select>
        <input
          type="search"
          placeholder="key or value"
          aria-label="Filter the configuration"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        {against === "previous" && previous?.job && (
          <span class="quiet">
            {previous.job}, ended {dateTime(previous.ended_millis ?? 0, utc)}
          </span>
        )}
      </div>
      {against === "previous" && previous ? (
        <Changes previous={previous} wanted={wanted} />
      ) : (
        <Keys keys={keys} wanted={wanted} all={against === "nothing"} />
      )}
    </section>
  );
}

/** What `tony advise` says: the most worthwhile first, and why something was not judged. Absent if neither is there. */
export function AdviceSection({ advice }: { advice: Advice }) {
  if (advice.advice.length === 0 && advice.reservations.length === 0) return null;
  return (
    <section id="advice">
      <h2>Advice</h2>
      {advice.advice.length === 0 && <p>There is nothing to advise.</p>}
      {advice.advice.map((one) => (
        <div key={`${one.heuristic} ${one.type}`} class={`card advice ${one.severity}`}>
          <p>
            <b>{one.severity}</b>: {one.sentence}
          </p>
          <p class="quiet">
            {one.evidence}
            {one.cost && ` · ${one.cost}`}
          </p>
          {Object.entries(one.lines).map(([key, value]) => (
            <p key={key}>
              <code>
                {key} = {value}
              </code>
            </p>
          ))}
        </div>
      ))}
      {advice.reservations.map((one) => (
        <p key={one} class="quiet">
          {one}.
        </p>
      ))}
      {advice.xml && (
        <details>
          <summary>All of it, for the job file</summary>
          <pre tabIndex={0}>{advice.xml}</pre>
        </details>
      )}
    </section>
  );
}

/** Earlier runs of the whole job, and notes. */
export function Past({ job, utc }: { job: Job; utc: boolean }) {
  if (job.attempts.length === 0 && job.notes.length === 0) return null;
  return (
    <section id="past">
      {job.attempts.length > 0 && (
        <Fragment>
          <h2>Earlier attempts</h2>
          <ul>
            {job.attempts.map((one) => (
              <li key={one.attempt}>
                {one.attempt}, until {dateTime(one.ended_millis, utc)}
                {one.began_millis !== null && ` (${duration(one.ended_millis - one.began_millis)})`}: {one.cause}
                {one.error && <code> {one.error}</code>}
              </li>
            ))}
          </ul>
        </Fragment>
      )}
      {job.notes.length > 0 && (
        <Fragment>
          <h2>Notes</h2>
          <ul>
            {job.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </Fragment>
      )}
    </section>
  );
}
