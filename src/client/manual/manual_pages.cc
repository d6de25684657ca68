// The texts here say only what the tables do not: names, options, values, keys and exit statuses
// come from the tables.
#include "client/manual/manual_pages.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/exit_status.h"
#include "client/cli/options.h"
#include "client/manual/roff_page.h"
#include "client/verbs/verb_table.h"
#include "jobfile/docs/docs_writer.h"
#include "jobfile/keys/key_table.h"

namespace tony::client {
namespace {

std::string DefaultOf(const std::string& key) {
  return jobfile::FindKey(key).value().key->default_value;
}

RoffPage NewPage(const std::string& name, int section, const std::string& meaning) {
  RoffPage page(name, section, "tony " TONY_VERSION);
  page.Section("Name");
  // The form that apropos and whatis read.
  page.Paragraph(absl::StrCat(name, " - ", meaning));
  return page;
}

/// "[JOB] [TASK]" with the words that stand for something else in italics.
std::string Arguments(const std::string& usage) {
  std::string marked, word;
  const auto end_word = [&] {
    if (!word.empty()) absl::StrAppend(&marked, "*", word, "*");
    word.clear();
  };
  for (const char character : usage) {
    if (absl::ascii_isalpha(static_cast<unsigned char>(character)) || character == '.') {
      word += character;
    } else {
      end_word();
      marked += character;
    }
  }
  end_word();
  return marked;
}

std::string Term(const OptionRow& row) {
  const std::string letter = row.letter.empty() ? "" : absl::StrCat("`-", row.letter, "`, ");
  const std::string value = row.value.empty() ? ""
                            : row.optional    ? absl::StrCat("[=*", row.value, "*]")
                                              : absl::StrCat(" *", row.value, "*");
  return absl::StrCat(letter, "`--", row.name, "`", value);
}

std::string Explanation(const OptionRow& row) {
  const bool told = std::all_of(
      row.choices.begin(), row.choices.end(),
      [&row](const std::string& choice) { return absl::StrContains(row.meaning, choice); });
  const std::string choices =
      told ? "" : absl::StrCat(" (one of ", absl::StrJoin(row.choices, ", "), ")");
  return absl::StrCat(row.meaning, choices, row.repeatable ? " (repeatable)" : "");
}

void AddOptions(const OptionTable& table, RoffPage& page) {
  page.Section("Options");
  page.Paragraph(
      "Options have one or two dashes, and `-` and `_` in their names are the same. "
      "`--name=VALUE` and `--name VALUE` are the same. All words after `--` are arguments.");
  for (const OptionRow& row : table) page.Item(Term(row), Explanation(row));
}

void AddExits(const ExitMeanings& exits, RoffPage& page) {
  page.Section("Exit status");
  for (const ExitMeaning& exit : exits) {
    page.Item(absl::StrCat("`", exit.status, "`"), exit.meaning);
  }
}

void AddEnvironment(RoffPage& page) {
  page.Section("Environment");
  page.Item("`TONY_CONF_DIR`", "the folder of `tony-site.xml`; `/etc/tony` unless set");
  page.Item("`HADOOP_CONF_DIR`, `YARN_CONF_DIR`",
            "the folder of the Hadoop cluster's configuration, for the backend yarn");
  page.Item("`NO_COLOR`", "no colours if it is set and not empty");
}

void AddFiles(RoffPage& page) {
  const std::string jobs = absl::StrCat(DefaultOf("tony.local.dir"), "/jobs/");
  page.Section("Files");
  page.Item("`/etc/tony/tony-site.xml`",
            "keys for all jobs of this machine, see **tony-job**(5); `TONY_CONF_DIR` names another "
            "folder, but the file's final values hold nevertheless");
  page.Item(absl::StrCat("`", jobs, "`*JOB*"),
            "a job's configuration, history, logs and checkpoints; `tony.local.dir` names another "
            "folder than the default");
  page.Item(absl::StrCat("`", jobs, "`*JOB*`/logs`"),
            "what the tasks print, and the logs of tony's own programs");
  page.Item(absl::StrCat("`", DefaultOf("tony.local.ledger"), "`"),
            "if an administrator has made it: which job of which user holds what of this machine");
}

void AddSeeAlso(const std::vector<std::string>& pages, RoffPage& page) {
  page.Section("See also");
  std::vector<std::string> names;
  for (const std::string& name : pages) {
    const std::string section = name == "tony-job" ? "5" : "1";
    names.push_back(absl::StrCat("**", name, "**(", section, ")"));
  }
  page.Paragraph(absl::StrJoin(names, ", "));
}

std::string PageName(const Verb& verb) { return absl::StrCat("tony-", verb.name); }

std::string AlsoCalled(const Verb& verb) {
  if (verb.aliases.empty()) return "";
  return absl::StrCat(" Also called ", absl::StrJoin(verb.aliases, ", "), ".");
}

ManualPage TonyPage() {
  RoffPage page = NewPage("tony", 1, "run programs as distributed training jobs");
  page.Document(R"(
## Synopsis

**tony** *VERB* [*OPTIONS*] [*ARGUMENTS*]

**tony** **help** [*VERB*]

**tony** **--version**

## Description

**tony** runs programs as jobs of several tasks, and looks after the jobs that it or
**tony-submit**(1) has started. It tells each task where the others are, watches the tasks, keeps
their logs, starts the job again from its last checkpoint where that is allowed, and ends with a
verdict and its reason.

**tony run** starts a program of this folder. **tony-submit** starts a job that a file describes
(**tony-job**(5)). The other verbs take jobs by their names: the whole name, its beginning or its
end if only one job has it, or `latest`.

Jobs run on this machine without any service, or on a Hadoop cluster with `--backend yarn`.

## Examples

```
tony run -np 2 python3 train.py
tony list --failed -n 5
tony logs latest worker:1 --follow
tony logs --first-error
tony wait latest && tony rerun latest --conf tony.worker.instances=4
```
)");
  page.Section("Verbs");
  for (const Verb& verb : AllVerbs()) {
    page.Item(absl::StrCat("`", verb.name, "` ", Arguments(verb.arguments)),
              absl::StrCat(verb.meaning, "; see **", PageName(verb), "**(1).", AlsoCalled(verb)));
  }
  page.Item("`help` [*VERB*]", "how a verb is used");
  AddOptions(CommonOptions(), page);
  AddExits(UsualVerbExits(), page);
  page.Paragraph("Verbs that follow jobs end as tony-submit does; their pages say so.");
  AddEnvironment(page);
  AddFiles(page);
  std::vector<std::string> pages = {"tony-submit", "tony-job"};
  for (const Verb& verb : AllVerbs()) pages.push_back(PageName(verb));
  AddSeeAlso(pages, page);
  return {"tony.1", page.text()};
}

/// Lines of a verb's help: indented ones are command lines, the others are filled.
void AddDetails(const std::string& details, RoffPage& page) {
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) page.Paragraph(paragraph);
    paragraph.clear();
  };
  for (const absl::string_view line : absl::StrSplit(details, '\n')) {
    if (absl::StartsWith(line, "  ")) {
      end_paragraph();
      page.Code({std::string(line.substr(2))});
    } else if (!line.empty()) {
      absl::StrAppend(&paragraph, paragraph.empty() ? "" : " ", line);
    }
  }
  end_paragraph();
}

ManualPage VerbPage(const Verb& verb) {
  RoffPage page = NewPage(PageName(verb), 1, verb.meaning);
  page.Section("Synopsis");
  page.Paragraph(
      absl::StrCat("**tony** **", verb.name, "** [*OPTIONS*] ", Arguments(verb.arguments)));
  for (const std::string& alias : verb.aliases) {
    page.Paragraph(absl::StrCat("**tony** **", alias, "** …"));
  }
  page.Section("Description");
  std::string meaning = verb.meaning;
  meaning[0] = absl::ascii_toupper(static_cast<unsigned char>(meaning[0]));
  page.Paragraph(absl::StrCat(meaning, "."));
  AddDetails(verb.details, page);
  AddOptions(AllOptions(verb), page);
  AddExits(verb.exits(), page);
  AddSeeAlso({"tony", "tony-submit", "tony-job"}, page);
  return {absl::StrCat(PageName(verb), ".1"), page.text()};
}

ManualPage SubmitPage() {
  RoffPage page = NewPage("tony-submit", 1, "submit a distributed training job and follow it");
  page.Document(R"(
## Synopsis

**tony-submit** [*OPTIONS*] *job.xml*

**tony-submit** [*OPTIONS*] **--executes** *COMMAND*

## Description

Submits the job that *job.xml* describes (**tony-job**(5)), follows it, and ends with its verdict.
Without a job file the options describe the job. The command lines of TonY's ClusterSubmitter work
unchanged.

In a terminal a table shows the tasks; a pipe or a file gets plain lines. Ctrl-C stops the job. A
job goes on when its terminal is closed, or with `--detach` from the start; **tony-attach**(1) shows
it again.

## Examples

```
tony-submit job.xml
tony-submit --dry-run job.xml
tony-submit --executes 'python3 train.py' --src_dir src --conf tony.worker.instances=2 \
    --conf tony.application.framework=pytorch
```
)");
  AddOptions(SubmitTable(), page);
  AddExits(SubmitExits(), page);
  AddEnvironment(page);
  AddFiles(page);
  AddSeeAlso({"tony", "tony-run", "tony-validate", "tony-logs", "tony-attach", "tony-job"}, page);
  return {"tony-submit.1", page.text()};
}

void AddKey(const jobfile::Key& key, RoffPage& page) {
  const std::string default_text =
      key.default_value.empty() ? "" : absl::StrCat("; default `", key.default_value, "`");
  const std::string status =
      key.status == jobfile::KeyStatus::kWorks ? "" : absl::StrCat("; ", jobfile::StatusText(key));
  page.Item(absl::StrCat("`", key.name, "`"),
            absl::StrCat(key.meaning, " (", jobfile::TypeText(key), key.appends ? ", adds up" : "",
                         default_text, status, ")"));
}

ManualPage JobFilePage() {
  RoffPage page = NewPage("tony-job", 5, "the job file of tony, and its keys");
  page.Section("Description");
  page.Document(jobfile::RenderIntroduction());
  for (const jobfile::KeyGroup& group : jobfile::KeyGroups()) {
    page.Subsection(group.title);
    page.Paragraph(group.introduction);
    for (const jobfile::Key& key : group.keys) AddKey(key, page);
  }
  AddFiles(page);
  AddSeeAlso({"tony", "tony-submit", "tony-validate"}, page);
  return {"tony-job.5", page.text()};
}

}  // namespace

std::vector<ManualPage> ManualPages() {
  std::vector<ManualPage> pages = {TonyPage(), SubmitPage(), JobFilePage()};
  for (const Verb& verb : AllVerbs()) pages.push_back(VerbPage(verb));
  return pages;
}

}  // namespace tony::client
