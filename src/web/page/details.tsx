// Configuration, advice, notes: what is looked at now and then. What the API lacks is not shown.
import { Fragment, h } from "preact";
import { useMemo, useState } from "preact/hooks";
import { dateTime, duration } from "./format";
import type { Advice, ConfigKey, Job } from "./types";

export function Config({ keys }: { keys: ConfigKey[] }) {
  const [all, setAll] = useState(false);
  const [text, setText] = useState("");
  const shown = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    return keys.filter(
      (key) => (all || key.differs) && (!wanted || `${key.key} ${key.value}`.toLowerCase().includes(wanted)),
    );
  }, [keys, all, text]);
  return (
    <section id="config">
      <h2>Configuration</h2>
      <div class="tools">
        <input
          type="search"
          placeholder="key or value"
          aria-label="Filter the configuration"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <label>
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} /> also what is as by
          default
        </label>
      </div>
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
                <td>
                  <code>{key.value}</code>
                </td>
                <td class="quiet">{key.default === null ? "–" : <code>{key.default}</code>}</td>
                <td class="quiet">{key.origin}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {shown.length === 0 && <p class="quiet empty">No key is like that.</p>}
      </div>
    </section>
  );
}

/** What `tony advise` says: the most worthwhile first. Absent as long as there is nothing to say. */
export function AdviceSection({ advice }: { advice: Advice }) {
  if (advice.advice.length === 0) return null;
  return (
    <section id="advice">
      <h2>Advice</h2>
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
