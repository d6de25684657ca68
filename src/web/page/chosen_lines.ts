// The tasks that the user wants drawn as lines above the bands, kept in the page's address behind '#'. Pure.
import { taskParts, taskPath } from "./format";

/** The server takes 32 tasks at once, of which charts use 24 for small types. */
export const kMostChosen = 5;

const kName = "lines";

interface Type {
  name: string;
  instances: number;
}

/** Whether the job has a task of this name, "worker:3". */
export function hasTask(types: Type[], task: string): boolean {
  const [name, index] = taskParts(task);
  const count = types.find((type) => type.name === name)?.instances ?? 0;
  return task === `${name}:${index}` && Number.isInteger(index) && index >= 0 && index < count;
}

/** Puts a task among the chosen ones; the oldest choice gives way. */
export function withLine(chosen: string[], task: string): string[] {
  return [...chosen.filter((each) => each !== task), task].slice(-kMostChosen);
}

/** The tasks that the part of an address behind '#' names; null: it says nothing of them, as a link to a section. */
export function linesOfHash(hash: string): string[] | null {
  const part = hash.replace(/^#/, "").split("&").find((each) => each.startsWith(`${kName}=`));
  if (part === undefined) return null;
  const names = part.slice(kName.length + 1).split(",");
  const tasks = names.flatMap((name) => {
    const found = /^([A-Za-z0-9_.-]{1,128})-(\d{1,7})$/.exec(name);
    return found ? [`${found[1]}:${Number(found[2])}`] : [];
  });
  return [...new Set(tasks)].slice(0, kMostChosen);
}

/** The same part with these tasks, and with the section that it names. */
export function hashWithLines(hash: string, chosen: string[]): string {
  const others = hash.replace(/^#/, "").split("&").filter((each) => each !== "" && !each.startsWith(`${kName}=`));
  const lines = chosen.length > 0 ? [`${kName}=${chosen.map(taskPath).join(",")}`] : [];
  const parts = [...others, ...lines].join("&");
  return parts ? `#${parts}` : "";
}
