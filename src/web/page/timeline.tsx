// The timeline: which phase each task was in, how its runs ended, and when the whole job began anew.
import { h } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { dateTime } from "./format";
import { describeAt, drawTimeline, kAxisHeight, kRowHeight, type View } from "./timeline_draw";
import { rowLabel, rowText, timelineRows } from "./timeline_rows";
import type { Timeline } from "./types";
import { Rows, useSize } from "./window";

interface Props {
  timeline: Timeline;
  now: number;
  /** The job has ended, so that time stands still. */
  ended: number | null;
  utc: boolean;
  open: (task: string) => void;
}

const kPhases = ["queued", "localizing", "registering", "barrier", "running", "gone"];
const kMostHeight = 420;
const kManyPhases = 5_000;

/** The part of the time that is shown: from 0 to 1 of the whole. */
interface Zoom {
  from: number;
  to: number;
}

function zoomed(zoom: Zoom, factor: number, shift: number): Zoom {
  const width = Math.min(1, Math.max(0.001, (zoom.to - zoom.from) * factor));
  const middle = (zoom.from + zoom.to) / 2 + shift * width;
  const from = Math.min(1 - width, Math.max(0, middle - width / 2));
  return { from, to: from + width };
}

const kKeys: Record<string, [number, number]> = {
  "+": [0.5, 0],
  w: [0.5, 0],
  "-": [2, 0],
  s: [2, 0],
  ArrowLeft: [1, -0.25],
  a: [1, -0.25],
  ArrowRight: [1, 0.25],
  d: [1, 0.25],
};

export function TimelineSection({ timeline, now, ended, utc, open }: Props) {
  const { element, width } = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [top, setTop] = useState(0);
  const [zoom, setZoom] = useState<Zoom>({ from: 0, to: 1 });
  const [current, setCurrent] = useState(-1);
  const [hint, setHint] = useState("");
  const end = ended ?? now;
  // Bars that grow: many of them are not made anew each second.
  const pace = timeline.rows.length > kManyPhases ? 5_000 : 1_000;
  const rows = useMemo(() => timelineRows(timeline, end), [timeline, Math.floor(end / pace)]);
  const begin = timeline.begin_millis;
  const span = Math.max(1_000, end - begin);
  const view: View = { from: begin + zoom.from * span, to: begin + zoom.to * span, top, current, utc };
  const height = Math.min(kMostHeight, rows.length * kRowHeight + kAxisHeight);
  useEffect(() => drawTimeline(canvas.current!, rows, timeline, view));

  const rowAt = (event: MouseEvent) => Math.floor((event.offsetY - kAxisHeight + top) / kRowHeight);
  const point = (event: MouseEvent) => {
    const row = event.offsetY < kAxisHeight ? undefined : rows[rowAt(event)];
    setHint(row ? describeAt(row, event.offsetX, width, view) : "");
  };
  const move = (to: number) => {
    const index = Math.max(0, Math.min(rows.length - 1, to));
    const list = element.current!;
    const shown = list.clientHeight - kAxisHeight;
    if (index * kRowHeight < list.scrollTop) list.scrollTop = index * kRowHeight;
    if ((index + 1) * kRowHeight > list.scrollTop + shown) list.scrollTop = (index + 1) * kRowHeight - shown;
    setCurrent(index);
    setHint(`${rowLabel(rows[index])}: ${rowText(rows[index])}`);
  };
  const onKey = (event: KeyboardEvent) => {
    const change = kKeys[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (change) setZoom(zoomed(zoom, ...change));
    else if (event.key === "0") setZoom({ from: 0, to: 1 });
    else if (event.key === "ArrowDown") move(current + 1);
    else if (event.key === "ArrowUp") move(current - 1);
    else if (event.key === "Enter" && rows[current]) open(rows[current].task);
    else return;
    event.preventDefault();
  };

  return (
    <section id="timeline">
      <h2>Timeline</h2>
      <div class="tools">
        <span class="legend">
          {kPhases.map((phase) => (
            <span key={phase} class={`phase ${phase}`}>
              {phase}
            </span>
          ))}
          {timeline.first_steps.rows.length > 0 && <span class="phase first-step">first step</span>}
          <span class="phase failed">failed</span>
          {timeline.epochs.length > 0 && <span class="phase restart">job restarted</span>}
        </span>
        <span class="group">
          <button onClick={() => setZoom(zoomed(zoom, 1, -0.25))} aria-label="Earlier">
            ◂
          </button>
          <button onClick={() => setZoom(zoomed(zoom, 0.5, 0))} aria-label="Zoom in">
            +
          </button>
          <button onClick={() => setZoom(zoomed(zoom, 2, 0))} aria-label="Zoom out">
            −
          </button>
          <button onClick={() => setZoom(zoomed(zoom, 1, 0.25))} aria-label="Later">
            ▸
          </button>
          <button onClick={() => setZoom({ from: 0, to: 1 })}>all</button>
        </span>
      </div>
      <div
        ref={element}
        class="timeline"
        tabIndex={0}
        role="application"
        aria-label="Timeline. Up and down: task. Left and right: time. Plus and minus: zoom. Enter: log. The same as text is below."
        style={{ height }}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onKeyDown={onKey}
      >
        <div style={{ height: rows.length * kRowHeight + kAxisHeight }}>
          <canvas
            ref={canvas}
            aria-hidden="true"
            style={{ height }}
            onMouseMove={point}
            onMouseLeave={() => setHint("")}
            onClick={(event) => rows[rowAt(event)] && open(rows[rowAt(event)].task)}
          />
        </div>
      </div>
      <p class="hint" aria-live="polite">
        {hint || " "}
      </p>
      <TextTwin timeline={timeline} rows={rows} utc={utc} />
    </section>
  );
}

function TextTwin(props: { timeline: Timeline; rows: ReturnType<typeof timelineRows>; utc: boolean }) {
  const { timeline, rows, utc } = props;
  const [shown, setShown] = useState(false);
  return (
    <details onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>The timeline as text</summary>
      {shown && timeline.epochs.length > 0 && (
        <ul>
          {timeline.epochs.map((epoch) => (
            <li key={epoch.epoch}>
              {dateTime(epoch.millis, utc)}: the job began anew: {epoch.cause}
              {epoch.guilty && ` (${epoch.guilty})`}
            </li>
          ))}
        </ul>
      )}
      {shown && timeline.dropped > 0 && <p>{timeline.dropped} older phases are not kept.</p>}
      {shown && (
        <Rows
          role="list"
          label="Timeline as text"
          count={rows.length}
          rowHeight={24}
          most={15}
          row={(index) => (
            <div key={rows[index].task} role="listitem" class="twin" title={rowText(rows[index])}>
              <b>{rowLabel(rows[index])}</b> {rowText(rows[index])}
            </div>
          )}
        />
      )}
    </details>
  );
}
