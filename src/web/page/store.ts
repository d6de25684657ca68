// What the page knows of the job, and how news change it. Pure: apply() returns a new state.
import { taskParts } from "./format";
import type { Job, Millis, Task, TaskTable } from "./types";

/** How the page gets its news. */
export type Connection =
  | { kind: "loading" }
  | { kind: "live" }
  | { kind: "polling" }
  | { kind: "recorded" }
  /** Nothing has been heard since then; the server is being asked. */
  | { kind: "silent"; since: Millis }
  | { kind: "over"; since: Millis }
  | { kind: "gone"; since: Millis; reason: string; command: string; retryAt: Millis };

export interface State {
  job: Job | null;
  tasks: Task[];
  connection: Connection;
  /** The server's clock less the browser's. */
  clockSkew: number;
  /** Rises with each snapshot: what was fetched beside the stream has to be fetched anew. */
  generation: number;
}

export type News =
  | { kind: "snapshot"; job: Job; tasks: TaskTable[]; at: Millis }
  | { kind: "job"; job: Job; at: Millis }
  | { kind: "tasks"; table: TaskTable }
  | { kind: "connection"; connection: Connection };

export const kNothing: State = {
  job: null,
  tasks: [],
  connection: { kind: "loading" },
  clockSkew: 0,
  generation: 0,
};

/** The tasks of a table, in its order. */
export function tasksOf(table: { columns: string[]; rows: unknown[][] }): Task[] {
  const { columns } = table;
  return table.rows.map((row) => {
    const task: Record<string, unknown> = {};
    for (let i = 0; i < columns.length; ++i) task[columns[i]] = row[i] ?? null;
    return task as unknown as Task;
  });
}

function merge(tasks: Task[], changed: Task[]): Task[] {
  // All of them were measured: the common case in a large job.
  if (changed.length === tasks.length && changed.every((task, i) => task.task === tasks[i].task)) return changed;
  const position = new Map(tasks.map((task, i) => [task.task, i]));
  const result = tasks.slice();
  let grew = false;
  for (const task of changed) {
    const at = position.get(task.task);
    if (at === undefined) {
      result.push(task);
      grew = true;
    } else {
      result[at] = task;
    }
  }
  return grew ? result.sort(byName) : result;
}

/** By type, then by index. */
export function byName(a: Task, b: Task): number {
  const [typeA, indexA] = taskParts(a.task);
  const [typeB, indexB] = taskParts(b.task);
  return typeA === typeB ? indexA - indexB : typeA < typeB ? -1 : 1;
}

/** The state after `news`. */
export function apply(state: State, news: News): State {
  switch (news.kind) {
    case "snapshot": {
      const tasks = news.tasks.flatMap(tasksOf);
      const clockSkew = news.job.now_millis - news.at;
      return { ...state, job: news.job, tasks, clockSkew, generation: state.generation + 1 };
    }
    case "job":
      return { ...state, job: news.job, clockSkew: news.job.now_millis - news.at };
    case "tasks":
      return { ...state, tasks: merge(state.tasks, tasksOf(news.table)) };
    case "connection":
      return { ...state, connection: news.connection };
  }
}

/** The greatest setback first: failed, waiting, running, ended; then by name. */
export function troubleOf(state: string): number {
  switch (state) {
    case "FAILED":
      return 0;
    case "NEW":
    case "STARTING":
    case "READY":
      return 1;
    case "RUNNING":
      return 2;
    default:
      return 3;
  }
}
