// Patterns of the log view, and lines as they are shown. Pure.

export const kLevels: Record<string, string> = {
  "": "",
  warnings: "(?i)warn|error|exception|traceback|fatal|critical",
  errors: "(?i)error|exception|traceback|fatal|critical",
};

/** The pattern for lines that match `pattern` and are of `level`; empty: all lines. */
export function combined(pattern: string, level: string): string {
  const wanted = kLevels[level] ?? "";
  if (!pattern || !wanted) return pattern || wanted;
  // RE2 has no look-ahead, so "both" is "one before the other".
  return `(?:${pattern}).*(?:${wanted})|(?:${wanted}).*(?:${pattern})`;
}

/** What a terminal would obey: colours and cursors (CSI), titles and links (OSC), and other sequences. */
const kSequences = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])/g;
/** Other controls, and characters that turn the direction of those behind them: a line could show what it does not say. */
const kUnseen = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A line as it may be shown: without what a terminal would obey, and of a progress bar that overwrites itself only the
 * last state. */
export function cleaned(text: string): string {
  const plain = text.replace(kSequences, "").replace(/\r+$/, "");
  return plain.slice(plain.lastIndexOf("\r") + 1).replace(kUnseen, "\ufffd");
}

/** The position of the hit to go to: the next or last one from `current`, round at the ends. */
export function nextHit(current: number, count: number, step: 1 | -1): number {
  if (count === 0) return -1;
  if (current < 0) return step > 0 ? 0 : count - 1;
  return (current + step + count) % count;
}

/** How many colours tell tasks apart; `.by-0` and so on in the style. */
export const kTaskColors = 8;

/** The colour of a task's name: neighbours differ, and a task keeps its own. */
export function taskColor(task: string): number {
  const colon = task.lastIndexOf(":");
  const index = colon < 0 ? 0 : Number(task.slice(colon + 1)) || 0;
  let type = 0;
  for (const letter of colon < 0 ? task : task.slice(0, colon)) type = (type * 31 + letter.codePointAt(0)!) % 9973;
  return (type * 3 + index) % kTaskColors;
}
