// The table of tasks. Only the rows in view exist, so that ten thousand tasks cost what forty do.
import { h } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Badge, Counts } from "./first";
import { bytes, duration, number } from "./format";
import { chosenTasks, ranMillis, type Choice, type SortKey } from "./task_list";
import type { Task } from "./types";
import { Rows, useNarrow } from "./window";

/** A bar of its own, since <meter> paints a busy GPU red. `part` is from 0 to 1; null: there is no bar. */
function Bar({ part, text, title }: { part: number | null; text: string; title?: string }) {
  return (
    <span class="bar" title={title}>
      <span class="text">{text}</span>
      {part !== null && (
        <span class="track">
          <span class="fill" style={{ width: `${Math.max(0, Math.min(1, part)) * 100}%` }} />
        </span>
      )}
    </span>
  );
}

interface RowProps {
  task: Task;
  now: number;
  memory: number | null;
  current: boolean;
  index: number;
  open: () => void;
}

function memoryBar(task: Task, limit: number | null) {
  if (task.memory_bytes === null) return <span class="bar">–</span>;
  const peak = task.max_memory_bytes ?? task.memory_bytes;
  const title = `${bytes(task.memory_bytes)} now, at most ${bytes(peak)}${limit ? `, ${bytes(limit)} asked for` : ""}`;
  // Without a request the bar says how close to its own peak the task is.
  const whole = limit ?? peak;
  return <Bar part={whole ? task.memory_bytes / whole : null} text={bytes(task.memory_bytes)} title={title} />;
}

function gpuBar(task: Task) {
  if (task.gpu_utilization === null) return <span class="bar">–</span>;
  const title = `GPU memory: ${bytes(task.gpu_memory_bytes)}`;
  return <Bar part={task.gpu_utilization / 100} text={`${Math.round(task.gpu_utilization)} %`} title={title} />;
}

function TaskRow({ task, now, memory, current, index, open }: RowProps) {
  const ran = ranMillis(task, now);
  const rate = task.steps_per_second;
  const note = task.sentence || task.exit || "";
  const steps =
    task.step === null
      ? "–"
      : `${number(task.step)}${rate === null ? "" : ` · ${number(rate)}/s`}`;
  return (
    <div
      key={task.task}
      id={`task-${index}`}
      role="row"
      aria-selected={current}
      class={`task ${task.state === "FAILED" ? "failed" : ""} ${current ? "current" : ""}`}
      onClick={open}
    >
      <b role="rowheader">{task.task}</b>
      <span role="cell">
        <Badge state={task.state} />
      </span>
      <span role="cell" class="host" title={task.host ?? ""}>
        {task.host || "–"}
      </span>
      <span role="cell" class="number attempt">
        {task.attempt || "–"}
      </span>
      <span role="cell" class="number ran">
        {ran === null ? "–" : duration(ran)}
      </span>
      <span role="cell" class="number steps">
        {steps}
      </span>
      <span role="cell" class="memory">
        {memoryBar(task, memory)}
      </span>
      <span role="cell" class="gpu">
        {gpuBar(task)}
      </span>
      <span role="cell" class="note" title={note}>
        {note}
      </span>
    </div>
  );
}

const kColumns: [SortKey | null, string][] = [
  ["task", "Task"],
  ["state", "State"],
  ["host", "Host"],
  ["attempt", "Attempt"],
  ["ran", "Ran"],
  ["steps", "Step"],
  ["memory", "Memory"],
  ["gpu", "GPU"],
  [null, "End"],
];

function Heads({ choice, sortBy }: { choice: Choice; sortBy: (key: SortKey) => void }) {
  return (
    <div class="task heads" role="row">
      {kColumns.map(([key, title]) => {
        const sorted = key !== null && choice.sort === key;
        const order = !sorted ? "none" : choice.descending ? "descending" : "ascending";
        return (
          <span key={title} role="columnheader" aria-sort={order}>
            {key === null ? (
              title
            ) : (
              <button class="head" onClick={() => sortBy(key)}>
                {title}
                {sorted && (choice.descending ? " ▾" : " ▴")}
              </button>
            )}
          </span>
        );
      })}
    </div>
  );
}

interface Props {
  tasks: Task[];
  counts: Record<string, number>;
  now: number;
  /** The memory that each type of tasks asks for, in bytes. */
  memory: Map<string, number>;
  open: (task: string) => void;
}

export function Tasks({ tasks, counts, now, memory, open }: Props) {
  const [choice, setChoice] = useState<Choice>({ state: "", text: "", sort: "state", descending: false });
  const [current, setCurrent] = useState(-1);
  const narrow = useNarrow();
  const byTime = choice.sort === "ran" ? Math.floor(now / 1000) : 0;
  const chosen = useMemo(() => chosenTasks(tasks, choice, now), [tasks, choice, byTime]);
  const sortBy = (sort: SortKey) => {
    const big = sort === "steps" || sort === "memory" || sort === "gpu" || sort === "ran";
    const descending = choice.sort === sort ? !choice.descending : big;
    setChoice({ ...choice, sort, descending });
  };
  return (
    <section id="tasks">
      <h2>Tasks</h2>
      <div class="tools">
        <Counts counts={counts} chosen={choice.state} choose={(state) => setChoice({ ...choice, state })} />
        <input
          type="search"
          placeholder="task or host"
          aria-label="Filter by task or host"
          value={choice.text}
          onInput={(event) => setChoice({ ...choice, text: event.currentTarget.value })}
        />
        {chosen.length < tasks.length && (
          <span class="quiet">
            {chosen.length.toLocaleString("en-US")} of {tasks.length.toLocaleString("en-US")}
          </span>
        )}
      </div>
      <div class="table" role="table" aria-label="Tasks" aria-rowcount={chosen.length}>
        {!narrow && <Heads choice={choice} sortBy={sortBy} />}
        <Rows
          role="rowgroup"
          label="Tasks: arrow keys move, Enter shows the log"
          count={chosen.length}
          rowHeight={narrow ? 84 : 36}
          most={narrow ? 6 : 15}
          current={current}
          onMove={setCurrent}
          onOpen={(index) => open(chosen[index].task)}
          row={(index) => (
            <TaskRow
              task={chosen[index]}
              index={index}
              now={now}
              memory={memory.get(chosen[index].task.split(":")[0]) ?? null}
              current={index === current}
              open={() => {
                setCurrent(index);
                open(chosen[index].task);
              }}
            />
          )}
        />
        {chosen.length === 0 && <p class="quiet empty">No task is like that.</p>}
      </div>
    </section>
  );
}
