// The style sheet of the pages, for light and dark themes and for wide and narrow screens.
#include <string>

#include "web/job_page.h"

namespace tony::web {

// Longer than 60 lines because it is one style sheet.
std::string Style() {
  return R"css(:root {
  color-scheme: light dark;
  --paper: #ffffff; --ground: #f4f5f7; --ink: #1c2430; --quiet: #5d6778; --line: #dde1e7;
  --good: #1a7f45; --bad: #c62f37; --running: #1f66c7; --waiting: #8a6100; --stopped: #5d6778;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #1b2029; --ground: #12161d; --ink: #e4e8ee; --quiet: #98a3b5; --line: #303846;
    --good: #4cc27f; --bad: #f2777d; --running: #71a9f7; --waiting: #d9ad4a; --stopped: #98a3b5;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
h1 { margin: 0 0 .75rem; font-size: 1.6rem; overflow-wrap: anywhere; }
h2 { margin: 1.5rem 0 .6rem; font-size: 1.1rem; }
h2 small { color: var(--quiet); font-weight: normal; }
a { color: var(--running); }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .87em; }
code { overflow-wrap: anywhere; }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 0 0 1rem; }
dt { color: var(--quiet); font-size: .8rem; }
dd { margin: 0; }
.card, table { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; }
.card { margin: 1rem 0; padding: .75rem 1rem; border-left: 4px solid var(--line); }
.card h2 { margin-top: 0; }
.card p { margin: .25rem 0; overflow-wrap: anywhere; }
.card.good { border-left-color: var(--good); }
.card.bad { border-left-color: var(--bad); }
.card.waiting { border-left-color: var(--waiting); }
.card.stopped { border-left-color: var(--stopped); }
.quiet, footer { color: var(--quiet); font-size: .9rem; }
pre {
  margin: .6rem 0 .25rem; padding: .6rem .75rem; max-height: 24rem; overflow: auto;
  background: var(--ground); border-radius: 6px;
}
.badge {
  display: inline-block; padding: 0 .55em; border: 1px solid currentColor; border-radius: 1em;
  font-size: .75rem; font-weight: 600; line-height: 1.6; vertical-align: middle; white-space: nowrap;
}
.badge.good { color: var(--good); }
.badge.bad { color: var(--bad); }
.badge.running { color: var(--running); }
.badge.waiting { color: var(--waiting); }
.badge.stopped { color: var(--stopped); }
table { width: 100%; border-collapse: separate; border-spacing: 0; }
th, td { padding: .45rem .7rem; text-align: left; vertical-align: top; }
th { color: var(--quiet); font-size: .8rem; font-weight: 600; }
td { border-top: 1px solid var(--line); overflow-wrap: anywhere; }
td:first-child, td[data-column="Logs"], td[data-column="Ran"], td[data-column="Memory"] {
  white-space: nowrap;
}
tr.bad td:first-child { box-shadow: inset 4px 0 var(--bad); }
footer { margin-top: 2rem; }
@media (max-width: 44rem) {
  body { padding: 1rem; }
  table { border: 0; background: none; }
  thead { display: none; }
  tr {
    display: grid; grid-template-columns: 1fr 1fr 1fr; margin-bottom: .75rem; padding: .4rem 0;
    background: var(--paper); border: 1px solid var(--line); border-radius: 8px;
  }
  td { padding: .2rem .75rem; border: 0; }
  td::before {
    content: attr(data-column); display: block; color: var(--quiet); font-size: .75rem;
  }
  td[data-column="Task"]::before, td[data-column="State"]::before { content: none; }
  td[data-column="Task"], td[data-column="Logs"] { grid-column: span 2; }
  td[data-column="State"] { text-align: right; }
  td[data-column="Collectives"], td[data-column="End"] { grid-column: span 3; }
  td.none { display: none; }
  tr.bad td:first-child { box-shadow: none; }
  tr.bad { border-left: 4px solid var(--bad); }
}
)css";
}

}  // namespace tony::web
