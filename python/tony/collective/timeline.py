"""Timelines of several ranks as one: ``python3 -m tony.collective.timeline merge OUT FILE…``"""

import argparse
import json
import sys


def read(path):
    """The events of a timeline, as a list of dicts. If its process was killed, an incomplete line at its end is left
    out.

    ValueError: it is no timeline; the message names the file and the line. OSError.
    """
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    if lines[0].strip() != "[":
        raise ValueError(f"{path} is no timeline: it does not begin with a line '['")
    events = []
    for number, line in enumerate(lines[1:], 2):
        text = line.strip().rstrip(",")
        if text == "]":
            break
        if not text:
            continue
        try:
            event = json.loads(text)
        except ValueError as error:
            if number == len(lines):  # the process was killed while it wrote this line
                break
            raise ValueError(f"{path}, line {number}, is no event: {error}") from error
        if not isinstance(event, dict) or "ph" not in event:
            raise ValueError(f"{path}, line {number}, is no event")
        events.append(event)
    return events


def merge(files):
    """The events of all files in the order of time. Each rank is a process of its own, in rank 0's time."""
    events = [event for path in files for event in read(path)]
    # Descriptions have no time. Events of the same time keep their order.
    return sorted(events, key=lambda event: event.get("ts", float("-inf")))


def write(path, events):
    """Writes a line for each event, as a JSON array."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(event, separators=(",", ":")) for event in events) + "\n]\n")


def main(arguments=None):
    """Exit status: 0 done, 1 a file cannot be read or written, 2 bad usage."""
    parser = argparse.ArgumentParser(prog="python3 -m tony.collective.timeline", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    merging = commands.add_parser("merge", help="write one timeline with the processes of several")
    merging.add_argument("out", metavar="OUT", help="the file to write; may be one of FILE")
    merging.add_argument("files", metavar="FILE", nargs="+", help="the timelines of ranks")
    chosen = parser.parse_args(arguments)
    try:
        events = merge(chosen.files)
        write(chosen.out, events)
    except (OSError, ValueError) as error:
        print(f"tony.collective.timeline: {error}", file=sys.stderr)
        return 1
    ranks = len({event.get("pid") for event in events})
    print(f"{chosen.out}: {len(events)} events of {ranks} rank{'' if ranks == 1 else 's'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
