// The logs of several tasks as one, by time.
import { Fragment, h } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getJson, jobAddress, sentenceOf } from "./api";
import { clock } from "./format";
import { Lines, type ShownLine } from "./lines";
import { isOfLevel, looksFor, nextHit, patternToMark, taskColor, type Wanted } from "./log_text";
import { isHit, markerOf } from "./marker";
import { heldRows, kNoLines, linesBefore, withEarlier, withLater, type Ask, type MergedWindow } from "./merged_window";
import { useRefresh } from "./refresh";
import type { MergedLogs } from "./types";

interface Props {
  job: string;
  /** A type of tasks; empty: all. */
  type: string;
  streams: string;
  /** What is searched for, as in Wanted. */
  pattern: string;
  level: string;
  hideOthers: boolean;
  alive: boolean;
  utc: boolean;
  /** Only lines of this time and later; undefined: all. */
  since: number | undefined;
  /** The wish to see the first hit; `turn` rises with each. */
  jump: Wanted & { turn: number };
}

export function MergedLog({ job, type, streams, pattern, level, hideOthers, alive, utc, since, jump }: Props) {
  const looking = looksFor({ pattern, level });
  const marker = useMemo(() => markerOf(patternToMark({ pattern, level })), [pattern, level]);
  // What this browser cannot find in time, the server does; then only the hits are here.
  const onlyHits = looking && (hideOthers || !marker?.cheap);
  const filter = onlyHits ? { match: pattern, level } : {};
  const [view, setView] = useState<MergedWindow>(kNoLines);
  // All of a long job's logs are not read to their end, but as far as somebody looks.
  const [follow, setFollow] = useState(since !== undefined);
  const [goal, setGoal] = useState<{ key: number; turn: number } | null>(null);
  const [current, setCurrent] = useState(-1);
  const [trouble, setTrouble] = useState("");
  const wish = [job, type, streams, filter.match, filter.level, since ?? 0].join("\n");
  const state = useRef({ view, wish, follow, work: null as { wish: string; done: Promise<void> } | null });
  state.current.follow = follow;

  useEffect(() => {
    state.current.wish = wish;
    state.current.view = kNoLines;
    setView(kNoLines);
    setCurrent(-1);
    setFollow(since !== undefined);
  }, [wish]);

  const ask: Ask = (cursor, limit) =>
    getJson<MergedLogs>(jobAddress(job, "logs", { task: type, streams, ...filter, since, limit, cursor }));
  const run = async (make: (window: MergedWindow) => Promise<MergedWindow>) => {
    try {
      const next = await make(state.current.view);
      if (state.current.wish !== wish) return;
      state.current.view = next;
      setView(next);
      setTrouble("");
    } catch (error) {
      if (state.current.wish === wish) setTrouble(sentenceOf(error, "The server"));
      throw error;
    }
  };
  /** Changes the window, unless that is under way already: whoever scrolls asks again. */
  const change = (make: (window: MergedWindow) => Promise<MergedWindow>): Promise<void> => {
    if (state.current.work?.wish === wish) return Promise.resolve();
    const work = { wish, done: run(make) };
    state.current.work = work;
    return work.done.finally(() => {
      if (state.current.work === work) state.current.work = null;
    });
  };
  const later = () => change((window) => withLater(ask, window)).catch(() => {});
  /** Hits are looked for in as many lines as are held at a time; further ones when somebody comes to the last. */
  const searches = (window: MergedWindow) => looking && window.more && window.earlier.length === 0;
  const load = async (signal: AbortSignal) => {
    try {
      if (state.current.work?.wish === wish) await state.current.work.done;
      do {
        const before = state.current.view;
        const wanted = state.current.follow || searches(before) || before.parts.length === 0 || !before.more;
        if (wanted) await change((window) => withLater(ask, window));
        if (!wanted || state.current.view === before) return;
      } while (!signal.aborted && state.current.view.more);
    } catch {
      // What is wrong is shown, and the next turn tries again.
    }
  };
  useRefresh(load, alive ? 1_500 : 30_000, [wish, follow, pattern, level]);

  const mixed = streams.includes(",");
  const lines = useMemo<ShownLine[]>(() => {
    const before = linesBefore(view);
    return heldRows(view).map(([millis, task, , stream, text], i) => ({
      key: before + i,
      text,
      prefix: millis === null ? "        " : clock(millis, utc),
      task: { name: mixed ? `${task} ${stream === "stderr" ? "err" : "out"}` : task, color: taskColor(task) },
      hit:
        onlyHits ||
        (marker !== null &&
          (!pattern || isHit(text, marker)) &&
          isOfLevel(text, level, stream === "executor" || stream === "am")),
    }));
  }, [view, marker, pattern, level, onlyHits, utc, mixed]);
  const hits = useMemo(() => (looking ? lines.filter((line) => line.hit) : []), [lines, looking]);
  const goTo = (index: number) => {
    setCurrent(index);
    setFollow(false);
    setGoal((old) => ({ key: hits[index].key, turn: (old?.turn ?? 0) + 1 }));
  };
  const go = (step: 1 | -1) => {
    const index = nextHit(Math.min(current, hits.length - 1), hits.length, step);
    if (step > 0 && index === 0 && current >= 0 && view.more) void later();
    else if (index >= 0) goTo(index);
  };
  const jumped = useRef(jump.turn);
  useEffect(() => {
    // The pattern follows what is typed with a delay.
    if (jump.turn === jumped.current || pattern !== jump.pattern || level !== jump.level || hits.length === 0) return;
    jumped.current = jump.turn;
    goTo(0);
  }, [jump, hits]);

  const reading = view.more && (follow || searches(view) || view.parts.length === 0);
  return (
    <Fragment>
      <div class="tools" role="status">
        {looking && (
          <span>
            {hits.length > 0 ? `${current < 0 ? "–" : current + 1} / ${hits.length}` : reading ? "searching" : "not found here"}
          </span>
        )}
        {looking && (
          <span class="group">
            <button disabled={hits.length === 0} onClick={() => go(-1)}>
              ◂ previous
            </button>
            <button disabled={hits.length === 0} onClick={() => go(1)}>
              next ▸
            </button>
          </span>
        )}
        {reading && <span class="quiet">reading …</span>}
        {onlyHits && !hideOthers && <span class="quiet">Only the lines that match: the pattern has too many repetitions to mark it among others.</span>}
        {view.notes.map((note) => (
          <span key={note} class="missing">
            {note}
          </span>
        ))}
      </div>
      {trouble && (
        <p class="bad" role="alert">
          {trouble}
        </p>
      )}
      <Lines
        label="Merged logs"
        lines={lines}
        marker={marker}
        goal={goal}
        follow={follow}
        setFollow={setFollow}
        onTop={() => view.earlier.length > 0 && !follow && void change((window) => withEarlier(ask, window)).catch(() => {})}
        onBottom={() => view.more && void later()}
      />
      {lines.length === 0 && !reading && !view.more && (
        <p class="quiet">{looking && hideOthers ? "No line matches." : "Nothing printed yet."}</p>
      )}
      <div class="tools place">
        <label>
          <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.currentTarget.checked)} /> follow
        </label>
        <span class="quiet">
          {lines.length.toLocaleString("en-US")} lines
          {view.earlier.length > 0 && `, behind ${linesBefore(view).toLocaleString("en-US")} others`}
          {view.more && !reading && ", and more below"}
        </span>
      </div>
    </Fragment>
  );
}
