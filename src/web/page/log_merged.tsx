// The logs of several tasks as one, by time.
import { Fragment, h } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getJson, jobAddress } from "./api";
import { clock } from "./format";
import { Lines, type ShownLine } from "./lines";
import { markerOf, nextHit } from "./log_text";
import { useRefresh } from "./refresh";
import type { MergedLogs } from "./types";

const kMostLines = 20_000;
const kPage = 2_000;

interface Props {
  job: string;
  /** A type of tasks; empty: all. */
  type: string;
  streams: string;
  pattern: string;
  hideOthers: boolean;
  alive: boolean;
  utc: boolean;
  /** Only lines of this time and later; undefined: all. */
  since: number | undefined;
}

export function MergedLog({ job, type, streams, pattern, hideOthers, alive, utc, since }: Props) {
  const match = hideOthers && pattern ? pattern : undefined;
  const [rows, setRows] = useState<(MergedLogs["rows"][number] & { key?: never })[]>([]);
  const [before, setBefore] = useState(0);
  const [follow, setFollow] = useState(true);
  const [goal, setGoal] = useState<{ key: number; turn: number } | null>(null);
  const [current, setCurrent] = useState(-1);
  const [more, setMore] = useState(true);
  const [trouble, setTrouble] = useState("");
  const cursor = useRef<string | undefined>(undefined);
  const wish = [job, type, streams, match ?? "", since ?? 0].join("\n");

  useEffect(() => {
    cursor.current = undefined;
    setRows([]);
    setBefore(0);
    setMore(true);
    setCurrent(-1);
    setFollow(true);
  }, [wish]);

  const load = async (signal: AbortSignal) => {
    try {
      let going = true;
      while (going) {
        const query = { task: type, streams, match, since, limit: kPage, cursor: cursor.current };
        const page = await getJson<MergedLogs>(jobAddress(job, "logs", query), signal);
        cursor.current = page.next ?? cursor.current;
        going = page.more && page.next !== null;
        setMore(going);
        setTrouble("");
        if (page.rows.length > 0) take(page.rows);
      }
    } catch (error) {
      if (!signal.aborted) setTrouble((error as Error).message);
    }
  };
  const take = (fresh: MergedLogs["rows"]) =>
    setRows((held) => {
      const all = held.concat(fresh);
      const surplus = Math.max(0, all.length - kMostLines);
      if (surplus > 0) setBefore((count) => count + surplus);
      return surplus > 0 ? all.slice(surplus) : all;
    });
  useRefresh(load, alive ? 1_500 : 30_000, [wish]);

  const marker = useMemo(() => markerOf(pattern), [pattern]);
  const lines = useMemo<ShownLine[]>(() => {
    const single = marker && new RegExp(marker.source, marker.flags.replace("g", ""));
    return rows.map(([millis, task, , , text], i) => ({
      key: before + i,
      text,
      prefix: `${millis === null ? "        " : clock(millis, utc)} ${task}`,
      hit: match !== undefined || (single?.test(text) ?? false),
    }));
  }, [rows, marker, utc]);
  const hits = useMemo(() => (pattern ? lines.filter((line) => line.hit) : []), [lines, pattern]);
  const go = (step: 1 | -1) => {
    const index = nextHit(Math.min(current, hits.length - 1), hits.length, step);
    if (index < 0) return;
    setCurrent(index);
    setFollow(false);
    setGoal((old) => ({ key: hits[index].key, turn: (old?.turn ?? 0) + 1 }));
  };

  return (
    <Fragment>
      <div class="tools" role="status">
        {pattern && <span>{hits.length > 0 ? `${current < 0 ? "–" : current + 1} / ${hits.length}` : more ? "searching" : "not found"}</span>}
        {pattern && (
          <span class="group">
            <button disabled={hits.length === 0} onClick={() => go(-1)}>
              ◂ previous
            </button>
            <button disabled={hits.length === 0} onClick={() => go(1)}>
              next ▸
            </button>
          </span>
        )}
        {more && <span class="quiet">reading …</span>}
        {before > 0 && <span class="quiet">{before.toLocaleString("en-US")} earlier lines are not held here.</span>}
      </div>
      {trouble && (
        <p class="bad" role="alert">
          {trouble}
        </p>
      )}
      <Lines label="Merged logs" lines={lines} marker={marker} goal={goal} follow={follow} setFollow={setFollow} />
      {lines.length === 0 && !more && <p class="quiet">{pattern ? "No line matches." : "Nothing printed yet."}</p>}
      <div class="tools place">
        <label>
          <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.currentTarget.checked)} /> follow
        </label>
        <span class="quiet">{lines.length.toLocaleString("en-US")} lines</span>
      </div>
    </Fragment>
  );
}
