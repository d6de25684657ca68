// Lists of any length: only the rows in view exist, all of one height.
import { h, type ComponentChildren, type JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** The rows to draw: those in view and a few around them. */
export function visibleRows(top: number, height: number, rowHeight: number, count: number, around = 6) {
  const first = Math.max(0, Math.floor(top / rowHeight) - around);
  const last = Math.min(count, Math.ceil((top + height) / rowHeight) + around);
  return { first: Math.min(first, count), last };
}

/** The size of an element, which follows it. */
export function useSize<T extends HTMLElement>() {
  const element = useRef<T>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const target = element.current!;
    const measure = () => setSize({ width: target.clientWidth, height: target.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(target);
    measure();
    return () => observer.disconnect();
  }, []);
  return { element, ...size };
}

/** Whether the screen is as narrow as a phone's; the style sheet has the same width. */
export function useNarrow(): boolean {
  const query = matchMedia("(max-width: 44rem)");
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const listen = () => setNarrow(query.matches);
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, []);
  return narrow;
}

interface Props {
  count: number;
  rowHeight: number;
  /** At most so many rows are in view. */
  most: number;
  row: (index: number) => ComponentChildren;
  label: string;
  role?: JSX.AriaRole;
  /** The row that the keyboard is on; -1: none. */
  current?: number;
  onMove?: (index: number) => void;
  onOpen?: (index: number) => void;
  onChoose?: (index: number) => void;
}

/** A list that the keyboard can walk through: arrows, Page Up and Down, Home, End, Enter, Space. */
export function Rows(props: Props) {
  const { count, rowHeight, most } = props;
  const { element, height } = useSize<HTMLDivElement>();
  const [top, setTop] = useState(0);
  const shown = visibleRows(top, height, rowHeight, count);
  const current = props.current ?? -1;

  const move = (to: number) => {
    const index = Math.max(0, Math.min(count - 1, to));
    const list = element.current!;
    if (index * rowHeight < list.scrollTop) list.scrollTop = index * rowHeight;
    if ((index + 1) * rowHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = (index + 1) * rowHeight - list.clientHeight;
    }
    props.onMove?.(index);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.target !== element.current || !props.onMove || count === 0) return;
    const page = Math.max(1, Math.floor(height / rowHeight) - 1);
    const steps: Record<string, number> = {
      ArrowDown: current + 1,
      ArrowUp: current - 1,
      PageDown: current + page,
      PageUp: current - page,
      Home: 0,
      End: count - 1,
    };
    if (event.key === "Enter" && current >= 0) props.onOpen?.(current);
    else if (event.key === " " && current >= 0 && props.onChoose) props.onChoose(current);
    else if (event.key in steps) move(steps[event.key]);
    else return;
    event.preventDefault();
  };

  const rows: ComponentChildren[] = [];
  for (let i = shown.first; i < shown.last; ++i) rows.push(props.row(i));
  return (
    <div
      ref={element}
      class="rows"
      tabIndex={0}
      role={props.role ?? "listbox"}
      aria-label={props.label}
      style={{ height: Math.min(count, most) * rowHeight + 2 }}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={onKey}
    >
      <div class="sheet" role="presentation" style={{ height: count * rowHeight }}>
        <div role="presentation" style={{ transform: `translateY(${shown.first * rowHeight}px)` }}>
          {rows}
        </div>
      </div>
    </div>
  );
}
