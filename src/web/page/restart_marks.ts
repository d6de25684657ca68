// Where charts are marked because something began anew: the whole job, or one of the tasks that are shown. Pure.
import { taskParts, taskPath } from "./format";
import type { Millis, Timeline } from "./types";

export interface RestartMark {
  millis: Millis;
  /** null: the whole job began anew */
  task: string | null;
}

/** All restarts, by time. A failed run counts if its task ran again while the job went on: as one task, or as the member
 * of an elastic job. */
export function restartMarks(timeline: Timeline): RestartMark[] {
  const marks: RestartMark[] = timeline.epochs.map((epoch) => ({ millis: epoch.millis, task: null }));
  const failed = timeline.ends.rows.filter(([, state]) => state === "FAILED");
  const runs = new Map(failed.map(([task]) => [task, { begins: [] as Millis[], at: 0 }]));
  for (const [task, kind, begin] of timeline.rows) {
    if (kind !== "gone") runs.get(task)?.begins.push(begin);
  }
  for (const [task, , millis] of failed) {
    // Both are by time, so what lay before one end lies before the next one, too.
    const run = runs.get(task)!;
    while (run.at < run.begins.length && run.begins[run.at] < millis) run.at += 1;
    const next = run.begins[run.at];
    if (next === undefined) continue;
    const whole = timeline.epochs.some((epoch) => epoch.millis >= millis && epoch.millis <= next);
    if (!whole) marks.push({ millis, task });
  }
  return marks.sort((a, b) => a.millis - b.millis);
}

/** The marks between two times that concern a chart of `wanted`, as seriesWanted() gives it. */
export function marksWithin(
  marks: RestartMark[],
  wanted: { tasks: string; types: string },
  from: Millis,
  to: Millis,
): RestartMark[] {
  const tasks = new Set(wanted.tasks.split(","));
  const types = new Set(wanted.types.split(","));
  const concerns = (task: string) => tasks.has(taskPath(task)) || types.has(taskParts(task)[0]);
  return marks.filter(({ millis, task }) => millis >= from && millis <= to && (task === null || concerns(task)));
}

/** At most so many tasks are named. */
const kMostNamed = 5;

/** "1 restart of the job, 3 of single tasks (worker:1, worker:2)"; empty: there is none. */
export function marksText(marks: RestartMark[]): string {
  const single = marks.filter((mark) => mark.task !== null);
  const whole = marks.length - single.length;
  const count = (number: number) => `${number} ${number === 1 ? "restart" : "restarts"}`;
  const tasks = [...new Set(single.map((mark) => mark.task))];
  const more = tasks.length > kMostNamed ? ` and ${tasks.length - kMostNamed} more` : "";
  const named = `${tasks.slice(0, kMostNamed).join(", ")}${more}`;
  return [
    whole > 0 ? `${count(whole)} of the job` : "",
    single.length > 0 ? `${count(single.length)} of single tasks (${named})` : "",
  ]
    .filter((part) => part)
    .join(", ");
}
