// Groups of stacks in words.
import type { KeptStacks, StackGroup, Stacks } from "./types";

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

/** Of which tasks a kept text is, and why it was kept. */
export function keptText(kept: KeptStacks): string {
  if (kept.task === null) return "All tasks, when the job seemed to hang";
  return `${kept.task}, attempt ${kept.attempt}, before it was ended`;
}

/** Whether there is anything to be shown of a job that is over. */
export function hasStacks(stacks: Stacks): boolean {
  return stacks.taken_millis !== null || stacks.kept.length > 0 || stacks.kept_left_out > 0;
}
