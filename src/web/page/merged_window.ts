// The part of merged logs that the page holds: pages in the order of their lines, which go on at both ends and never
// beyond a limit. The server knows no page before another, so where each began is remembered. Pure but for `Ask`.
import type { MergedLogs } from "./types";

export type MergedRow = MergedLogs["rows"][number];

/** Reads at most `limit` lines from a cursor on; undefined: from the start. */
export type Ask = (cursor: string | undefined, limit: number) => Promise<MergedLogs>;

interface Part {
  start: string | undefined;
  rows: MergedRow[];
}

export interface MergedWindow {
  parts: Part[];
  /** Of the parts before these, which are no longer held: where they began, and their lines. */
  earlier: { start: string | undefined; count: number }[];
  /** Where to go on; undefined: at the start. */
  next: string | undefined;
  /** There are lines behind those that are held. */
  more: boolean;
  /** About tasks whose lines are missing. */
  notes: string[];
}

export const kPageLines = 2_000;
export const kMostMergedLines = 20_000;

export const kNoLines: MergedWindow = { parts: [], earlier: [], next: undefined, more: true, notes: [] };

export const heldRows = (window: MergedWindow): MergedRow[] => window.parts.flatMap((part) => part.rows);
/** The number of lines before those that are held. */
export const linesBefore = (window: MergedWindow) => window.earlier.reduce((sum, part) => sum + part.count, 0);
const held = (window: MergedWindow) => window.parts.reduce((sum, part) => sum + part.rows.length, 0);

/** The window with the lines behind it; drops lines at its beginning if it grows too large. */
export async function withLater(ask: Ask, window: MergedWindow): Promise<MergedWindow> {
  const start = window.next;
  const page = await ask(start, kPageLines);
  const parts = window.parts.slice();
  const last = parts[parts.length - 1];
  // What a follower gets are a few lines at a time: they are one part until that is a whole page.
  if (last && last.rows.length + page.rows.length <= kPageLines) {
    parts[parts.length - 1] = { start: last.start, rows: last.rows.concat(page.rows) };
  } else if (page.rows.length > 0) {
    parts.push({ start, rows: page.rows });
  }
  const earlier = window.earlier.slice();
  while (held({ ...window, parts }) > kMostMergedLines) {
    const first = parts.shift()!;
    earlier.push({ start: first.start, count: first.rows.length });
  }
  return { parts, earlier, next: page.next ?? window.next, more: page.more && page.next !== null, notes: page.notes ?? [] };
}

/** The window with the lines before it; drops lines at its end if it grows too large. */
export async function withEarlier(ask: Ask, window: MergedWindow): Promise<MergedWindow> {
  const wanted = window.earlier[window.earlier.length - 1];
  if (!wanted) return window;
  const rows: MergedRow[] = [];
  // A page may end before its limit, when its time is up.
  for (let cursor = wanted.start; rows.length < wanted.count; ) {
    const page = await ask(cursor, wanted.count - rows.length);
    rows.push(...page.rows);
    if (page.next === null || page.next === cursor) break;
    cursor = page.next;
  }
  const parts = [{ start: wanted.start, rows }, ...window.parts];
  let { next, more } = window;
  while (parts.length > 1 && held({ ...window, parts }) > kMostMergedLines) {
    next = parts.pop()!.start;
    more = true;
  }
  return { ...window, parts, earlier: window.earlier.slice(0, -1), next, more };
}
