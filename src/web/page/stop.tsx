// Ends the job, after a question. Not through YARN's proxy, where any application's page could ask for it.
import { Fragment, h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { jobAddress, postJson, Problem, sentenceOf } from "./api";
import { jobTitle } from "./log_text";
import type { Job } from "./types";

interface DialogProps {
  job: Job;
  close: () => void;
}

function StopDialog({ job, close }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState("");
  const [answer, setAnswer] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => dialog.current!.showModal(), []);
  // The dialog itself gives the focus back to the button that opened it; taken out of the page while open, it would not.
  const leave = () => dialog.current?.close();
  const stop = async () => {
    if (busy) return;
    setBusy(true);
    try {
      await postJson(jobAddress(job.id, "stop"), reason ? { reason } : {});
      leave();
    } catch (error) {
      const command = error instanceof Problem ? error.command : "";
      setAnswer(`${sentenceOf(error, "The job's ApplicationMaster")} ${command || `In a terminal: ${job.may.stop_command}`}`);
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="stop-title">
      <h2 id="stop-title">Stop {jobTitle(job)}?</h2>
      <p>All of its programs end, as by {job.may.stop_command}. What they have not saved is lost.</p>
      <label>
        Reason, for the job's history{" "}
        <input
          type="text"
          maxLength={500}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      {answer && (
        <p class="bad" role="alert">
          {answer}
        </p>
      )}
      <p class="buttons">
        <button onClick={leave}>Keep it running</button>
        <button class="danger" aria-disabled={busy} onClick={() => void stop()}>
          {busy ? "Stopping …" : "Stop the job"}
        </button>
      </p>
    </dialog>
  );
}

export function StopButton({ job, proxied }: { job: Job; proxied: boolean }) {
  const [asking, setAsking] = useState(false);
  if (job.verdict || job.phase === "STOPPING") return null;
  if (proxied || !job.may.stop) {
    return (
      <p class="quiet">
        To stop it: <code>{job.may.stop_command}</code>
      </p>
    );
  }
  return (
    <Fragment>
      <button class="danger" onClick={() => setAsking(true)}>
        Stop …
      </button>
      {asking && <StopDialog job={job} close={() => setAsking(false)} />}
    </Fragment>
  );
}
