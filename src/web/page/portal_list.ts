// What the portal's list shows: the filters as an address, and the jobs that were fetched. Pure.
import type { Millis } from "./types";

export interface ListedJob {
  id: string;
  address: string;
  name: string | null;
  user: string | null;
  queue: string | null;
  framework: string | null;
  backend: string | null;
  tags: string[];
  state: string;
  alive: boolean;
  reason: string | null;
  sentence: string | null;
  submitted_millis: Millis | null;
  ended_millis: Millis | null;
  duration_millis: number | null;
  tasks: number;
  gpus: number;
  attempts: number;
  advice: number;
  trouble: string | null;
  location: string;
}

export interface JobPage {
  jobs: ListedJob[];
  next: string | null;
  now_millis: Millis;
  index: { complete: boolean; done: number; total: number; trouble: string | null };
}

export interface Session {
  user: string;
  role: "view" | "control";
  login: "code" | "password" | "header";
}

export interface Value {
  value: string;
  jobs: number;
}

export interface Counts {
  jobs: number;
  alive: number;
  states: Value[];
  users: Value[];
  queues: Value[];
  frameworks: Value[];
}

export const kFilters = ["q", "state", "user", "queue", "framework"] as const;
export type FilterName = (typeof kFilters)[number];

/** `compare`: the two jobs that are shown side by side, with a comma between them; empty: the list is shown. */
export type Choice = Record<FilterName, string> & { sort: string; compare: string };

export const kNewestFirst = "-submitted";
export const kAll: Choice = { q: "", state: "", user: "", queue: "", framework: "", sort: kNewestFirst, compare: "" };

/** The choice in the part of the page's address behind '#', so that it can be kept and sent. */
export function choiceOfHash(hash: string): Choice {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const choice = { ...kAll };
  for (const name of kFilters) choice[name] = parts.get(name) ?? "";
  choice.sort = parts.get("sort") ?? kNewestFirst;
  choice.compare = parts.get("compare") ?? "";
  return choice;
}

export function hashOfChoice(choice: Choice): string {
  const parts = new URLSearchParams();
  for (const name of kFilters) if (choice[name]) parts.set(name, choice[name]);
  if (choice.sort !== kNewestFirst) parts.set("sort", choice.sort);
  if (choice.compare) parts.set("compare", choice.compare);
  return parts.toString();
}

/** "ALIVE" stands for every state in which something may still happen. */
export const kAlive = "ALIVE";

export function listAddress(choice: Choice, limit: number, cursor: string | null): string {
  const parts = new URLSearchParams();
  for (const name of kFilters) {
    const value = choice[name].trim();
    if (!value) continue;
    if (name === "state" && value === kAlive) parts.set("alive", "yes");
    else parts.set(name, value);
  }
  parts.set("sort", choice.sort);
  parts.set("limit", String(limit));
  if (cursor) parts.set("cursor", cursor);
  return `api/v1/jobs?${parts}`;
}

/** What was fetched so far, in order. */
export interface Fetched {
  jobs: ListedJob[];
  next: string | null;
}

/** Adds the next page. A job that has moved in the order meanwhile is shown once. */
export function append(held: Fetched, page: JobPage): Fetched {
  const known = new Set(held.jobs.map((job) => job.address));
  return { jobs: held.jobs.concat(page.jobs.filter((job) => !known.has(job.address))), next: page.next };
}

/** Puts the newest state of the first jobs in front of those that lie behind them. */
export function renew(held: Fetched, first: JobPage): Fetched {
  if (first.next === null || held.jobs.length <= first.jobs.length) return { jobs: first.jobs, next: first.next };
  const last = first.jobs[first.jobs.length - 1].address;
  const place = held.jobs.findIndex((job) => job.address === last);
  // The order has changed so much that nothing is known of what lies behind.
  if (place < 0) return { jobs: first.jobs, next: first.next };
  const front = new Set(first.jobs.map((job) => job.address));
  const rest = held.jobs.slice(place + 1).filter((job) => !front.has(job.address));
  return { jobs: first.jobs.concat(rest), next: rest.length > 0 ? held.next : first.next };
}

/** The orders that are offered where there are no columns. */
export const kOrders: [string, string][] = [
  [kNewestFirst, "Newest first"],
  ["submitted", "Oldest first"],
  ["-duration", "Longest first"],
  ["duration", "Shortest first"],
  ["name", "By name"],
  ["state", "By state"],
  ["user", "By user"],
  ["framework", "By framework"],
  ["-gpus", "Most GPUs first"],
];

/** How a click on a column's head changes the order: large and late things come first. */
export function sortedBy(sort: string, column: string): string {
  const largestFirst = column === "submitted" || column === "duration" || column === "gpus";
  if (sort === column) return `-${column}`;
  if (sort === `-${column}`) return column;
  return largestFirst ? `-${column}` : column;
}
