// Requests to the job's API. All addresses are relative, since behind a proxy the page lies elsewhere.

/** What the API says is wrong (RFC 9457). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly command: string = "",
  ) {
    super(detail);
  }
}

export type Query = Record<string, string | number | undefined>;

/** The address of a resource below the job; empty parameters are left out. */
export function jobAddress(job: string, resource: string, query: Query = {}): string {
  const set = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const text = set.map(([name, value]) => `${name}=${encodeURIComponent(value!)}`).join("&");
  const path = `api/v1/jobs/${encodeURIComponent(job)}${resource && "/"}${resource}`;
  return text ? `${path}?${text}` : path;
}

async function problemOf(response: Response): Promise<Problem> {
  let detail = `The server answered ${response.status} ${response.statusText}.`;
  let command = "";
  try {
    const body = await response.json();
    detail = body.detail ?? detail;
    command = body.command ?? "";
  } catch {
    // Not JSON: a proxy between us and the job answered, and the status is all that it says.
  }
  return new Problem(response.status, detail, command);
}

/** An abort controller that follows `signal` until `release()`. */
export function following(signal?: AbortSignal): { abort: AbortController; release: () => void } {
  const abort = new AbortController();
  const forward = () => abort.abort();
  signal?.addEventListener("abort", forward);
  if (signal?.aborted) forward();
  return { abort, release: () => signal?.removeEventListener("abort", forward) };
}

/** No answer may take longer; the server itself gives up after 30 s. */
const kDeadlineMillis = 40_000;

/** Fetches JSON. Throws Problem, or a TypeError or AbortError when nobody answers. */
export async function getJson<T>(address: string, signal?: AbortSignal): Promise<T> {
  const { abort, release } = following(signal);
  const deadline = setTimeout(() => abort.abort(), kDeadlineMillis);
  try {
    const response = await fetch(address, { signal: abort.signal, headers: { Accept: "application/json" } });
    if (!response.ok) throw await problemOf(response);
    return (await response.json()) as T;
  } finally {
    clearTimeout(deadline);
    release();
  }
}

/** What to say of an error that getJson() or postJson() has thrown; `who`: "The portal". */
export function sentenceOf(error: unknown, who: string): string {
  if (error instanceof Problem) return error.message;
  if (error instanceof TypeError) return `${who} does not answer.`;
  if (error instanceof SyntaxError) return `${who} has sent an answer that cannot be read.`;
  const { name, message } = error as Error;
  const late = name === "AbortError" || name === "TimeoutError";
  return late ? `${who} has not answered in time.` : `${who} cannot be asked: ${message}`;
}

/** Posts JSON to a resource that changes something. Throws as getJson() does. */
export async function postJson(address: string, body: object): Promise<void> {
  const response = await fetch(address, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(kDeadlineMillis),
  });
  if (!response.ok) throw await problemOf(response);
}

/** Whether the page was fetched through YARN's proxy, which holds streams back and refuses POST. */
export function behindProxy(path: string): boolean {
  return path.includes("/proxy/application_");
}
