// What the API answers, as src/web/api/openapi.json describes it. Only what the page reads is here.

/** Unix milliseconds. */
export type Millis = number;

export interface Exit {
  description: string;
  code: number | null;
  signal: number | null;
  tail: string[];
}

export interface Verdict {
  outcome: "SUCCEEDED" | "FAILED" | "KILLED";
  reason: string;
  sentence: string;
  guilty: string | null;
  exit: Exit | null;
}

export interface Job {
  id: string;
  name: string | null;
  user: string | null;
  framework: string | null;
  backend: string | null;
  state: string;
  phase: string;
  attempt: number;
  incarnation: number;
  submitted_millis: Millis | null;
  state_since_millis: Millis | null;
  ended_millis: Millis | null;
  now_millis: Millis;
  verdict: Verdict | null;
  waiting: { what: string; since_millis: Millis; missing: string[]; unblock: string } | null;
  visualization: string | null;
  notes: string[];
  attempts: {
    attempt: number;
    began_millis: Millis | null;
    ended_millis: Millis;
    cause: string;
    guilty: string | null;
    error: string | null;
  }[];
  types: { name: string; instances: number; tracked: boolean }[];
  counts: Record<string, number>;
  sequence: number;
  /** It is shown as its folder records it: by the portal, perhaps after its end. */
  recorded: boolean;
  master_log_url: string | null;
  may: {
    stop: boolean;
    stop_command: string;
    open?: boolean;
    open_command?: string;
    stacks: boolean;
    /** Absent: the server is of a version that has them. */
    logs?: boolean;
    /** Why logs cannot be read here (yet), or what is missing; absent as `logs` is. */
    logs_note?: string | null;
    logs_command?: string;
  };
}

/** A table as columns: the names once, then one row of values for each entry. */
export interface Table {
  columns: string[];
  rows: (string | number | null)[][];
}

export interface TaskTable extends Table {
  next: string | null;
  total: number;
  sequence: number;
}

/** One task; null: not known. The names are those of the API's columns. */
export interface Task {
  task: string;
  state: string;
  attempt: number;
  host: string | null;
  started_millis: Millis | null;
  ended_millis: Millis | null;
  sentence: string | null;
  exit: string | null;
  cpu_seconds: number | null;
  memory_bytes: number | null;
  max_memory_bytes: number | null;
  gpu_utilization: number | null;
  gpu_memory_bytes: number | null;
  step: number | null;
  seconds: number | null;
  steps_per_second: number | null;
}

export interface Timeline {
  /** task, kind, begin_millis, end_millis, attempt */
  rows: [string, string, Millis, Millis | null, number][];
  /** task, state, millis, attempt */
  ends: { rows: [string, string, Millis, number][] };
  /** When programs named their first step: task, millis, attempt */
  first_steps: { rows: [string, Millis, number][] };
  epochs: { epoch: number; millis: Millis; cause: string; guilty: string | null; lost: boolean }[];
  begin_millis: Millis;
  now_millis: Millis;
  dropped: number;
}

export interface LogBlock {
  offset: number;
  end: number;
  size: number;
  dropped: { offset: number; bytes: number };
  /** offset, text, and with a pattern whether the line is a hit */
  rows: [number, string, boolean?][];
  partial: boolean;
  next: number | null;
  hits: number;
}

export interface MergedLogs {
  /** millis, task, attempt, stream, text */
  rows: [Millis | null, string, number, string, string][];
  next: string | null;
  more: boolean;
  /** Absent: the server is of an earlier version. */
  notes?: string[];
}

export interface FoundError {
  task: string;
  attempt: number;
  stream: string;
  line: number;
  /** Of the first of `lines` in its log; null: not known. */
  offset: number | null;
  millis: Millis | null;
  before: string[];
  lines: string[];
  mention: boolean;
}

export interface Errors {
  failure: { sentence: string; guilty: string | null; attempt: number; exit: Exit | null } | null;
  own: FoundError | null;
  printed: boolean;
  after: FoundError | null;
}

export interface ConfigKey {
  key: string;
  value: string;
  origin: string;
  default: string | null;
  differs: boolean;
  known: boolean;
}

/** The configuration beside that of the last successful run of the same name. */
export interface PreviousConfig {
  job: string | null;
  ended_millis: number | null;
  changes: { key: string; value: string | null; previous: string | null }[];
}

export interface Meaning {
  name: string;
  unit: string;
  title: string;
}

/** One line of a chart: of a task, or a quantile over the tasks of a type. */
export interface Series {
  name: string;
  /** null: a quantile over the tasks of `type` */
  task: string | null;
  type: string;
  quantile: number | null;
  mean: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
}

export interface Metrics {
  begin_millis: Millis;
  step_millis: number;
  series: Series[];
}

export interface Advice {
  advice: {
    heuristic: string;
    severity: string;
    type: string;
    sentence: string;
    evidence: string;
    cost: string;
    lines: Record<string, string>;
  }[];
  /** All lines, as properties for the job file. */
  xml: string;
  /** Why some or all questions were not asked: sentences without their full stop. */
  reservations: string[];
}

/** Processes whose main threads are at the same place. */
export interface StackGroup {
  suspect: boolean;
  way: string;
  members: { task: string; attempt: number; host: string; pid: number; program: string }[];
  /** The innermost call first. */
  frames: { function: string; file: string; line: number }[];
  cut: boolean;
}

export interface Stacks {
  /** Null: none have been taken. */
  taken_millis: Millis | null;
  suspect: string;
  groups: StackGroup[];
  troubles: { task: string; pid: number | null; sentence: string }[];
  kept: KeptStacks[];
  /** Texts for which there was no room. */
  kept_left_out: number;
}

/** Stacks that were kept as a text, of a job that is shown from its record. */
export interface KeptStacks {
  /** Null: all tasks, when the job seemed to hang. */
  task: string | null;
  attempt: number;
  text: string;
  cut: boolean;
}
