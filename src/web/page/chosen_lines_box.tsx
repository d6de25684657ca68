// Lets the user choose tasks that charts draw as lines above the bands.
import { h } from "preact";
import { useEffect, useState } from "preact/hooks";
import { kLeastForBands } from "./chart_data";
import { hashWithLines, hasTask, kMostChosen, linesOfHash, withLine } from "./chosen_lines";
import type { Job } from "./types";

/** More tasks are not offered one by one: the box takes any name. */
const kMostOffered = 500;

/** The chosen tasks, which the page's address keeps. */
export function useChosenLines(): [string[], (chosen: string[]) => void] {
  const [chosen, setChosen] = useState(() => linesOfHash(location.hash) ?? []);
  useEffect(() => {
    const keep = () => {
      const hash = hashWithLines(location.hash, chosen);
      if (hash !== location.hash) history.replaceState(null, "", hash || location.pathname + location.search);
    };
    // A link to a section names the section alone.
    const listen = () => {
      const named = linesOfHash(location.hash);
      if (named) setChosen(named);
      else keep();
    };
    keep();
    addEventListener("hashchange", listen);
    return () => removeEventListener("hashchange", listen);
  }, [chosen]);
  return [chosen, setChosen];
}

interface Props {
  types: Job["types"];
  chosen: string[];
  choose: (chosen: string[]) => void;
}

export function ChosenLines({ types, chosen, choose }: Props) {
  const [text, setText] = useState("");
  const task = text.trim();
  const known = hasTask(types, task);
  const add = () => {
    if (!known) return;
    choose(withLine(chosen, task));
    setText("");
  };
  const offered = types
    .filter((type) => type.instances >= kLeastForBands)
    .flatMap((type) => Array.from({ length: Math.min(type.instances, kMostOffered) }, (_, i) => `${type.name}:${i}`))
    .slice(0, kMostOffered);
  const without = (name: string) => chosen.filter((each) => each !== name);
  return (
    <span class="tools lines-of">
      <label>
        <span>Line of </span>
        <input
          list="chart-tasks"
          placeholder={`task, at most ${kMostChosen}`}
          aria-label={`Task whose line is drawn as well; at most ${kMostChosen}`}
          spellcheck={false}
          size={14}
          value={text}
          aria-invalid={task !== "" && !known}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && add()}
        />
      </label>
      <datalist id="chart-tasks">
        {offered.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <button disabled={!known} onClick={add}>
        Draw
      </button>
      {chosen.map((name) => (
        <button key={name} aria-label={`Remove the line of ${name}`} onClick={() => choose(without(name))}>
          {name} ✕
        </button>
      ))}
    </span>
  );
}
