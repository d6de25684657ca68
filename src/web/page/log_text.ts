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

/** A line without colours, and of a progress bar that overwrites itself only the last state. */
export function cleaned(text: string): string {
  const plain = text.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "").replace(/\r+$/, "");
  return plain.slice(plain.lastIndexOf("\r") + 1);
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
