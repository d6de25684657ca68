// What the tabs and windows of one browser share: its connections. A browser opens six to a server (HTTP/1.1), and an
// event stream occupies its own, so with six streams whatever else is asked for would wait for ever.
//
// A few tabs have a place for a stream. The others poll, and take the news that a tab with a stream passes on. A tab
// that is visible and has no place says so, whereupon hidden ones give theirs back.
import type { News } from "./store";

/** Half of the connections: the other half is for requests. */
export const kMostStreams = 3;

/** What tabs say to each other, by a BroadcastChannel. */
export type TabMessage = { kind: "wanted" } | { kind: "news"; job: string; news: News };

/** The part of navigator.locks that is used. */
export type Locks = Pick<LockManager, "request">;

/**
 * Takes one of the places for streams, which all tabs of this origin share; the result gives it back. Null: all are
 * taken, or `locks` is undefined, since browsers have Web Locks for https and this machine's own addresses only. The
 * browser gives back the place of a tab that is closed or crashes.
 */
export async function takePlace(locks: Locks | undefined): Promise<(() => void) | null> {
  for (let place = 0; locks && place < kMostStreams; ++place) {
    const release = await new Promise<(() => void) | null>((answer) => {
      const hold = (lock: Lock | null) => (lock ? new Promise<void>((done) => answer(done)) : answer(null));
      // It may be refused altogether, as in a sandboxed frame.
      locks.request(`tony-stream-${place}`, { ifAvailable: true }, hold).catch(() => answer(null));
    });
    if (release) return release;
  }
  return null;
}
