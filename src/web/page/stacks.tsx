// Where the programs are: processes at the same place together, those that are somewhere else than most first.
import { Fragment, h } from "preact";
import { useState } from "preact/hooks";
import { jobAddress, postJson, sentenceOf } from "./api";
import { dateTime } from "./format";
import { hasStacks, keptText, membersText, stackText } from "./stack_text";
import type { Job, StackGroup, Stacks } from "./types";

/** Groups of which more are open at first would be a wall of text. */
const kMostOpen = 4;
function Group({ group, open }: { group: StackGroup; open: boolean }) {
  const count = group.members.length;
  return (
    <details open={open}>
      <summary>
        <b>{count}</b> {count === 1 ? "process" : "processes"} of {membersText(group)}
        {group.way === "proc" && " – no stack, only where the kernel holds it"}
        {group.suspect && <b class="bad"> – the suspect</b>}
      </summary>
      <pre tabIndex={0}>{stackText(group)}</pre>
    </details>
  );
}

/** Texts that outlive the job; the first one is open if no newer stacks stand above it. */
function Kept({ stacks, command }: { stacks: Stacks; command: string }) {
  return (
    <Fragment>
      {stacks.kept.map((kept, index) => (
        <details key={`${kept.task} ${kept.attempt}`} open={index === 0 && stacks.taken_millis === null}>
          <summary>{keptText(kept)}</summary>
          <pre tabIndex={0}>{kept.text}</pre>
          {kept.cut && (
            <p class="quiet">
              This is the begin; in a terminal: <code>{command}</code>
            </p>
          )}
        </details>
      ))}
      {stacks.kept_left_out > 0 && (
        <p class="quiet">
          {stacks.kept_left_out} more {stacks.kept_left_out === 1 ? "is" : "are"} not shown here; in a terminal:{" "}
          <code>{command}</code>
        </p>
      )}
    </Fragment>
  );
}

interface StacksProps {
  job: Job;
  stacks: Stacks;
  utc: boolean;
  /** New ones are there. */
  onTaken: () => void;
}

export function StacksSection({ job, stacks, utc, onTaken }: StacksProps) {
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState("");
  const take = async () => {
    if (busy) return;
    setBusy(true);
    setTrouble("");
    try {
      await postJson(jobAddress(job.id, "stacks"), {});
      onTaken();
    } catch (error) {
      setTrouble(sentenceOf(error, "The job's ApplicationMaster"));
    }
    setBusy(false);
  };
  const ended = job.verdict !== null;
  if (ended && !hasStacks(stacks)) return null;
  return (
    <section id="stacks">
      <h2>Stacks</h2>
      <div class="tools">
        {job.may.stacks && (
          // Not `disabled`, which would take the focus from whoever pressed it.
          <button aria-disabled={busy} onClick={() => void take()}>
            {busy ? "Taking …" : "Take the stacks of all tasks"}
          </button>
        )}
        {!ended && !job.may.stacks && (
          <span class="quiet">
            New ones: <code>tony stacks {job.id}</code>
          </span>
        )}
        {stacks.taken_millis !== null && <span class="quiet">taken at {dateTime(stacks.taken_millis, utc)}</span>}
      </div>
      {trouble && (
        <p class="bad" role="alert">
          {trouble}
        </p>
      )}
      {stacks.suspect && (
        <p>
          <b>{stacks.suspect}</b>
        </p>
      )}
      {stacks.taken_millis !== null && stacks.groups.length === 0 && <p class="quiet">No stack could be read.</p>}
      {stacks.groups.map((group, index) => (
        <Group key={`${stacks.taken_millis} ${index}`} group={group} open={index < kMostOpen} />
      ))}
      <Kept stacks={stacks} command={`tony stacks ${job.id}`} />
      {stacks.troubles.length > 0 && (
        <details>
          <summary>What could not be read</summary>
          <ul>
            {stacks.troubles.map((one, index) => (
              <li key={index}>
                {one.task}
                {one.pid !== null && ` (pid ${one.pid})`}: {one.sentence}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
