// One chart by uPlot: its axes, colours, marks of restarts, and a legend that follows the pointer.
import { h } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { newest, type Chart } from "./chart_data";
import { bytes, clock, number, quantity, tick } from "./format";
import { marksText, type RestartMark } from "./restart_marks";
import { useSize } from "./window";

const kColors = ["#3b7ddd", "#dd7a2f", "#2f9e6e", "#c2455c", "#8a63d2", "#a88508", "#1aa0b3", "#d15fb0"];

export const colorOf = (index: number) => kColors[index % kColors.length];

interface Props {
  chart: Chart;
  unit: string;
  title: string;
  utc: boolean;
  from: number;
  to: number;
  /** Those that lie within the chart and concern what it shows. */
  restarts: RestartMark[];
}

/** Marks restarts over the lines: those of the job dashed, those of single tasks dotted in the colour of their line. */
function drawRestarts(plot: uPlot, { restarts, chart }: Props, color: string) {
  const { ctx, bbox } = plot;
  const colors = new Map(chart.lines.map((line) => [line.label, colorOf(line.color)]));
  ctx.save();
  for (const { millis, task } of restarts) {
    const x = plot.valToPos(millis / 1000, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = (task !== null && colors.get(task)) || color;
    ctx.setLineDash(task === null ? [4, 3] : [2, 4]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function seriesOf(chart: Chart): uPlot.Series[] {
  return chart.lines.map((line) => ({
    label: line.label,
    stroke: line.part === "edge" ? "transparent" : colorOf(line.color),
    width: 1.5,
    points: { show: false },
  }));
}

interface Wishes extends Props {
  width: number;
  pointed: (index: number | null) => void;
}

function optionsOf({ chart, unit, utc, width, pointed }: Wishes, now: { current: Props }, element: Element): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const axis = {
    stroke: color("quiet"),
    grid: { stroke: color("line"), width: 1 },
    ticks: { stroke: color("line"), width: 1 },
    font: "11px system-ui, sans-serif",
  };
  return {
    width,
    height: 170,
    legend: { show: false },
    cursor: { sync: { key: "job" }, drag: { x: false, y: false }, points: { size: 6 } },
    tzDate: utc ? (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC") : undefined,
    scales: {
      x: { range: () => [now.current.from / 1000, now.current.to / 1000] },
      // From zero on, but for values such as losses, which lie close together far from it.
      y: { range: (_plot, low, high) => yRange(low, high, unit) },
    },
    axes: [
      { ...axis, size: 28, space: 60, values: (_plot, splits, _axis, _space, step) => splits.map((at) => tick(at * 1000, step, utc)) },
      { ...axis, size: 62, values: (_plot, splits) => splits.map((value) => axisValue(value, unit)) },
    ],
    series: [{}, ...seriesOf(chart)],
    bands: chart.bands.map((band) => ({
      series: [band.upper + 1, band.lower + 1],
      fill: colorOf(band.color) + (band.inner ? "55" : "2a"),
    })),
    hooks: {
      draw: [(plot) => drawRestarts(plot, now.current, color("bad"))],
      setCursor: [(plot) => pointed(plot.cursor.idx ?? null)],
    },
  };
}

/** The range of the vertical axis for values between `low` and `high`. That of bytes is so wide that ticks differ in the
 * three digits that they have. */
function yRange(low: number | null, high: number | null, unit: string): [number, number] {
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  if (low >= 0 && low < high * 0.7) return [0, high * 1.08 || 1];
  const least = unit.startsWith("bytes") ? high * 0.025 : 0;
  const room = Math.max(least, (high - low) * 0.1) || Math.abs(high) * 0.1 || 1;
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}

/** A tick's label; the unit stands in the title, where it fits. */
function axisValue(value: number, unit: string): string {
  if (unit === "ratio") return number(value * 100);
  // Parts of a byte are ticks of a chart without values.
  if (unit.startsWith("bytes")) return value > 0 && value < 1 ? "" : bytes(value);
  return number(value);
}

/** What stands behind the title. */
function unitText(unit: string): string {
  if (unit === "ratio" || unit === "percent") return "%";
  if (unit === "1/s") return "";
  return unit.startsWith("bytes/") ? "per second" : unit === "bytes" ? "" : unit;
}

/** What decides the plot's options; if it changes, the plot is made anew. */
const shapeOf = (chart: Chart) => chart.lines.map((line) => `${line.label} ${line.part}`).join("\n");

export function Plot(props: Props) {
  const { chart, unit, title, utc } = props;
  const { element, width } = useSize<HTMLDivElement>();
  const plot = useRef<uPlot | null>(null);
  const now = useRef(props);
  now.current = props;
  const [pointed, setPointed] = useState<number | null>(null);
  const scheme = useScheme();
  const data = () => [chart.times, ...chart.lines.map((line) => line.values)] as uPlot.AlignedData;

  useLayoutEffect(() => {
    if (width === 0 || chart.lines.length === 0) return;
    const wishes = { ...props, width, pointed: setPointed };
    plot.current = new uPlot(optionsOf(wishes, now, element.current!), data(), element.current!);
    return () => {
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shapeOf(chart), unit, utc, scheme, width > 0]);
  useEffect(() => plot.current?.setData(data()), [chart, props.from, props.to]);
  useEffect(() => {
    if (width > 0) plot.current?.setSize({ width, height: 170 });
  }, [width]);

  const at = pointed !== null && pointed < chart.times.length ? pointed : null;
  const value = (values: (number | null)[]) => quantity(at === null ? newest(values) : values[at], unit);
  const values = chart.lines.map((line) => `${line.label} ${value(line.values)}`).join(", ");
  const marks = marksText(props.restarts);
  return (
    <figure class="chart">
      <figcaption>
        <span>
          <b>{title}</b> <span class="quiet">{unitText(unit)}</span>
        </span>
        <span class="quiet">{at === null ? "newest" : clock(chart.times[at] * 1000, utc)}</span>
      </figcaption>
      <div ref={element} class="plot" role="img" aria-label={[`${title}: ${values}`, ...(marks ? [marks] : [])].join("; ")} />
      <ul class="values">
        {chart.lines.map((line) => (
          <li key={line.label} class={`of-${line.part}`} style={{ "--color": colorOf(line.color) }}>
            {line.label} <span>{value(line.values)}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}

/** "dark" or "light", which decides the colours that a canvas is drawn with. */
export function useScheme(): string {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const listen = () => setDark(query.matches);
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, []);
  return dark ? "dark" : "light";
}
