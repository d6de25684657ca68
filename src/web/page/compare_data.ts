// What two jobs have that is different. Pure.
import { seriesWanted } from "./chart_data";
import { duration, number, quantity } from "./format";
import type { ConfigKey, Job, Meaning, Metrics, Series } from "./types";

/** Of one job. */
export interface Side {
  job: Job;
  keys: ConfigKey[];
  /** Those of figureQuery(). */
  metrics: Metrics | null;
  meanings: Meaning[];
}

export interface Difference {
  name: string;
  /** Null: the job does not have it. */
  values: [string | null, string | null];
}

/** Keys whose values differ, in their order. */
export function differingKeys(one: ConfigKey[], other: ConfigKey[]): Difference[] {
  const maps = [one, other].map((keys) => new Map(keys.map((key) => [key.key, key.value])));
  const names = [...new Set([...maps[0].keys(), ...maps[1].keys()])].sort();
  return names
    .map((name): Difference => ({ name, values: [maps[0].get(name) ?? null, maps[1].get(name) ?? null] }))
    .filter(({ values }) => values[0] !== values[1]);
}

/** Which number of a metric tells a run from another one. */
const kFigures: [string, Way][] = [
  ["memory", "highest"],
  ["cpu", "average"],
  ["gpu", "average"],
  ["gpu_memory", "highest"],
  ["step", "highest"],
  ["steps", "average"],
];
const kMostReported = 8;
const kMostPoints = 300;
/** What the server gives at once, and the series that a type with many tasks has for each metric. */
const kMostValues = 200_000;
const kQuantiles = 5;

/** The metrics that are asked for: at most 14, so that a request stays within the server's bounds. */
export function figureNames(meanings: Meaning[]): string[] {
  const known = new Set(meanings.map((meaning) => meaning.name));
  const reported = meanings.filter((meaning) => meaning.name.startsWith("report.")).slice(0, kMostReported);
  return [...kFigures.map(([name]) => name).filter((name) => known.has(name)), ...reported.map(({ name }) => name)];
}

/** The query for those metrics, with as many points as the server gives at once. */
export function figureQuery(job: Job, meanings: Meaning[]) {
  const names = figureNames(meanings);
  const wanted = seriesWanted(job.types);
  const count = (list: string) => (list ? list.split(",").length : 0);
  const series = names.length * (count(wanted.tasks) + kQuantiles * count(wanted.types));
  const end = job.ended_millis ?? job.now_millis;
  const begin = Math.min(job.submitted_millis ?? end - 1, end - 1);
  const points = Math.max(1, Math.min(kMostPoints, Math.floor(kMostValues / Math.max(1, series))));
  const { tasks, types } = wanted;
  return { names: names.join(), tasks, types, from: begin, to: end + 1, points };
}

type Way = "highest" | "average" | "last";

const known = (values: (number | null)[]) => values.filter((value): value is number => value !== null);
const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** One number of a series; null: it has no values. */
function figureOf(series: Series, way: Way): number | null {
  const values = known(way === "highest" ? series.max : series.mean);
  if (values.length === 0) return null;
  if (way === "highest") return values.reduce((most, value) => Math.max(most, value));
  return way === "last" ? values[values.length - 1] : mean(values);
}

/** One number for a type, of its tasks' series or, if it has many tasks, of the quantiles over them. */
function figureOfType(all: Series[], way: Way): number | null {
  const band = all.find((one) => one.quantile === (way === "highest" ? 1 : 0.5));
  if (band) return figureOf(band, way);
  const values = known(all.map((one) => figureOf(one, way))).sort((one, other) => one - other);
  if (values.length === 0) return null;
  if (way === "highest") return values[values.length - 1];
  return way === "last" ? values[Math.floor((values.length - 1) / 2)] : mean(values);
}

/** Rows of figures that at least one of the two has: "Memory, highest of worker". */
export function figures(sides: [Side, Side]): Difference[] {
  const meanings = new Map(sides.flatMap((side) => side.meanings.map((meaning) => [meaning.name, meaning] as const)));
  const types = [...new Set(sides.flatMap((side) => side.job.types.map((type) => type.name)))];
  const partly = new Set(sides.flatMap((side) => seriesWanted(side.job.types).leftOut.map(({ type }) => type)));
  const wanted: [string, Way][] = [
    ...kFigures,
    ...[...meanings.keys()].filter((name) => name.startsWith("report.")).map((name): [string, "last"] => [name, "last"]),
  ];
  const rows: Difference[] = [];
  for (const [name, way] of wanted) {
    const meaning = meanings.get(name);
    if (!meaning) continue;
    for (const type of types) {
      const values = sides.map((side) => {
        const series = side.metrics?.series.filter((one) => one.name === name && one.type === type);
        const value = series ? figureOfType(series, way) : null;
        return value === null ? null : quantity(value, meaning.unit);
      }) as Difference["values"];
      if (values[0] === null && values[1] === null) continue;
      rows.push({ name: `${meaning.title}, ${way} of ${partly.has(type) ? "some tasks of " : ""}${type}`, values });
    }
  }
  return rows;
}

const sum = (job: Job) => job.types.reduce((all, type) => all + type.instances, 0);

/** What the jobs are and how they ended. */
export function facts(sides: [Side, Side], now: number): Difference[] {
  const row = (name: string, of: (job: Job) => string | null): Difference => ({
    name,
    values: [of(sides[0].job), of(sides[1].job)],
  });
  return [
    row("State", (job) => job.state),
    row("End", (job) => job.verdict?.sentence ?? null),
    row("Guilty task", (job) => job.verdict?.guilty ?? null),
    row("User", (job) => job.user),
    row("Framework", (job) => job.framework),
    row("Ran", (job) =>
      job.submitted_millis === null ? null : duration((job.ended_millis ?? now) - job.submitted_millis),
    ),
    row("Tasks", (job) => number(sum(job))),
    row("Restarts", (job) => number(Math.max(0, job.attempts.length - 1))),
  ].filter(({ values }) => values[0] !== null || values[1] !== null);
}

/** "a,b" of the page's address as two jobs; null: they are not two. */
export function comparedJobs(text: string): [string, string] | null {
  const jobs = text.split(",");
  return jobs.length === 2 && jobs[0] !== "" && jobs[1] !== "" && jobs[0] !== jobs[1] ? [jobs[0], jobs[1]] : null;
}

/** Puts a job among the chosen ones or takes it out; of three the oldest choice gives way. */
export function pick(chosen: string[], job: string): string[] {
  if (chosen.includes(job)) return chosen.filter((each) => each !== job);
  return [...chosen, job].slice(-2);
}
