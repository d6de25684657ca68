// The charts of what the job's tasks use and report. Only charts in view are fetched and drawn.
import { h } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getJson, jobAddress, Problem } from "./api";
import { chartOf, leftOutText, seriesWanted, type Chart, type WantedSeries } from "./chart_data";
import { ChosenLines, useChosenLines } from "./chosen_lines_box";
import { shownName } from "./log_text";
import { Plot } from "./plot";
import { marksWithin, type RestartMark } from "./restart_marks";
import type { Job, Meaning, Metrics } from "./types";
import { useRefresh } from "./refresh";

const kRefreshMillis = 5_000;
const kPoints = 300;
const kRanges: [string, number | null][] = [
  ["all", null],
  ["6 h", 6 * 3_600_000],
  ["1 h", 3_600_000],
  ["10 min", 600_000],
];

/** Tells when an element comes into view and leaves it. */
function useInView() {
  const element = useRef<HTMLDivElement>(null);
  const [inView, setInView] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => setInView(entries[entries.length - 1].isIntersecting), {
      rootMargin: "200px",
    });
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return { element, inView };
}

interface CardProps {
  job: Job;
  meaning: Meaning;
  wanted: WantedSeries;
  now: number;
  utc: boolean;
  range: number | null;
  alive: boolean;
  restarts: RestartMark[];
}

const kEmpty: Chart = { times: [], lines: [], bands: [] };

function ChartCard({ job, meaning, wanted, now, utc, range, alive, restarts }: CardProps) {
  const { element, inView } = useInView();
  const [chart, setChart] = useState(kEmpty);
  const [shown, setShown] = useState({ from: job.submitted_millis ?? now, to: now });
  const [trouble, setTrouble] = useState("");
  const { tasks, types } = wanted;
  const load = async (signal: AbortSignal) => {
    const to = job.ended_millis ?? Math.max(now, job.now_millis);
    const begin = job.submitted_millis ?? to - 1;
    const from = range === null ? begin : Math.max(begin, to - range);
    const query = { names: meaning.name, tasks, types, from: Math.floor(from), to: Math.ceil(to), points: kPoints };
    try {
      const metrics = await getJson<Metrics>(jobAddress(job.id, "metrics", query), signal);
      setChart(chartOf(metrics, meaning.name));
      setShown({ from, to });
      setTrouble("");
    } catch (error) {
      if (!signal.aborted) setTrouble(error instanceof Problem ? error.message : "");
    }
  };
  const marks = useMemo(() => marksWithin(restarts, wanted, shown.from, shown.to), [restarts, wanted, shown]);
  useRefresh(load, inView ? kRefreshMillis : null, [inView, range, tasks, types, alive]);
  return (
    <div ref={element} class="card chart-card">
      <Plot chart={chart} unit={meaning.unit} title={shownName(meaning.title)} utc={utc} restarts={marks} {...shown} />
      {trouble && <p class="quiet">{trouble}</p>}
    </div>
  );
}

/** What programs report themselves, such as the loss, comes first: only they know what matters to them. */
function usefulFirst(meanings: Meaning[]): Meaning[] {
  const reported = (meaning: Meaning) => meaning.name.startsWith("report.");
  return [...meanings.filter(reported), ...meanings.filter((meaning) => !reported(meaning))];
}

interface Props {
  job: Job;
  meanings: Meaning[];
  now: number;
  utc: boolean;
  alive: boolean;
  restarts: RestartMark[];
}

export function Charts({ job, meanings, now, utc, alive, restarts }: Props) {
  const [range, setRange] = useState<number | null>(null);
  const [chosen, choose] = useChosenLines();
  const types = job.types.map((type) => `${type.name} ${type.instances}`).join();
  const wanted = useMemo(() => seriesWanted(job.types, chosen), [types, chosen]);
  // Where all tasks are lines already, there is nothing to choose.
  const choice = wanted.types !== "" || wanted.leftOut.length > 0 || chosen.length > 0;
  if (meanings.length === 0) return null;
  return (
    <section id="charts">
      <h2>Charts</h2>
      <div class="tools">
        <span class="group" role="group" aria-label="Time">
          {kRanges.map(([label, millis]) => (
            <button key={label} aria-pressed={range === millis} onClick={() => setRange(millis)}>
              {label}
            </button>
          ))}
        </span>
        {choice && <ChosenLines types={job.types} chosen={chosen} choose={choose} />}
        <span class="legend">
          {restarts.some((mark) => mark.task === null) && <span class="phase restart">job restarted</span>}
          {restarts.some((mark) => mark.task !== null) && <span class="phase task-restart">task restarted</span>}
        </span>
      </div>
      {wanted.leftOut.length > 0 && <p class="quiet">{leftOutText(wanted.leftOut)}</p>}
      <div class="charts">
        {usefulFirst(meanings).map((meaning) => (
          <ChartCard
            key={meaning.name}
            job={job}
            meaning={meaning}
            wanted={wanted}
            now={now}
            utc={utc}
            range={range}
            alive={alive}
            restarts={restarts}
          />
        ))}
      </div>
    </section>
  );
}
