// One log: windowed by byte offset, followed at its end, searched on the server.
import { Fragment, h } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getJson, jobAddress, sentenceOf, type Query } from "./api";
import { bytes } from "./format";
import { Lines, type ShownLine } from "./lines";
import { looksFor, nextHit, patternToMark, type Wanted } from "./log_text";
import { markerOf } from "./marker";
import { hasNewer, openAt, openEnd, withEnd, withNewer, withOlder, type LogWindow, type Read } from "./log_window";
import { useRefresh } from "./refresh";
import type { LogBlock } from "./types";

/** More hits than that are not listed. */
const kMostHits = 1_000;
const kFollowMillis = 1_000;

interface Hits {
  lines: ShownLine[];
  /** From where to search on when the log has grown; null: the search is still going on. */
  end: number | null;
  scanned: number;
  /** What was searched for. */
  wanted: Wanted;
}

const kNoHits: Hits = { lines: [], end: null, scanned: 0, wanted: { pattern: "", level: "" } };

/** Makes the address of a part of the log. */
type AddressOf = (query: Query) => string;

/** Searches the log from `hits.scanned` to its end, and tells what was found after each answer. */
async function search(address: AddressOf, wanted: Wanted, hits: Hits, tell: (hits: Hits) => void, signal: AbortSignal) {
  const { pattern: match, level } = wanted;
  let found = hits;
  for (;;) {
    const more = kMostHits - found.lines.length;
    if (more <= 0) return tell({ ...found, end: found.scanned });
    const block = await getJson<LogBlock>(
      address({ offset: found.scanned, limit: 1_048_576, match, level, hits: more }),
      signal,
    );
    const fresh = block.rows.filter((row) => row[2]).map(([key, text]) => ({ key, text, hit: true }));
    const scanned = block.next ?? block.end;
    // A line without an end yet comes again when it has one.
    const whole = fresh.filter((line) => block.next !== null || line.key < block.end);
    const going = block.next !== null && block.next > found.scanned;
    found = { lines: found.lines.concat(whole), scanned, end: going ? null : scanned, wanted };
    tell(found);
    if (!going) return;
  }
}

interface Props {
  job: string;
  /** "worker-1", or "am" */
  task: string;
  attempt: number;
  stream: string;
  /** What is searched for, as in Wanted. */
  pattern: string;
  level: string;
  hideOthers: boolean;
  /** The log may grow. */
  alive: boolean;
  /** The wish to see the first hit; `turn` rises with each. */
  jump: Wanted & { turn: number };
  /** The line to show and to mark; `turn` rises with each wish. Null: the log's end. */
  start: { offset: number; turn: number } | null;
}

export function OneLog({ job, task, attempt, stream, pattern, level, hideOthers, alive, jump, start }: Props) {
  const addressOf: AddressOf = (query) => jobAddress(job, `logs/${task}/${attempt}/${stream}`, query);
  const address = addressOf({});
  const wanted: Wanted = { pattern, level };
  const searches = looksFor(wanted);
  const read: Read = (offset, limit) => getJson<LogBlock>(addressOf({ offset, limit }));
  const [view, setView] = useState<LogWindow | null>(null);
  const [follow, setFollow] = useState(true);
  const [goal, setGoal] = useState<{ key: number; turn: number } | null>(null);
  const [hits, setHits] = useState<Hits>(kNoHits);
  const [current, setCurrent] = useState(-1);
  const [trouble, setTrouble] = useState("");
  const state = useRef({ work: null as Promise<void> | null, address, view, wishes: 0 });
  state.current.address = address;
  state.current.view = view;

  type Make = (view: LogWindow | null) => Promise<LogWindow>;
  const run = async (make: Make) => {
    try {
      const next = await make(state.current.view);
      if (state.current.address !== address) return;
      state.current.view = next;
      setView(next);
      setTrouble("");
    } catch (error) {
      if (state.current.address === address) setTrouble(sentenceOf(error, "The server"));
    }
  };
  // One request at a time. change() does nothing while one is under way, since scrolling
  // asks again; jumpTo() waits for its turn.
  const jumpTo = (make: Make): Promise<void> => {
    const work = (state.current.work ?? Promise.resolve()).then(() => run(make));
    state.current.work = work;
    void work.then(() => {
      if (state.current.work === work) state.current.work = null;
    });
    return work;
  };
  const change = (make: Make): Promise<void> => (state.current.work ? Promise.resolve() : jumpTo(make));

  const shown = useRef({ address: "", turn: 0 });
  useEffect(() => {
    const before = shown.current;
    const wanted = start && start.turn !== before.turn ? start : null;
    if (!wanted && before.address === address) return;
    shown.current = { address, turn: wanted?.turn ?? before.turn };
    setView(null);
    setFollow(wanted === null);
    setGoal(null);
    state.current.view = null;
    if (wanted) void jumpTo(() => openAt(read, wanted.offset)).then(() => {
        if (shown.current.turn === wanted.turn && shown.current.address === address) wish(wanted.offset);
      });
    else void jumpTo(() => openEnd(read));
  }, [address, start?.turn]);
  useRefresh(
    () =>
      change((now) => {
        if (now === null) return openEnd(read);
        if (follow) return withEnd(read, now);
        return hasNewer(now) ? Promise.resolve(now) : withNewer(read, now);
      }),
    alive ? kFollowMillis : null,
    [address, follow],
  );

  const wish = (key: number) => setGoal({ key, turn: ++state.current.wishes });
  const goTo = async (index: number) => {
    const hit = hits.lines[index];
    if (!hit) return;
    setCurrent(index);
    setFollow(false);
    const held = view && view.lines.length > 0 && hit.key >= view.begin && hit.key < view.end;
    if (!held && !hideOthers) await jumpTo(() => openAt(read, hit.key));
    wish(hit.key);
  };

  /** To the first or the last line of the log, wherever the window is. */
  const toEdge = (end: boolean) => {
    setFollow(end && alive);
    if (end) void jumpTo(() => openEnd(read)).then(() => wish(Number.MAX_SAFE_INTEGER));
    else void jumpTo(() => openAt(read, 0)).then(() => wish(0));
  };

  useEffect(() => {
    setHits(kNoHits);
    setCurrent(-1);
    if (!searches) return;
    const abort = new AbortController();
    search(addressOf, wanted, kNoHits, setHits, abort.signal).catch((error) => {
      if (!abort.signal.aborted) setTrouble(sentenceOf(error, "The server"));
    });
    return () => abort.abort();
  }, [address, pattern, level]);
  useRefresh(
    async (signal) => {
      if (searches && hits.end !== null && view && view.size > hits.end && hits.lines.length < kMostHits) {
        await search(addressOf, wanted, { ...hits, end: null }, setHits, signal).catch(() => {});
      }
    },
    alive && searches ? 2_000 : null,
    [address, pattern, level],
  );
  const jumped = useRef(0);
  useEffect(() => {
    // The pattern follows what is typed with a delay, and its hits follow the pattern.
    const found = hits.wanted.pattern === jump.pattern && hits.wanted.level === jump.level;
    if (jump.turn === jumped.current || !found || hits.lines.length === 0) return;
    jumped.current = jump.turn;
    void goTo(0);
  }, [jump, hits]);

  const marker = useMemo(() => markerOf(patternToMark(wanted)), [pattern, level]);
  const lines = useMemo<ShownLine[]>(() => {
    if (searches && hideOthers) return hits.lines;
    const offsets = new Set(hits.lines.map((line) => line.key));
    return (view?.lines ?? []).map((line) => ({ key: line.offset, text: line.text, hit: offsets.has(line.offset) }));
  }, [view, hits, searches, hideOthers]);

  const size = view?.size ?? 0;
  const place = view && size > 0 ? (follow ? size : goal && hits.lines[current] ? hits.lines[current].key : view.begin) : 0;
  return (
    <Fragment>
      {searches && (
        <HitBar hits={hits} size={size} current={current} go={(step) => void goTo(nextHit(current, hits.lines.length, step))} />
      )}
      {trouble && (
        <p class="bad" role="alert">
          {trouble}
        </p>
      )}
      {view && view.dropped.bytes > 0 && (
        <p class="quiet">
          {bytes(view.dropped.bytes)} in the middle of this log were dropped (tony.task.log.max-size).
        </p>
      )}
      <Lines
        label={`${stream} of ${task}`}
        lines={lines}
        marker={marker}
        goal={goal}
        follow={follow}
        setFollow={setFollow}
        onEdge={hideOthers && searches ? undefined : toEdge}
        onTop={hideOthers && searches ? undefined : () => view && view.begin > 0 && void change((now) => withOlder(read, now!))}
        onBottom={
          hideOthers && searches ? undefined : () => view && hasNewer(view) && void change((now) => withNewer(read, now!))
        }
      />
      {view && lines.length === 0 && <p class="quiet">{searches && hideOthers ? "No line matches." : "Nothing printed yet."}</p>}
      <div class="tools place">
        <label>
          <input type="checkbox" checked={follow} onChange={(event) => {
            const on = event.currentTarget.checked;
            setFollow(on);
            if (on && view && hasNewer(view)) void jumpTo(() => openEnd(read));
          }} />{" "}
          follow
        </label>
        <input
          type="range"
          class="bytes"
          min={0}
          max={Math.max(1, size)}
          step={1}
          value={place}
          aria-label="Place in the log"
          aria-valuetext={`${bytes(place)} of ${bytes(size)}`}
          onChange={(event) => {
            const offset = Number(event.currentTarget.value);
            setFollow(false);
            void jumpTo(() => openAt(read, offset)).then(() => wish(offset));
          }}
        />
        <span class="quiet">{bytes(size)}</span>
        <a class="button" href={`${address}/raw`} download>
          Download
        </a>
      </div>
    </Fragment>
  );
}

function HitBar(props: { hits: Hits; size: number; current: number; go: (step: 1 | -1) => void }) {
  const { hits, size, current, go } = props;
  const count = hits.lines.length;
  const searching = hits.end === null;
  const many = count >= kMostHits ? "+" : "";
  return (
    <div class="tools" role="status">
      <span>
        {count > 0 ? `${current < 0 ? "–" : current + 1} / ${count}${many}` : searching ? "" : "not found"}
        {searching && size > 0 && ` searching, ${Math.round((hits.scanned / size) * 100)} %`}
      </span>
      <span class="group">
        <button disabled={count === 0} onClick={() => go(-1)}>
          ◂ previous
        </button>
        <button disabled={count === 0} onClick={() => go(1)}>
          next ▸
        </button>
      </span>
    </div>
  );
}
