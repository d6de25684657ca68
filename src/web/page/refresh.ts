// Does something now and again, one at a time.
import { useEffect, useRef } from "preact/hooks";

/**
 * Calls `load` at once, when one of `inputs` changes, and `millis` after it has ended; null: never. What is only due
 * again waits while the page is hidden, and is done as soon as it is shown. The newest `load` is called, so it may
 * read what was not among the inputs. Its signal is aborted when the next one begins.
 */
export function useRefresh(
  load: (signal: AbortSignal) => Promise<void>,
  millis: number | null,
  inputs: readonly unknown[],
): void {
  const newest = useRef(load);
  newest.current = load;
  useEffect(() => {
    if (millis === null) return;
    const abort = new AbortController();
    let timer = 0;
    const go = async () => {
      await newest.current(abort.signal);
      if (!abort.signal.aborted) timer = window.setTimeout(again, millis);
    };
    const again = () => {
      if (!document.hidden) return void go();
      document.addEventListener("visibilitychange", again, { once: true, signal: abort.signal });
    };
    void go();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [...inputs, millis]);
}
