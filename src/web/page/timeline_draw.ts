// Draws the rows of the timeline in view on a canvas: phases as bars, ends and restarts over them.
import { clock, tick } from "./format";
import { rowLabel, type TimelineRow } from "./timeline_rows";
import type { Timeline } from "./types";

export interface View {
  from: number;
  to: number;
  /** Where the canvas begins in the list of rows, in pixels. */
  top: number;
  current: number;
  utc: boolean;
}

export const kRowHeight = 22;
export const kAxisHeight = 22;

/** Room for the labels, at the left. */
export function labelWidth(width: number): number {
  return Math.min(220, Math.max(90, width * 0.22));
}

/** The colours are the style sheet's, so that they follow its scheme. */
function colors(element: Element) {
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: color("ink"),
    quiet: color("quiet"),
    line: color("line"),
    select: color("select"),
    FAILED: color("bad"),
    SUCCEEDED: color("good"),
    STOPPED: color("stopped"),
    queued: color("phase-queued"),
    localizing: color("phase-localizing"),
    registering: color("phase-registering"),
    barrier: color("phase-barrier"),
    running: color("phase-running"),
    gone: color("phase-gone"),
  } as Record<string, string>;
}

/** The least of 1, 2, 5, 10, 15, 30 s, min and so on that leaves room for labels. */
export function tickSeconds(span: number, ticks: number): number {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  const least = span / 1000 / Math.max(1, ticks);
  return steps.find((step) => step >= least) ?? Math.ceil(least / 86400) * 86400;
}

/** Draws all rows in view. Sizes are in pixels of the page. */
export function drawTimeline(canvas: HTMLCanvasElement, rows: TimelineRow[], timeline: Timeline, view: View): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  if (!context || width === 0) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = getComputedStyle(canvas).font;
  context.textBaseline = "middle";
  const color = colors(canvas);
  const left = labelWidth(width);
  const scale = (width - left - 4) / Math.max(1, view.to - view.from);
  const x = (millis: number) => left + (millis - view.from) * scale;

  drawAxis(context, view, color, { left, width, height, x });
  context.save();
  context.beginPath();
  context.rect(0, kAxisHeight, width, height - kAxisHeight);
  context.clip();
  const first = Math.floor(view.top / kRowHeight);
  const last = Math.min(rows.length, Math.ceil((view.top + height) / kRowHeight));
  for (let i = first; i < last; ++i) {
    const y = kAxisHeight + i * kRowHeight - view.top;
    drawRow(context, rows[i], y, color, { left, width, x, current: i === view.current });
  }
  for (const epoch of timeline.epochs) {
    if (epoch.millis < view.from || epoch.millis > view.to) continue;
    context.strokeStyle = color.FAILED;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(x(epoch.millis), kAxisHeight);
    context.lineTo(x(epoch.millis), height);
    context.stroke();
    context.setLineDash([]);
  }
  context.restore();
}

interface Place {
  left: number;
  width: number;
  x: (millis: number) => number;
}

function drawAxis(
  context: CanvasRenderingContext2D,
  view: View,
  color: Record<string, string>,
  place: Place & { height: number },
) {
  const seconds = tickSeconds(view.to - view.from, (place.width - place.left) / 90);
  // Ticks lie at whole minutes and hours of the zone that is shown.
  const zone = view.utc ? 0 : new Date(view.from).getTimezoneOffset() * 60_000;
  const step = seconds * 1000;
  context.textAlign = "center";
  for (let at = Math.ceil((view.from - zone) / step) * step + zone; at <= view.to; at += step) {
    context.fillStyle = color.line;
    context.fillRect(Math.round(place.x(at)), kAxisHeight, 1, place.height);
    context.fillStyle = color.quiet;
    if (place.x(at) > place.left + 20 && place.x(at) < place.width - 20) {
      context.fillText(tick(at, seconds, view.utc), place.x(at), kAxisHeight / 2);
    }
  }
}

function drawRow(
  context: CanvasRenderingContext2D,
  row: TimelineRow,
  y: number,
  color: Record<string, string>,
  place: Place & { current: boolean },
) {
  if (place.current) {
    context.fillStyle = color.select;
    context.fillRect(0, y, place.width, kRowHeight);
  }
  context.save();
  context.beginPath();
  context.rect(place.left, y, place.width - place.left, kRowHeight);
  context.clip();
  for (const phase of row.phases) {
    context.fillStyle = color[phase.kind] ?? color.quiet;
    const begin = place.x(phase.begin);
    context.fillRect(begin, y + 4, Math.max(1, place.x(phase.end) - begin), kRowHeight - 8);
  }
  for (const step of row.firstSteps) drawDiamond(context, place.x(step.millis), y + kRowHeight / 2, color.ink);
  // Ends are never thinner than 3 pixels: at a few pixels an hour they would vanish otherwise.
  for (const end of row.ends) {
    context.fillStyle = color[end.state];
    context.fillRect(place.x(end.millis) - 1.5, y + 1, 3, kRowHeight - 2);
  }
  context.restore();
  context.fillStyle = row.failures > 0 ? color.FAILED : color.ink;
  context.textAlign = "left";
  context.fillText(fitted(context, rowLabel(row), place.left - 8), 4, y + kRowHeight / 2);
}

function drawDiamond(context: CanvasRenderingContext2D, x: number, y: number, color: string) {
  const half = 4;
  context.beginPath();
  context.moveTo(x, y - half);
  context.lineTo(x + half, y);
  context.lineTo(x, y + half);
  context.lineTo(x - half, y);
  context.closePath();
  context.fillStyle = color;
  context.fill();
}

function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end)}…`;
}

/** What lies at the place `px` of a row, as a sentence. */
export function describeAt(row: TimelineRow, px: number, width: number, view: View): string {
  const left = labelWidth(width);
  const scale = (width - left - 4) / Math.max(1, view.to - view.from);
  const millis = view.from + (px - left) / scale;
  const isNear = (mark: { millis: number }) => Math.abs(mark.millis - millis) * scale <= 4;
  const step = row.firstSteps.find(isNear);
  if (step) return `${rowLabel(row)}: first step of run ${step.attempt} at ${clock(step.millis, view.utc)}`;
  const near = row.ends.find(isNear);
  if (near) return `${rowLabel(row)}: run ${near.attempt} ${near.state} at ${clock(near.millis, view.utc)}`;
  const phase = row.phases.find((candidate) => candidate.begin <= millis && millis < candidate.end);
  if (!phase) return rowLabel(row);
  const run = phase.attempt > 0 ? `, run ${phase.attempt}` : "";
  const times = `${clock(phase.begin, view.utc)} – ${clock(phase.end, view.utc)}`;
  return `${rowLabel(row)}: ${phase.kind}${run}, ${times}`;
}
