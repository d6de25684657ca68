// The part of a log that the page holds: whole lines from one place of the file, which grows at both ends and
// never beyond a limit, so that a log of a gigabyte scrolls like a short one. Pure but for what `Read` does.
import type { LogBlock } from "./types";

export interface Line {
  offset: number;
  text: string;
}

export interface LogWindow {
  lines: Line[];
  /** Where the first line begins. */
  begin: number;
  /** From where to go on. */
  end: number;
  size: number;
  dropped: { offset: number; bytes: number };
  /** The last line has no end yet: it comes again with the next block. */
  partial: boolean;
}

/** A line of one of a task's logs: which, and where it begins. */
export interface LogPlace {
  attempt: number;
  stream: string;
  offset: number;
}

/** Reads a block of at most `limit` bytes that begins with the first line from `offset` on. */
export type Read = (offset: number, limit: number) => Promise<LogBlock>;

export const kBlockBytes = 65_536;
/** The limit of the API for one block. */
const kMostBlockBytes = 1_048_576;
export const kMostLines = 20_000;

const linesOf = (block: LogBlock): Line[] => block.rows.map(([offset, text]) => ({ offset, text }));

function windowOf(block: LogBlock): LogWindow {
  return {
    lines: linesOf(block),
    begin: block.rows.length > 0 ? block.rows[0][0] : block.offset,
    // `next` is behind `end` where a line was cut because it is too long; staying there would never end.
    end: block.next ?? block.end,
    size: block.size,
    dropped: block.dropped,
    partial: block.partial && block.next === null,
  };
}

/** The last lines of the log. */
export async function openEnd(read: Read): Promise<LogWindow> {
  return windowOf(await read(-kBlockBytes, kBlockBytes));
}

/** The lines around a place of the log. */
export async function openAt(read: Read, offset: number): Promise<LogWindow> {
  return windowOf(await read(Math.max(0, offset - kBlockBytes / 4), kBlockBytes));
}

/** The window with the lines before it. Drops lines at its end if it grows too large. */
export async function withOlder(read: Read, window: LogWindow): Promise<LogWindow> {
  // A line may be longer than a block: then no line begins within it, and a larger block is tried.
  for (let bytes = kBlockBytes; window.begin > 0; bytes *= 4) {
    const from = Math.max(0, window.begin - bytes);
    const block = await read(from, Math.min(kMostBlockBytes, window.begin - from));
    const older = linesOf(block).filter((line) => line.offset < window.begin);
    if (older.length === 0) {
      if (from === 0 || bytes >= kMostBlockBytes) break;
      continue;
    }
    const lines = older.concat(window.lines);
    const cut = lines.length > kMostLines ? lines[kMostLines] : null;
    return {
      ...window,
      lines: cut ? lines.slice(0, kMostLines) : lines,
      begin: older[0].offset,
      end: cut ? cut.offset : window.end,
      partial: cut ? false : window.partial,
      size: block.size,
    };
  }
  return window;
}

/** The window with the lines behind it. Drops lines at its beginning if it grows too large. */
export async function withNewer(read: Read, window: LogWindow): Promise<LogWindow> {
  const next = windowOf(await read(window.end, kBlockBytes));
  const kept = window.partial ? window.lines.slice(0, -1) : window.lines;
  const lines = kept.concat(next.lines);
  const surplus = Math.max(0, lines.length - kMostLines);
  const shown = surplus > 0 ? lines.slice(surplus) : lines;
  return { ...next, lines: shown, begin: shown.length > 0 ? shown[0].offset : next.begin };
}

/** The window with the log's end. A log that has grown by more than two blocks is opened at its end anew. */
export async function withEnd(read: Read, window: LogWindow): Promise<LogWindow> {
  const next = await withNewer(read, window);
  if (next.size - next.end > kBlockBytes) return openEnd(read);
  return hasNewer(next) ? withNewer(read, next) : next;
}

/** Whether there are lines behind the window. */
export const hasNewer = (window: LogWindow) => window.end < window.size && !window.partial;
