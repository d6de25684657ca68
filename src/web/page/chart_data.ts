// What a chart draws: lines of single tasks, or bands over the tasks of a type. Pure.
import { taskPath } from "./format";
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

/** The query for the job's metrics: small types task by task, large ones as bands. */
export function seriesWanted(types: Type[]): { tasks: string; types: string } {
  const tasks: string[] = [];
  const bands: string[] = [];
  for (const type of types) {
    const single = type.instances < kLeastForBands && tasks.length + type.instances <= kMostLines;
    if (!single) bands.push(type.name);
    else for (let i = 0; i < type.instances; ++i) tasks.push(taskPath(`${type.name}:${i}`));
  }
  return { tasks: tasks.join(","), types: bands.slice(0, kMostBands).join(",") };
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
