// Shows lines of a log: only those in view exist. Keeps its place when lines come before or behind.
import { h } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { cleaned } from "./log_text";
import { marked, type Marker } from "./marker";
import { useSize, visibleRows } from "./window";

export interface ShownLine {
  key: number;
  text: string;
  /** "13:05:59", in views of several logs. */
  prefix?: string;
  /** Whose line it is, in views of several logs: "worker:1". */
  task?: { name: string; color: number };
  hit?: boolean;
}

interface Props {
  lines: ShownLine[];
  marker: Marker | null;
  /** The line to bring into view; `turn` rises with each wish. */
  goal: { key: number; turn: number } | null;
  follow: boolean;
  setFollow: (follow: boolean) => void;
  /** The first or last line came near. */
  onTop?: () => void;
  onBottom?: () => void;
  /** The keys Home (false) and End (true), which lead beyond what is held. */
  onEdge?: (end: boolean) => void;
  label: string;
}

export const kLineHeight = 18;
/** Longer lines are cut in view; the download has all. */
const kMostCharacters = 4_000;

/** The position of the line with this key, or of the first one behind it. Keys rise. */
export function positionOf(lines: { key: number }[], key: number): number {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lines[middle].key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function LineRow({ line, marker, current }: { line: ShownLine; marker: Marker | null; current: boolean }) {
  const text = cleaned(line.text);
  const shown = text.length > kMostCharacters ? `${text.slice(0, kMostCharacters)} …` : text;
  return (
    <div class={`line ${line.hit ? "hit" : ""} ${current ? "current" : ""}`}>
      {line.prefix && <span class="prefix">{line.prefix} </span>}
      {line.task && <b class={`by by-${line.task.color}`}>{line.task.name} </b>}
      {marked(shown, marker).map(([part, hit], i) => (hit ? <mark key={i}>{part}</mark> : part))}
    </div>
  );
}

export function Lines(props: Props) {
  const { lines, marker, goal, follow } = props;
  const { element, height } = useSize<HTMLDivElement>();
  const [top, setTop] = useState(0);
  const first = useRef<{ key: number; rest: number } | null>(null);
  const reached = useRef(0);

  /** Keeps which line is at the top. */
  const keepFirst = (box: HTMLDivElement) => {
    const at = lines[Math.floor(box.scrollTop / kLineHeight)];
    first.current = at ? { key: at.key, rest: box.scrollTop % kLineHeight } : null;
  };

  // Before the new lines are painted: to the goal, to the end, or to the line that was at the top.
  useLayoutEffect(() => {
    const box = element.current!;
    let to: number | null = null;
    if (goal && goal.turn !== reached.current && lines.length > 0) {
      reached.current = goal.turn;
      to = positionOf(lines, goal.key) * kLineHeight - box.clientHeight / 3;
    } else if (follow) {
      to = lines.length * kLineHeight;
    } else if (first.current) {
      to = positionOf(lines, first.current.key) * kLineHeight + first.current.rest;
    }
    if (to !== null && Math.abs(to - box.scrollTop) >= 1) {
      box.scrollTop = to;
      // Its event comes later, and more lines may come before it, which would lead back to the line of before.
      keepFirst(box);
    }
    setTop(box.scrollTop);
  }, [lines, goal, follow, height]);

  const onScroll = () => {
    const box = element.current!;
    const down = box.scrollTop > top;
    setTop(box.scrollTop);
    keepFirst(box);
    const rest = box.scrollHeight - box.clientHeight - box.scrollTop;
    if (!down && follow && rest > 2 * kLineHeight) props.setFollow(false);
    if (box.scrollTop < box.clientHeight * 2) props.onTop?.();
    if (rest < box.clientHeight * 2) props.onBottom?.();
  };

  const onKey = (event: KeyboardEvent) => {
    if (!props.onEdge || (event.key !== "Home" && event.key !== "End")) return;
    event.preventDefault();
    props.onEdge(event.key === "End");
  };

  const shown = visibleRows(top, height, kLineHeight, lines.length, 10);
  return (
    <div ref={element} class="lines" tabIndex={0} role="log" aria-live="off" aria-label={props.label} onScroll={onScroll} onKeyDown={onKey}>
      <div class="sheet" style={{ height: lines.length * kLineHeight }}>
        <div class="shown" style={{ transform: `translateY(${shown.first * kLineHeight}px)` }}>
          {lines.slice(shown.first, shown.last).map((line) => (
            <LineRow key={line.key} line={line} marker={marker} current={goal?.key === line.key} />
          ))}
        </div>
      </div>
    </div>
  );
}
