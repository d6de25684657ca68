// One row of the portal's list, and the heads of its columns.
import { h } from "preact";
import { useEffect } from "preact/hooks";
import { Badge } from "./first";
import { dateTime } from "./format";
import { jobTitle, shownName, shownText } from "./log_text";
import { kOrders, sortedBy, type ListedJob } from "./portal_list";

const kColumns: [string | null, string][] = [
  ["name", "Job"],
  ["state", "State"],
  ["user", "User"],
  ["framework", "Framework"],
  [null, "Tasks"],
  ["gpus", "GPUs"],
  ["submitted", "Submitted"],
  ["duration", "Ran"],
  [null, "End"],
];

export function JobHeads({ sort, sortBy }: { sort: string; sortBy: (sort: string) => void }) {
  return (
    <div class="job heads" role="row">
      <span role="columnheader" class="pick" aria-label="Compare" />
      {kColumns.map(([column, title]) => {
        const sorted = column !== null && (sort === column || sort === `-${column}`);
        const descending = sort.startsWith("-");
        return (
          <span key={title} role="columnheader" aria-sort={!sorted ? "none" : descending ? "descending" : "ascending"}>
            {column === null ? (
              title
            ) : (
              <button class="head" onClick={() => sortBy(sortedBy(sort, column))}>
                {title}
                {sorted && (descending ? " ▾" : " ▴")}
              </button>
            )}
          </span>
        );
      })}
    </div>
  );
}

/** The order, where the screen is too narrow for heads of columns. */
export function JobOrder({ sort, sortBy }: { sort: string; sortBy: (sort: string) => void }) {
  const offered = kOrders.some(([order]) => order === sort);
  return (
    <select aria-label="Order" value={sort} onChange={(event) => sortBy(event.currentTarget.value)}>
      {!offered && <option value={sort}>Another order</option>}
      {kOrders.map(([order, title]) => (
        <option key={order} value={order}>
          {title}
        </option>
      ))}
    </select>
  );
}

interface Props {
  job: ListedJob;
  link: string;
  ran: string;
  utc: boolean;
  current: boolean;
  /** Whether it is one of those to compare. */
  chosen: boolean;
  choose: () => void;
  /** Called when the row is drawn. */
  shown: () => void;
}

export function JobRow({ job, link, ran, utc, current, chosen, choose, shown }: Props) {
  useEffect(shown, [job.address]);
  const note = shownText(job.trouble ?? job.sentence ?? "");
  const advice = job.advice > 0 ? `${job.advice} ${job.advice === 1 ? "piece" : "pieces"} of advice. ` : "";
  const bad = job.state === "FAILED" || job.state === "LOST" || job.state === "UNREADABLE";
  return (
    <div
      key={job.address}
      role="row"
      aria-selected={current}
      class={`job ${bad ? "failed" : ""} ${current ? "current" : ""}`}
    >
      <span role="cell" class="pick">
        <input type="checkbox" aria-label={`Compare ${jobTitle(job)}`} checked={chosen} onChange={choose} />
      </span>
      <b role="rowheader" class="name" title={job.id}>
        <a href={link}>{jobTitle(job)}</a>
      </b>
      <span role="cell" class="state">
        <Badge state={job.state} />
      </span>
      <span role="cell" class="user" title={job.queue ? `queue ${shownName(job.queue)}` : ""}>
        {shownName(job.user) || "–"}
      </span>
      <span role="cell" class="framework">
        {shownName(job.framework) || "–"}
      </span>
      <span role="cell" class="number tasks">
        {job.tasks.toLocaleString("en-US")}
      </span>
      <span role="cell" class="number gpus">
        {job.gpus || "–"}
      </span>
      <span role="cell" class="number submitted">
        {job.submitted_millis === null ? "–" : dateTime(job.submitted_millis, utc)}
      </span>
      <span role="cell" class="number ran">
        {job.submitted_millis === null ? "–" : ran}
      </span>
      <span role="cell" class="note" title={advice + note}>
        {advice && <b>{advice}</b>}
        {note}
      </span>
    </div>
  );
}
