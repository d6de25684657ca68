// Marks what an RE2 pattern has found, in the browser, whose own expressions search by trying: some patterns that RE2
// answers at once would take them hours. So only patterns whose work is bounded are marked. Pure.

export interface Marker {
  expression: RegExp;
  /** So many characters of a line are looked at. */
  reach: number;
  /** Its work grows with the square of a line's length at most, so it may be tried on many lines. */
  cheap: boolean;
}

/** By the parts of a pattern that repeat without a limit, of which each makes every other one try more. */
const kReach = [4_000, 4_000, 200];
/** Choices (`a?`, `a|b`, `a{1,3}`) that a pattern may have: each doubles the work at worst. */
const kMostChoices = 10;
/** From so many repetitions on, a limit is none. */
const kManyTimes = 8;

/** How often the atom before `rest` may come, and how long that is written; null: no quantifier is there. */
function quantifier(rest: string): { most: number; length: number } | null {
  const found = /^(?:[*+?]|\{(\d+)(,(\d*))?\})\??/.exec(rest);
  if (!found) return null;
  const [text, least, upTo, most] = found;
  if (text[0] === "?") return { most: 1, length: text.length };
  if (text[0] !== "{") return { most: Infinity, length: text.length };
  return { most: upTo === undefined ? Number(least) : most ? Number(most) : Infinity, length: text.length };
}

/** The length of the atom, or of the parenthesis, at the beginning of `rest`; 0: RE2 and the browser differ here. */
function atomLength(rest: string): number {
  const escaped = /^\\(?:[pPx]\{|[QECz1-9])/.test(rest);
  const set = /^\[\^?\]?(?:\\.|[^\\\]])*\]/.exec(rest)?.[0];
  if (escaped || set?.includes("[:") || /^\((?!\?:|[^?])/.test(rest)) return 0;
  if (rest[0] === "\\") return 2;
  if (rest[0] === "[") return set?.length ?? 0;
  return rest.startsWith("(?:") ? 3 : 1;
}

/** The parts of the pattern that repeat without a limit, in the alternative that has most; null: too much work. */
function repeatingParts(pattern: string): number | null {
  let repeating = 0;
  let most = 0;
  let choices = 0;
  let depth = 0;
  for (let at = 0; at < pattern.length; ) {
    const length = atomLength(pattern.slice(at));
    if (length === 0) return null;
    const letter = pattern[at];
    at += length;
    if (letter === "(") depth += 1;
    if (letter === ")") depth -= 1;
    if (letter === "|" && depth === 0) repeating = choices = 0;
    else if (letter === "|") choices += 1;
    const times = quantifier(pattern.slice(at));
    if (!times) continue;
    at += times.length;
    // What repeats in something that repeats is what takes hours.
    if (letter === ")" && times.most > 1) return null;
    if (times.most > kManyTimes) repeating += 1;
    else choices += times.most;
    most = Math.max(most, repeating);
    if (choices > kMostChoices) return null;
  }
  return choices > kMostChoices ? null : most;
}

/** Marks what the RE2 pattern finds; null: the browser cannot, in short time or at all. */
export function markerOf(pattern: string): Marker | null {
  if (!pattern) return null;
  const plain = pattern.replace(/\(\?i\)/g, "");
  const repeating = repeatingParts(plain);
  if (repeating === null || repeating >= kReach.length) return null;
  try {
    const expression = new RegExp(plain, plain === pattern ? "g" : "gi");
    return { expression, reach: kReach[repeating], cheap: repeating < 2 };
  } catch {
    return null;
  }
}

/** Whether the line is a hit, as far as the marker reaches. */
export function isHit(text: string, marker: Marker): boolean {
  return marked(text, marker).some(([, hit]) => hit);
}

/** The parts of a line, and whether each is a hit. */
export function marked(text: string, marker: Marker | null): [string, boolean][] {
  // The end of what is looked at is not the end of the line.
  if (!marker || (text.length > marker.reach && marker.expression.source.includes("$"))) return [[text, false]];
  const parts: [string, boolean][] = [];
  let at = 0;
  for (const match of text.slice(0, marker.reach).matchAll(marker.expression)) {
    if (match[0] === "") continue;
    if (match.index! > at) parts.push([text.slice(at, match.index), false]);
    parts.push([match[0], true]);
    at = match.index! + match[0].length;
  }
  if (at < text.length || parts.length === 0) parts.push([text.slice(at), false]);
  return parts;
}
