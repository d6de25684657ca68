// The portal's list of jobs: takes the place of the page without scripts, from which it was started.
import { Fragment, h, render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { getJson, sentenceOf } from "./api";
import { Compare } from "./compare";
import { comparedJobs, pick } from "./compare_data";
import { Badge } from "./first";
import { dateTime, duration } from "./format";
import { shownName } from "./log_text";
import { JobHeads, JobOrder, JobRow } from "./portal_rows";
import {
  append,
  choiceOfHash,
  hashOfChoice,
  kAlive,
  listAddress,
  renew,
  type Choice,
  type Counts,
  type Fetched,
  type JobPage,
  type Session,
  type Value,
} from "./portal_list";
import { useRefresh } from "./refresh";
import { Rows, useNarrow } from "./window";

const kPageJobs = 100;
const kMostJobs = 500;
const kRefreshMillis = 2_000;
/** Counting takes the server longer than listing. */
const kCountMillis = 5_000;
/** Rows before the end at which the next page is asked for. */
const kAhead = 40;
const kTypingMillis = 200;

const address = (job: string) => `jobs/${encodeURIComponent(job)}/`;

interface Loaded {
  list: Fetched | null;
  page: JobPage | null;
  trouble: string;
  more: (index: number) => void;
}

/** The jobs of a choice: the first ones again each few seconds, further ones when they come near. */
function useJobs(choice: Choice): Loaded {
  const [list, setList] = useState<Fetched | null>(null);
  const [page, setPage] = useState<JobPage | null>(null);
  const [trouble, setTrouble] = useState("");
  const held = useRef<Fetched | null>(null);
  const asking = useRef<AbortController | null>(null);
  const key = hashOfChoice(choice);
  const keep = (next: Fetched) => {
    held.current = next;
    setList(next);
  };

  useEffect(() => {
    held.current = null;
    return () => {
      asking.current?.abort();
      asking.current = null;
    };
  }, [key]);

  useRefresh(
    async (signal) => {
      try {
        const limit = Math.min(kMostJobs, Math.max(kPageJobs, held.current?.jobs.length ?? 0));
        const first = await getJson<JobPage>(listAddress(choice, limit, null), signal);
        if (signal.aborted) return;
        keep(held.current ? renew(held.current, first) : { jobs: first.jobs, next: first.next });
        setPage(first);
        setTrouble("");
      } catch (error) {
        if (!signal.aborted) setTrouble(sentenceOf(error, "The portal"));
      }
    },
    kRefreshMillis,
    [key],
  );

  const more = (index: number) => {
    const now = held.current;
    if (!now?.next || asking.current || index < now.jobs.length - kAhead) return;
    const abort = (asking.current = new AbortController());
    getJson<JobPage>(listAddress(choice, kPageJobs, now.next), abort.signal)
      .then((next) => {
        if (!abort.signal.aborted && held.current) keep(append(held.current, next));
      })
      .catch(() => {}) // the next refresh says what is wrong
      .finally(() => {
        if (asking.current === abort) asking.current = null;
      });
  };
  return { list, page, trouble, more };
}

function useCounts(): Counts | null {
  const [counts, setCounts] = useState<Counts | null>(null);
  useRefresh(
    async (signal) => {
      try {
        const next = await getJson<Counts>("api/v1/counts", signal);
        if (!signal.aborted) setCounts(next);
      } catch {
        // The list says what is wrong.
      }
    },
    kCountMillis,
    [],
  );
  return counts;
}

/** Who is looking; asked for once. */
function useSession(): Session | null {
  const [session, setSession] = useState<Session | null>(null);
  useEffect(() => {
    getJson<Session>("api/v1/session").then(setSession, () => {}); // the list says what is wrong
  }, []);
  return session;
}

function Visitor({ session }: { session: Session | null }) {
  if (!session || session.login === "code") return null;
  return (
    <span class="visitor">
      {shownName(session.user)} ({session.role}){session.login === "password" && <a href="logout">Log out</a>}
    </span>
  );
}

/** The jobs that are chosen for a comparison, and what can be done with them. */
function Chosen({ chosen, compare, clear }: { chosen: string[]; compare: () => void; clear: () => void }) {
  if (chosen.length === 0) return null;
  return (
    <div class="tools chosen" role="status">
      <span>{chosen.length === 1 ? "One job is chosen; choose another one to compare with." : "Two jobs are chosen."}</span>
      {chosen.length === 2 && <button onClick={compare}>Compare</button>}
      <button onClick={clear}>Clear</button>
    </div>
  );
}

function Select(props: { label: string; value: string; values: Value[]; choose: (value: string) => void }) {
  const { label, value, values, choose } = props;
  if (values.length < 2 && !value) return null;
  return (
    <select aria-label={label} value={value} onChange={(event) => choose(event.currentTarget.value)}>
      <option value="">{label}</option>
      {value && !values.some((each) => each.value === value) && <option value={value}>{shownName(value)}</option>}
      {values.map((each) => (
        <option key={each.value} value={each.value}>
          {shownName(each.value)} ({each.jobs.toLocaleString("en-US")})
        </option>
      ))}
    </select>
  );
}

function States({ counts, choice, choose }: { counts: Counts; choice: Choice; choose: (state: string) => void }) {
  const values = counts.alive > 0 ? [{ value: kAlive, jobs: counts.alive }, ...counts.states] : counts.states;
  return (
    <span class="counts" role="group" aria-label="States">
      {values.map(({ value, jobs }) => (
        <button
          key={value}
          aria-pressed={choice.state === value}
          onClick={() => choose(choice.state === value ? "" : value)}
        >
          <Badge state={value === kAlive ? "RUNNING" : value} text={value} /> {jobs.toLocaleString("en-US")}
        </button>
      ))}
    </span>
  );
}

function Status({ loaded, counts, utc }: { loaded: Loaded; counts: Counts | null; utc: boolean }) {
  const { page, trouble } = loaded;
  const wrong = trouble || page?.index.trouble;
  if (wrong) {
    return (
      <p class="fresh gone" role="status">
        {wrong} {page && `What you see is as of ${dateTime(page.now_millis, utc)}.`}
      </p>
    );
  }
  if (page && !page.index.complete) {
    return (
      <p class="fresh" role="status">
        The jobs are being read: {page.index.done.toLocaleString("en-US")} of{" "}
        {page.index.total.toLocaleString("en-US")}
      </p>
    );
  }
  return <p class="fresh live">{counts ? `${counts.jobs.toLocaleString("en-US")} ${counts.jobs === 1 ? "job" : "jobs"}` : "live"}</p>;
}

function Page() {
  const [choice, setChoice] = useState(() => choiceOfHash(location.hash));
  const [text, setText] = useState(choice.q);
  const [current, setCurrent] = useState(-1);
  const [utc, setUtc] = useState(localStorage.getItem("tony-utc") === "yes");
  const [chosen, setChosen] = useState<string[]>(() => comparedJobs(choice.compare) ?? []);
  const session = useSession();
  const narrow = useNarrow();
  const loaded = useJobs(choice);
  const counts = useCounts();
  const { list, page } = loaded;
  const set = (change: Partial<Choice>) => {
    setCurrent(-1);
    setChoice((held) => ({ ...held, ...change }));
  };

  // A comparison is a step in the browser's history, so that its Back leads to the list.
  const shownComparison = useRef(choice.compare);
  useEffect(() => {
    const place = `#${hashOfChoice(choice)}`;
    if (choice.compare && choice.compare !== shownComparison.current) history.pushState(null, "", place);
    else history.replaceState(null, "", place);
    shownComparison.current = choice.compare;
  }, [choice]);
  useEffect(() => {
    const listen = () => {
      const next = choiceOfHash(location.hash);
      setChoice(next);
      setText(next.q);
    };
    addEventListener("hashchange", listen);
    return () => removeEventListener("hashchange", listen);
  }, []);
  useEffect(() => {
    if (text === choice.q) return;
    const timer = setTimeout(() => set({ q: text }), kTypingMillis);
    return () => clearTimeout(timer);
  }, [text]);
  useLayoutEffect(() => {
    if (!list) return;
    document.body.className = "live";
    document.body.replaceChildren(root);
  }, [!list]);
  if (!list || !page) return loaded.trouble ? <p class="fresh gone">{loaded.trouble}</p> : null;

  const jobs = list.jobs;
  const compared = comparedJobs(choice.compare);
  const changeUtc = (wanted: boolean) => {
    localStorage.setItem("tony-utc", wanted ? "yes" : "no");
    setUtc(wanted);
  };
  return (
    <Fragment>
      <header>
        <h1>Jobs</h1>
      </header>
      <nav aria-label="Status">
        <label>
          <input type="checkbox" checked={utc} onChange={(event) => changeUtc(event.currentTarget.checked)} /> UTC
        </label>
        <Visitor session={session} />
        <Status loaded={loaded} counts={counts} utc={utc} />
      </nav>
      {compared ? (
        <Compare key={choice.compare} jobs={compared} utc={utc} close={() => set({ compare: "" })} />
      ) : (
        <main>
          <div class="tools">
            <input
              type="search"
              class="pattern"
              placeholder="name, user, reason, …"
              aria-label="Search: words that a job's name, user, queue, tags, state or reason contain"
              maxLength={200}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
            {counts && (
              <Fragment>
                <Select label="Any user" value={choice.user} values={counts.users} choose={(user) => set({ user })} />
                <Select label="Any queue" value={choice.queue} values={counts.queues} choose={(queue) => set({ queue })} />
                <Select
                  label="Any framework"
                  value={choice.framework}
                  values={counts.frameworks}
                  choose={(framework) => set({ framework })}
                />
              </Fragment>
            )}
            {narrow && <JobOrder sort={choice.sort} sortBy={(sort) => set({ sort })} />}
          </div>
          <div class="tools">{counts && <States counts={counts} choice={choice} choose={(state) => set({ state })} />}</div>
          <Chosen chosen={chosen} compare={() => set({ compare: chosen.join() })} clear={() => setChosen([])} />
          <div class="table jobs" role="table" aria-label="Jobs" aria-rowcount={list.next ? -1 : jobs.length}>
            {!narrow && <JobHeads sort={choice.sort} sortBy={(sort) => set({ sort })} />}
            <Rows
              role="rowgroup"
              label="Jobs: arrow keys move, Enter opens the job's page, Space chooses it to compare"
              count={jobs.length}
              rowHeight={narrow ? 84 : 36}
              most={narrow ? 7 : 20}
              current={current}
              onMove={(index) => {
                setCurrent(index);
                loaded.more(index);
              }}
              onChoose={(index) => setChosen((held) => pick(held, jobs[index].address))}
              onOpen={(index) => location.assign(address(jobs[index].address))}
              row={(index) => (
                <JobRow
                  job={jobs[index]}
                  link={address(jobs[index].address)}
                  ran={duration(jobs[index].duration_millis ?? page.now_millis - (jobs[index].submitted_millis ?? 0))}
                  utc={utc}
                  current={index === current}
                  chosen={chosen.includes(jobs[index].address)}
                  choose={() => setChosen((held) => pick(held, jobs[index].address))}
                  shown={() => loaded.more(index)}
                />
              )}
            />
            {jobs.length === 0 && <p class="quiet empty">No job is like that.</p>}
          </div>
        </main>
      )}
      <footer>
        In a terminal: <code>tony list</code>, <code>tony status JOB</code>, <code>tony rm JOB</code>.
      </footer>
    </Fragment>
  );
}

// The page without scripts stays until there is something to show in its place.
const root = document.createElement("div");
document.body.prepend(root);
render(<Page />, root);
