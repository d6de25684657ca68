// The log section: which logs, which lines of them.
import { h } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { taskPath } from "./format";
import { MergedLog } from "./log_merged";
import { OneLog } from "./log_one";
import type { LogPlace } from "./log_window";
import type { Job, Task } from "./types";

/** Which log to show: a task, "am", or "" for all and "type*" for all of a type. */
export interface Chosen {
  task: string;
  /** Rises with each wish, so that the same task can be wished again. */
  turn: number;
  /** The line to show; the log's end if there is none. */
  place?: LogPlace;
  /** It was opened from elsewhere on the page, so the focus goes along. */
  opened?: boolean;
}

interface Props {
  job: Job;
  tasks: Task[];
  chosen: Chosen;
  choose: (task: string) => void;
  alive: boolean;
  utc: boolean;
  /** The server's time, or when the job ended. */
  now: number;
}

/** More tasks are not offered one by one: the box takes any name. */
const kMostOffered = 500;
const kSince: [string, number][] = [
  ["all", 0],
  ["last hour", 3_600_000],
  ["last 10 min", 600_000],
];

/** Waits until typing has paused. */
function usePaused(value: string, millis: number): string {
  const [paused, setPaused] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), millis);
    return () => clearTimeout(timer);
  }, [value]);
  return paused;
}

function TaskBox({ tasks, job, value, choose }: { tasks: Task[]; job: Job; value: string; choose: (task: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const known = (name: string) =>
    name === "am" || name === "*" || job.types.some((type) => name === `${type.name}*`) || tasks.some((task) => task.task === name);
  return (
    <label>
      <span>Log of </span>
      <input
        list="log-tasks"
        value={text}
        spellcheck={false}
        size={14}
        aria-invalid={!known(text)}
        onFocus={(event) => event.currentTarget.select()}
        onInput={(event) => {
          setText(event.currentTarget.value);
          if (known(event.currentTarget.value)) choose(event.currentTarget.value);
        }}
      />
      <datalist id="log-tasks">
        <option value="*">all tasks, merged</option>
        {job.types.map((type) => (
          <option key={type.name} value={`${type.name}*`}>
            all of {type.name}, merged
          </option>
        ))}
        <option value="am">the ApplicationMaster</option>
        {tasks.slice(0, kMostOffered).map((task) => (
          <option key={task.task} value={task.task} />
        ))}
      </datalist>
    </label>
  );
}

/** Of a job whose logs lie on machines that this page does not read: where they are shown. `url` is that of the node of
 * the chosen task. */
export function LogsElsewhere(props: { job: Job; tasks: Task[]; task: string; choose: (task: string) => void; url: string | null }) {
  const { job, task, url } = props;
  return (
    <section id="logs">
      <h2>Logs</h2>
      <div class="tools">
        <TaskBox tasks={props.tasks} job={job} value={task} choose={props.choose} />
        {url && /^https?:/.test(url) && (
          <a class="button" href={url} rel="noreferrer" target="_blank">
            {task === "am" ? "the ApplicationMaster's log" : `the logs of ${task}`} on the node's own page
          </a>
        )}
      </div>
      <p>
        {job.recorded
          ? `The logs of this job are kept by its cluster. ${job.may.logs_note ?? "The portal does not read them there."}`
          : "The logs lie on the machines of the tasks, and this page does not read them there."}{" "}
        In a terminal:{" "}
        <code>
          {job.may.logs_command ?? `tony logs ${job.id}`}
          {task && !task.endsWith("*") && ` ${task}`}
        </code>
      </p>
    </section>
  );
}

export function Logs({ job, tasks, chosen, choose, alive, utc, now }: Props) {
  const [stream, setStream] = useState("stdout");
  const [attempt, setAttempt] = useState<number | null>(null);
  const [typed, setTyped] = useState("");
  const [level, setLevel] = useState("");
  const [hideOthers, setHideOthers] = useState(false);
  const [jump, setJump] = useState({ pattern: "", level: "", turn: 0 });
  // All of a long job's logs would be read for their end, so the newest part is offered first.
  const [range, setRange] = useState(600_000);
  const pattern = usePaused(typed, 300);

  const name = chosen.task;
  const merged = name.endsWith("*");
  const task = tasks.find((one) => one.task === name);
  const place = chosen.place;
  useEffect(() => {
    setAttempt(place?.attempt ?? null);
    // A failed program's last words are mostly on stderr.
    if (place) setStream(place.stream);
    else if (task?.state === "FAILED" && chosen.turn > 0) setStream("stderr");
    if (place) setHideOthers(false);
    if (chosen.opened) document.querySelector<HTMLElement>("#logs .lines")?.focus({ preventScroll: true });
  }, [name, chosen.turn]);
  const since = useMemo(() => (range === 0 ? undefined : Math.floor(now - range)), [range, name]);
  const newest = task?.attempt ?? 0;
  const run = attempt ?? newest;
  const master = name === "am";
  const usedStream = master ? "am" : stream;
  const usedAttempt = master || stream === "executor" ? 0 : run;

  return (
    <section id="logs">
      <h2>Logs</h2>
      {job.may.logs_note && <p class="missing">{job.may.logs_note}</p>}
      <div class="tools log-tools">
        <TaskBox tasks={tasks} job={job} value={name} choose={choose} />
        {!master && (
          <select aria-label="Stream" value={stream} onChange={(event) => setStream(event.currentTarget.value)}>
            <option value="stdout">stdout</option>
            <option value="stderr">stderr</option>
            {merged && <option value="stdout,stderr">stdout and stderr</option>}
            <option value="executor">executor</option>
          </select>
        )}
        {task && newest > 1 && stream !== "executor" && (
          <select aria-label="Run" value={run} onChange={(event) => setAttempt(Number(event.currentTarget.value))}>
            {Array.from({ length: newest }, (_, i) => newest - i).map((number) => (
              <option key={number} value={number}>
                run {number}
              </option>
            ))}
          </select>
        )}
        {merged && (
          <select
            aria-label="Time"
            value={range}
            onChange={(event) => setRange(Number(event.currentTarget.value))}
          >
            {kSince.map(([label, millis]) => (
              <option key={millis} value={millis}>
                {label}
              </option>
            ))}
          </select>
        )}
        <input
          type="search"
          class="pattern"
          placeholder="pattern (RE2), Enter: first hit"
          aria-label="Pattern"
          spellcheck={false}
          maxLength={500}
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && setJump({ pattern: typed, level, turn: jump.turn + 1 })}
        />
        <select aria-label="Level" value={level} onChange={(event) => setLevel(event.currentTarget.value)}>
          <option value="">all levels</option>
          <option value="warning">warnings and errors</option>
          <option value="error">errors</option>
        </select>
        <label>
          <input type="checkbox" checked={hideOthers} onChange={(event) => setHideOthers(event.currentTarget.checked)} /> hide
          others
        </label>
        <button
          onClick={() => {
            setTyped("");
            setLevel("error");
            setJump({ pattern: "", level: "error", turn: jump.turn + 1 });
          }}
        >
          First error
        </button>
      </div>
      {merged ? (
        <MergedLog
          key={job.may.logs_note}
          job={job.id}
          type={name.slice(0, -1)}
          streams={stream}
          pattern={pattern}
          level={level}
          hideOthers={hideOthers}
          alive={alive}
          utc={utc}
          since={since}
          jump={jump}
        />
      ) : usedAttempt > 0 || master || stream === "executor" ? (
        <OneLog
          key={job.may.logs_note}
          job={job.id}
          task={taskPath(name)}
          attempt={usedAttempt}
          stream={usedStream}
          pattern={pattern}
          level={level}
          hideOthers={hideOthers}
          alive={alive}
          jump={jump}
          start={
            place && place.stream === usedStream && place.attempt === usedAttempt
              ? { offset: place.offset, turn: chosen.turn }
              : null
          }
        />
      ) : (
        <p class="quiet">{name ? `${name} has not started yet.` : "No task has started yet."}</p>
      )}
    </section>
  );
}
