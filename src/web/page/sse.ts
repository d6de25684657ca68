// Parses an event stream (text/event-stream, HTML standard §9.2.6). EventSource would hide comments, by
// which a silent server and a dead connection are told apart, and the status of a refusal.

export interface StreamEvent {
  type: string;
  data: string;
  id: string;
}

/** Takes the stream piece by piece. */
export class StreamParser {
  private rest = "";
  private type = "";
  private data: string[] = [];
  private id = "";

  constructor(private readonly emit: (event: StreamEvent) => void) {}

  /** Emits the events that `text` completes. */
  push(text: string): void {
    const lines = (this.rest + text).split(/\r\n|\n|\r(?=[^\n])/);
    this.rest = lines.pop()!;
    for (const line of lines) this.line(line);
  }

  private line(line: string): void {
    if (line === "") return this.end();
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.type = value;
    else if (name === "data") this.data.push(value);
    else if (name === "id") this.id = value;
  }

  private end(): void {
    if (this.data.length > 0) {
      this.emit({ type: this.type || "message", data: this.data.join("\n"), id: this.id });
    }
    this.type = "";
    this.data = [];
  }
}
