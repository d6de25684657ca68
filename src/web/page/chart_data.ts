// What a chart draws: lines of single tasks, or bands over the tasks of a type. Pure.
import { taskParts, taskPath } from "./format";
import type { Metrics, Series } from "./types";

/** From so many tasks on a type is drawn as a band: twenty coloured lines cannot be read. */
export const kLeastForBands = 8;
/** A chart has at most so many lines of tasks, and bands of so many types. */
export const kMostLines = 24;
const kMostBands = 32;

export interface Line {
  label: string;
  values: (number | null)[];
  /** Which of the page's colours. */
  color: number;
  /** "line", or a part of a band: its edges are not drawn. */
  part: "line" | "median" | "edge";
}

export interface Chart {
  /** Unix seconds, as uPlot wants them. */
  times: number[];
  lines: Line[];
  /** Pairs of positions in `lines`, upper and lower, between which is filled. */
  bands: { upper: number; lower: number; color: number; inner: boolean }[];
}

interface Type {
  name: string;
  instances: number;
}

/** A type of which not all tasks are drawn, neither as lines nor in a band. */
export interface LeftOut {
  type: string;
  drawn: number;
  instances: number;
}

/** What is asked for, as the API's parameters, and what is not. */
export interface WantedSeries {
  tasks: string;
  types: string;
  leftOut: LeftOut[];
}

/** How many tasks of each small type are drawn: the first one of each, then the second ones, as far as there is room. */
function shares(small: Type[]): number[] {
  const drawn = small.map(() => 0);
  let room = kMostLines;
  for (let index = 0; index < kLeastForBands; ++index) {
    small.forEach((type, at) => {
      if (index >= type.instances || room === 0) return;
      drawn[at] += 1;
      room -= 1;
    });
  }
  return drawn;
}

/** The series of a chart: small types task by task, since the server makes no bands of them, large ones as bands, and the
 * lines of `chosen` tasks ("worker:3"). */
export function seriesWanted(types: Type[], chosen: string[] = []): WantedSeries {
  const small = types.filter((type) => type.instances < kLeastForBands);
  const large = types.filter((type) => type.instances >= kLeastForBands);
  const drawn = shares(small);
  const first = small.flatMap((type, at) => Array.from({ length: drawn[at] }, (_, i) => `${type.name}:${i}`));
  const tasks = [...new Set([...first, ...chosen])];
  const count = (type: Type) => tasks.filter((task) => taskParts(task)[0] === type.name).length;
  const left = [...small, ...large.slice(kMostBands)].map((type) => ({
    type: type.name,
    drawn: count(type),
    instances: type.instances,
  }));
  return {
    tasks: tasks.map(taskPath).join(","),
    types: large.slice(0, kMostBands).map((type) => type.name).join(","),
    leftOut: left.filter((type) => type.drawn < type.instances),
  };
}

/** At most so many types are named. */
const kMostNamed = 5;

/** "Not drawn: 5 of 7 tasks of ps, …"; empty: nothing is left out. */
export function leftOutText(leftOut: LeftOut[]): string {
  if (leftOut.length === 0) return "";
  const named = leftOut
    .slice(0, kMostNamed)
    .map(({ type, drawn, instances }) => `${instances - drawn} of ${instances} tasks of ${type}`);
  const more = leftOut.length - named.length;
  return `Not drawn: ${named.join(", ")}${more > 0 ? `, and some of ${more} more types` : ""}.`;
}

/** The five lines of a type's band, upper edge first; null if one of them is missing. */
function bandOf(series: Series[], type: string): [string, Series, "min" | "mean" | "max"][] | null {
  const find = (quantile: number) => series.find((one) => one.task === null && one.type === type && one.quantile === quantile);
  const parts: [string, number, "min" | "mean" | "max"][] = [
    ["max", 1, "max"],
    ["p90", 0.9, "mean"],
    ["p50", 0.5, "mean"],
    ["p10", 0.1, "mean"],
    ["min", 0, "min"],
  ];
  const found = parts.map(([label, quantile, value]) => [label, find(quantile), value] as const);
  if (found.some(([, one]) => !one)) return null;
  return found as [string, Series, "min" | "mean" | "max"][];
}

/** The chart of one metric. */
export function chartOf(metrics: Metrics, name: string): Chart {
  const series = metrics.series.filter((one) => one.name === name);
  const length = Math.max(0, ...series.map((one) => one.mean.length));
  const times = Array.from(
    { length },
    (_, i) => (metrics.begin_millis + (i + 0.5) * metrics.step_millis) / 1000,
  );
  const chart: Chart = { times, lines: [], bands: [] };
  let color = 0;
  const types = [...new Set(series.filter((one) => one.quantile !== null).map((one) => one.type))];
  const mixed = types.length > 1 || series.some((one) => one.task !== null);
  for (const type of types) {
    const band = bandOf(series, type);
    if (!band) continue;
    const first = chart.lines.length;
    for (const [label, one, value] of band) {
      chart.lines.push({
        label: mixed ? `${type} ${label}` : label,
        values: one[value],
        color,
        part: label === "p50" ? "median" : "edge",
      });
    }
    chart.bands.push({ upper: first, lower: first + 4, color, inner: false });
    chart.bands.push({ upper: first + 1, lower: first + 3, color, inner: true });
    color += 1;
  }
  for (const one of series) {
    if (one.task === null) continue;
    chart.lines.push({ label: one.task, values: one.mean, color, part: "line" });
    color += 1;
  }
  return chart;
}

/** The newest value of a line that is known. */
export function newest(values: (number | null)[]): number | null {
  for (let i = values.length - 1; i >= 0; --i) if (values[i] !== null) return values[i];
  return null;
}
