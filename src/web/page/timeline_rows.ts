// The rows of the timeline: one per task, trouble first, equal neighbours folded into one. Pure.
import { duration, taskParts } from "./format";
import type { Millis, Timeline } from "./types";

export interface Phase {
  kind: string;
  begin: Millis;
  /** now, while it lasts */
  end: Millis;
  attempt: number;
}

export interface End {
  state: string;
  millis: Millis;
  attempt: number;
}

/** When a run's program named its first step. */
export interface FirstStep {
  millis: Millis;
  attempt: number;
}

export interface TimelineRow {
  /** The task, or the first of those that are folded into this row. */
  task: string;
  /** All tasks of this row, in the job's order. */
  tasks: string[];
  phases: Phase[];
  ends: End[];
  firstSteps: FirstStep[];
  failures: number;
}

/** With at most so many tasks each has a row of its own. */
export const kMostUnfolded = 40;
/** Neighbours are alike if their phases begin within this part of the whole time of each other. */
const kAlike = 0.02;

function rowsByTask(timeline: Timeline, now: Millis): TimelineRow[] {
  const rows = new Map<string, TimelineRow>();
  const rowOf = (task: string) => {
    let row = rows.get(task);
    if (!row) rows.set(task, (row = { task, tasks: [task], phases: [], ends: [], firstSteps: [], failures: 0 }));
    return row;
  };
  for (const [task, kind, begin, end, attempt] of timeline.rows) {
    rowOf(task).phases.push({ kind, begin, end: end ?? now, attempt });
  }
  for (const [task, state, millis, attempt] of timeline.ends.rows) {
    const row = rowOf(task);
    row.ends.push({ state, millis, attempt });
    if (state === "FAILED") row.failures += 1;
  }
  for (const [task, millis, attempt] of timeline.first_steps.rows) rowOf(task).firstSteps.push({ millis, attempt });
  return [...rows.values()];
}

function alike(a: TimelineRow, b: TimelineRow, tolerance: number): boolean {
  if (taskParts(a.task)[0] !== taskParts(b.task)[0]) return false;
  if (a.phases.length !== b.phases.length || a.ends.length !== b.ends.length) return false;
  if (a.firstSteps.length !== b.firstSteps.length) return false;
  return (
    a.phases.every((phase, i) => {
      const other = b.phases[i];
      return (
        phase.kind === other.kind &&
        Math.abs(phase.begin - other.begin) <= tolerance &&
        Math.abs(phase.end - other.end) <= tolerance
      );
    }) &&
    a.ends.every((end, i) => end.state === b.ends[i].state) &&
    a.firstSteps.every((step, i) => Math.abs(step.millis - b.firstSteps[i].millis) <= tolerance)
  );
}

/** Rows with failures first, the most failures at the top; then the job's order. */
function troubleFirst(rows: TimelineRow[]): TimelineRow[] {
  return rows
    .map((row, position) => ({ row, position }))
    .sort((a, b) => b.row.failures - a.row.failures || a.position - b.position)
    .map((entry) => entry.row);
}

/** The rows to draw. A failed task is never folded, so that it cannot vanish. */
export function timelineRows(timeline: Timeline, now: Millis): TimelineRow[] {
  const rows = rowsByTask(timeline, now);
  if (rows.length <= kMostUnfolded) return troubleFirst(rows);
  const tolerance = Math.max(1_000, (now - timeline.begin_millis) * kAlike);
  const folded: TimelineRow[] = [];
  let open: TimelineRow | null = null;
  for (const row of rows) {
    if (row.failures > 0) {
      folded.push(row);
    } else if (open && alike(open, row, tolerance)) {
      open.tasks.push(row.task);
    } else {
      folded.push((open = row));
    }
  }
  return troubleFirst(folded);
}

/** "worker:3", or "worker:3–998 (994 alike)" for a folded row. */
export function rowLabel(row: TimelineRow): string {
  if (row.tasks.length === 1) return row.task;
  const last = taskParts(row.tasks[row.tasks.length - 1])[1];
  return `${row.task}–${last} (${row.tasks.length} alike)`;
}

/** "queued 2s, localizing 3s, running 10m 0s; first step after 12s of run 1; failed at run 1": what the row shows, as
 * text. */
export function rowText(row: TimelineRow): string {
  const phases = row.phases.map((phase) => `${phase.kind} ${duration(phase.end - phase.begin)}`).join(", ");
  const ends = row.ends.map((end) => `${end.state.toLowerCase()} at run ${end.attempt}`).join(", ");
  const steps = row.firstSteps.map((step) => firstStepText(row, step)).join(", ");
  return [phases, steps, ends].filter((part) => part).join("; ");
}

function firstStepText(row: TimelineRow, step: FirstStep): string {
  const run = row.phases.find((phase) => phase.kind === "running" && phase.attempt === step.attempt);
  return run ? `first step after ${duration(step.millis - run.begin)} of run ${step.attempt}` : `first step of run ${step.attempt}`;
}
