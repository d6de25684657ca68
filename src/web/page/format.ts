// Numbers, times and names as people read them.
import type { Job } from "./types";

const kUnknown = "–";

/** "1.3 GB"; "–" for an unknown number. Powers of 1000, as `tony status` counts. */
export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return kUnknown;
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  let rest = value;
  while (Math.abs(rest) >= 999.5 && unit < units.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  return `${unit === 0 || Math.abs(rest) >= 99.95 ? Math.round(rest) : rest.toFixed(1)} ${units[unit]}`;
}

/** Three significant digits, and thousands grouped: "0.0123", "12.3", "1,234". */
export function number(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return kUnknown;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en-US");
  if (size < 0.001) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}

/** "4m 10s", as `tony status` writes durations. */
export function duration(millis: number): string {
  const seconds = Math.max(0, Math.floor(millis / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${seconds % 60}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours}h ${minutes % 60}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** A value of a metric with its unit. */
export function quantity(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined) return kUnknown;
  switch (unit) {
    case "bytes":
      return bytes(value);
    case "bytes/s":
      return `${bytes(value)}/s`;
    case "percent":
      return `${number(value)} %`;
    case "ratio":
      return `${number(value * 100)} %`;
    case "1/s":
      return `${number(value)}/s`;
    case "":
      return number(value);
    default:
      return `${number(value)} ${unit}`;
  }
}

const two = (value: number) => String(value).padStart(2, "0");

/** The parts of a time, in the browser's zone or UTC. */
function parts(millis: number, utc: boolean) {
  const d = new Date(millis);
  return utc
    ? [d.getUTCFullYear(), d.getUTCMonth() + 1, d.getUTCDate(), d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds()]
    : [d.getFullYear(), d.getMonth() + 1, d.getDate(), d.getHours(), d.getMinutes(), d.getSeconds()];
}

/** "13:05:59" */
export function clock(millis: number, utc: boolean): string {
  const [, , , hours, minutes, seconds] = parts(millis, utc);
  return `${two(hours)}:${two(minutes)}:${two(seconds)}`;
}

/** "2026-11-28 13:05:59" */
export function dateTime(millis: number, utc: boolean): string {
  const [year, month, day] = parts(millis, utc);
  return `${year}-${two(month)}-${two(day)} ${clock(millis, utc)}`;
}

/** The label of a tick on a time axis whose ticks are `stepSeconds` apart: 24 hours, never am and pm. */
export function tick(millis: number, stepSeconds: number, utc: boolean): string {
  const [, month, day, hours, minutes] = parts(millis, utc);
  if (stepSeconds >= 86400) return `${two(month)}-${two(day)}`;
  if (hours === 0 && minutes === 0 && stepSeconds >= 3600) return `${two(month)}-${two(day)}`;
  return stepSeconds >= 60 ? `${two(hours)}:${two(minutes)}` : clock(millis, utc);
}

/** "worker:1" as it is written in addresses: "worker-1". */
export function taskPath(task: string): string {
  const colon = task.lastIndexOf(":");
  return colon < 0 ? task : `${task.slice(0, colon)}-${task.slice(colon + 1)}`;
}

/** "worker:12" is ["worker", 12]. */
export function taskParts(task: string): [string, number] {
  const colon = task.lastIndexOf(":");
  return colon < 0 ? [task, 0] : [task.slice(0, colon), Number(task.slice(colon + 1))];
}

/** The style class that gives a job's or a task's state its colour. */
export function stateClass(state: string): string {
  switch (state) {
    case "SUCCEEDED":
      return "good";
    case "FAILED":
    case "LOST":
    case "RESTARTING":
    case "UNREADABLE":
      return "bad";
    case "KILLED":
    case "STOPPED":
      return "stopped";
    case "RUNNING":
      return "running";
    default:
      return "waiting";
  }
}

/** How long the job has run, or ran. */
export function jobAge(job: Job, now: number): number {
  return (job.ended_millis ?? now) - (job.submitted_millis ?? now);
}

/** The bytes of "4g", "512m", "1024" (megabytes, as in job files); null if it is none. */
export function memorySetting(value: string): number | null {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([kmgt]?)b?\s*$/i.exec(value);
  if (!match) return null;
  const powers: Record<string, number> = { k: 1, "": 2, m: 2, g: 3, t: 4 };
  return Number(match[1]) * 1024 ** powers[match[2].toLowerCase()];
}
