// Two jobs side by side: how they ended, what they used, and the keys whose values differ.
import { Fragment, h } from "preact";
import { useState } from "preact/hooks";
import { getJson, jobAddress, sentenceOf } from "./api";
import { differingKeys, facts, figureQuery, figures, type Difference, type Side } from "./compare_data";
import { Badge } from "./first";
import { dateTime } from "./format";
import { jobTitle, shownText } from "./log_text";
import { useRefresh } from "./refresh";
import type { ConfigKey, Job, Meaning, Metrics } from "./types";

const kRefreshMillis = 10_000;

/** Everything of one job, in four requests of bounded size. What its folder lacks is left out. */
async function loadSide(address: string, signal: AbortSignal): Promise<Side> {
  const job = await getJson<Job>(jobAddress(address, ""), signal);
  const optional = <T,>(resource: string, query = {}): Promise<T | null> =>
    getJson<T>(jobAddress(address, resource, query), signal).catch((error) => {
      if (signal.aborted) throw error;
      return null;
    });
  const config = await optional<{ keys: ConfigKey[] }>("config");
  const meanings = (await optional<{ metrics: Meaning[] }>("metrics"))?.metrics ?? [];
  const query = figureQuery(job, meanings);
  const metrics = query.names && (query.tasks || query.types) ? await optional<Metrics>("metrics", query) : null;
  return { job, keys: config?.keys ?? [], metrics, meanings };
}

function Table({ title, rows, heads, empty }: { title: string; rows: Difference[]; heads: string[]; empty: string }) {
  return (
    <section>
      <h2>{title}</h2>
      <div class="wide">
        {rows.length > 0 && (
          <table class="keys compared">
            <thead>
              <tr>
                <th scope="col" />
                {heads.map((head, side) => (
                  <th key={side} scope="col">
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ name, values }) => (
                <tr key={name} class={values[0] === values[1] ? "" : "differs"}>
                  <th scope="row">{name}</th>
                  {values.map((value, side) => (
                    <td key={side} data-side={heads[side]}>
                      {value === null ? <span class="quiet">–</span> : value === "" ? <span class="quiet">(empty)</span> : shownText(value)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {rows.length === 0 && <p class="quiet empty">{empty}</p>}
      </div>
    </section>
  );
}

function Head({ address, side, utc }: { address: string; side: Side; utc: boolean }) {
  const { job } = side;
  return (
    <div class="card">
      <h2>
        <a href={`jobs/${encodeURIComponent(address)}/`}>{jobTitle(job)}</a> <Badge state={job.state} />
      </h2>
      <p class="quiet">
        {job.id}
        {job.submitted_millis !== null && `, submitted ${dateTime(job.submitted_millis, utc)}`}
      </p>
    </div>
  );
}

export function Compare({ jobs, utc, close }: { jobs: [string, string]; utc: boolean; close: () => void }) {
  const [sides, setSides] = useState<[Side, Side] | null>(null);
  const [trouble, setTrouble] = useState("");
  const over = sides !== null && sides.every((side) => side.job.ended_millis !== null);
  useRefresh(
    async (signal) => {
      try {
        const loaded = await Promise.all(jobs.map((job) => loadSide(job, signal)));
        if (signal.aborted) return;
        setSides([loaded[0], loaded[1]]);
        setTrouble("");
      } catch (error) {
        if (!signal.aborted) setTrouble(sentenceOf(error, "The portal"));
      }
    },
    over ? null : kRefreshMillis,
    [jobs.join()],
  );
  const heads = sides?.map(({ job }) => jobTitle(job)) ?? [];
  // Runs of one name are told apart by their ids.
  const names = sides && heads[0] === heads[1] ? sides.map(({ job }) => job.id) : heads;
  return (
    <main>
      <div class="tools">
        <button onClick={close}>Back to the list</button>
      </div>
      {trouble && (
        <p class="bad" role="alert">
          {trouble}
        </p>
      )}
      {!sides && !trouble && <p class="quiet">Reading both jobs …</p>}
      {sides && (
        <Fragment>
          <div class="pair">
            {sides.map((side, i) => (
              <Head key={jobs[i]} address={jobs[i]} side={side} utc={utc} />
            ))}
          </div>
          <Table title="How they went" rows={facts(sides, sides[0].job.now_millis)} heads={names} empty="" />
          <Table title="What they used and reported" rows={figures(sides)} heads={names} empty="Neither has measurements." />
          <Table
            title="Configuration that differs"
            rows={differingKeys(sides[0].keys, sides[1].keys)}
            heads={names}
            empty="Every key has the same value in both."
          />
        </Fragment>
      )}
    </main>
  );
}
