// Which tasks the table shows, in which order. Pure.
import { byName, troubleOf } from "./store";
import type { Task } from "./types";

export type SortKey = "task" | "state" | "host" | "attempt" | "steps" | "memory" | "gpu" | "ran";

export interface Choice {
  state: string;
  text: string;
  sort: SortKey;
  descending: boolean;
}

/** How long the task's program has run; null: it was not started. */
export function ranMillis(task: Task, now: number): number | null {
  if (!task.started_millis) return null;
  return (task.ended_millis || now) - task.started_millis;
}

/** What the table sorts by; null comes last in both directions. */
function keyOf(task: Task, sort: SortKey, now: number): number | string | null {
  switch (sort) {
    case "state":
      return troubleOf(task.state);
    case "host":
      return task.host || null;
    case "attempt":
      return task.attempt;
    case "steps":
      return task.steps_per_second;
    case "memory":
      return task.memory_bytes;
    case "gpu":
      return task.gpu_utilization;
    case "ran":
      return ranMillis(task, now);
    default:
      return null;
  }
}

/** The tasks that pass the filters, sorted; ties by name. */
export function chosenTasks(tasks: Task[], choice: Choice, now: number): Task[] {
  const text = choice.text.trim().toLowerCase();
  const passed = tasks.filter(
    (task) =>
      (!choice.state || task.state === choice.state) &&
      (!text || task.task.toLowerCase().includes(text) || (task.host ?? "").toLowerCase().includes(text)),
  );
  const sign = choice.descending ? -1 : 1;
  if (choice.sort === "task") return passed.sort((a, b) => sign * byName(a, b));
  const keyed = passed.map((task) => ({ task, key: keyOf(task, choice.sort, now) }));
  keyed.sort((a, b) => {
    if (a.key === b.key) return byName(a.task, b.task);
    if (a.key === null) return 1;
    if (b.key === null) return -1;
    return a.key < b.key ? -sign : sign;
  });
  return keyed.map((entry) => entry.task);
}
