// Groups of stacks in words.
import type { StackGroup } from "./types";

/** Members that a group names one by one. */
const kMostNames = 8;

/** "worker:0, worker:3 and 6 more"; a task of which several processes are here stands once. */
export function membersText(group: StackGroup): string {
  const tasks = [...new Set(group.members.map((member) => member.task))];
  const more = tasks.length - kMostNames;
  return tasks.slice(0, kMostNames).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** One line for each call, the innermost first: the function, and its place behind it. */
export function stackText(group: StackGroup): string {
  if (group.frames.length === 0) return "(no Python code)";
  const width = Math.min(40, Math.max(...group.frames.map((frame) => frame.function.length)));
  const lines = group.frames.map((frame) => {
    const place = frame.line ? `${frame.file}:${frame.line}` : frame.file;
    return place ? `${frame.function.padEnd(width)}  ${place}` : frame.function;
  });
  return [...lines, ...(group.cut ? ["…"] : [])].join("\n");
}
