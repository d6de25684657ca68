// Patterns of the log view, and lines as they are shown. Pure.

/** Which lines are looked for: those that match the RE2 pattern, if it is not empty, and are of the level and above, if
 * it is not empty. */
export interface Wanted {
  pattern: string;
  /** As the API names it: "warning" or "error". */
  level: string;
}

/** Whether anything is looked for. */
export const looksFor = ({ pattern, level }: Wanted): boolean => pattern !== "" || level !== "";

/** By what the lines of programs are of a level, and so what is marked where there is no pattern: the server's
 * LevelWords(). */
export const kLevelWords: Record<string, string> = {
  warning: "(?i)warn|error|exception|traceback|fatal|critical",
  error: "(?i)error|exception|traceback|fatal|critical",
};

/** The pattern whose hits are marked in lines. */
export const patternToMark = ({ pattern, level }: Wanted): string => pattern || (kLevelWords[level] ?? "");

const kWords = Object.fromEntries(
  Object.entries(kLevelWords).map(([level, words]) => [level, new RegExp(words.slice("(?i)".length), "i")]),
);
const kOrder = ["debug", "info", "warning", "error"];
const kOwnLine = /^\d{4}-\d\d-\d\dT\S{18} (debug|info|warning|error) /;

/** Whether a line is of the level, as the server judges it. `own`: of tony's own logs, whose lines say their level; one
 * that does not, such as the message of a crash, counts as an error. */
export function isOfLevel(text: string, level: string, own: boolean): boolean {
  if (!level) return true;
  if (own) return kOrder.indexOf(kOwnLine.exec(text)?.[1] ?? "error") >= kOrder.indexOf(level);
  return kWords[level]?.test(text) ?? true;
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

/** A text of any length as it may be shown; unlike of a line of output, nothing of it is left out. */
export const shownText = (text: string): string => text.replace(kUnseen, "\ufffd");

/** More characters of a name say nothing to anybody. */
const kMostOfName = 200;

/** A name that somebody else has given, as it may be shown: in one line of bounded length, and as cleaned() otherwise. */
export function shownName(name: string | null | undefined): string {
  // A few spare ones for what is taken out; a name may have a megabyte.
  const letters = [...cleaned((name ?? "").slice(0, 8 * kMostOfName).replace(/\s+/g, " ")).trim()];
  return letters.length > kMostOfName ? `${letters.slice(0, kMostOfName).join("")}…` : letters.join("");
}

/** What to call a job: its name, or its id if it has none that can be seen. */
export function jobTitle(job: { name: string | null; id: string }): string {
  return shownName(job.name) || job.id;
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
