// The kinds of values are the words that the help shows for them, so the tables need no column of
// their own for the completion.
#include "client/completion/complete_arguments.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/completion/command_slot.h"
#include "client/completion/key_candidates.h"
#include "client/completion/shell_scripts.h"

namespace tony::client {
namespace {

constexpr char kRepeated[] = "…";

/// Whether `name` begins with `word`, where - and _ are the same.
bool BeginsLike(const std::string& name, const std::string& word) {
  const auto canonical = [](const std::string& text) {
    return absl::StrReplaceAll(text, {{"-", "_"}});
  };
  return absl::StartsWith(canonical(name), canonical(word));
}

/// Options that may still be given, in the user's own spelling of what is there already.
Candidates CompleteOption(const OptionTable& table, const CommandSlot& slot) {
  const std::string& word = slot.word;
  const size_t dashes = absl::StartsWith(word, "--") ? 2 : 1;
  const std::string name = word.substr(dashes);
  Candidates candidates;
  for (const OptionRow& row : table) {
    if (slot.before.Has(row.name) && !row.repeatable) continue;
    // A single dash alone most often becomes two.
    const std::string head = name.empty() ? "--" : word;
    if (BeginsLike(row.name, name)) {
      candidates.push_back({absl::StrCat(head, row.name.substr(name.size())), row.meaning});
    }
  }
  return candidates;
}

/// The files behind the last comma of a list.
Completion CompletePaths(const std::string& word) {
  Completion completion;
  completion.files = FileKind::kFiles;
  completion.file_prefix = word.substr(0, word.rfind(',') + 1);
  return completion;
}

FileKind FilesOf(const std::string& kind) {
  if (kind == "FILE" || kind == "PATH") return FileKind::kFiles;
  if (kind == "FOLDER") return FileKind::kFolders;
  if (kind == "job.xml") return FileKind::kXml;
  if (kind == "COMMAND") return FileKind::kCommands;
  return FileKind::kNone;
}

bool IsJob(const std::string& kind) { return kind == "JOB" || kind == "OTHER"; }

/// Completes one word by its kind. Not thread safe.
class KindCompletion {
 public:
  KindCompletion(const CommandShape& shape, const CommandSlot& slot, const LocalDirOf& local_dir_of)
      : shape_(shape), slot_(slot), local_dir_of_(local_dir_of) {}

  Completion ByKind(const std::string& kind) const {
    const std::string& word = slot_.word;
    if (kind == "KEY=VALUE") return CompleteKeyValue(word, TypesIn(slot_.before.Values("conf")));
    if (kind == "PATHS") return CompletePaths(word);
    Completion completion;
    completion.files = FilesOf(kind);
    if (IsJob(kind)) completion.candidates = Jobs();
    if (kind == "TASK") completion.candidates = Tasks(Job(), /*only_tasks=*/false);
    if (kind == "TASK:PORT") {
      completion.candidates = Tasks(Job(), /*only_tasks=*/true);
      for (Candidate& task : completion.candidates) task.word += ":";
      completion.open_end = true;
    }
    if (kind == "SHELL") completion.candidates = Shells();
    if (kind == "TYPE:INDEX") completion.candidates = Tasks(Job(), /*only_tasks=*/true);
    return completion;
  }

 private:
  /// The job that the line has named so far; "" means the newest one.
  std::string Job() const {
    const std::vector<std::string>& words = slot_.before.positionals;
    return words.empty() ? "" : words.front();
  }

  Candidates Shells() const {
    Candidates shells;
    for (const std::string& shell : CompletionShells()) shells.push_back({shell});
    return WithPrefix(shells, slot_.word);
  }

  Candidates Jobs() const {
    const std::string local_dir = local_dir_of_(slot_.before);
    if (local_dir.empty()) return {};
    Candidates jobs = JobCandidates(local_dir, slot_.word, shape_.jobs);
    const std::vector<std::string>& named = slot_.before.positionals;
    std::erase_if(jobs, [&named](const Candidate& job) {
      return std::find(named.begin(), named.end(), job.word) != named.end();
    });
    // A first word may also be a task of the newest job. All of them at once would hide the jobs.
    const bool may_be_task = absl::StrContains(shape_.arguments, "TASK") && !slot_.word.empty();
    if (may_be_task) {
      for (Candidate& task : TaskCandidates(local_dir, "", slot_.word, /*only_tasks=*/true)) {
        jobs.push_back(std::move(task));
      }
    }
    return jobs;
  }

  Candidates Tasks(const std::string& job, bool only_tasks) const {
    const std::string local_dir = local_dir_of_(slot_.before);
    if (local_dir.empty()) return {};
    return TaskCandidates(local_dir, job, slot_.word, only_tasks);
  }

  const CommandShape& shape_;
  const CommandSlot& slot_;
  const LocalDirOf& local_dir_of_;
};

/// The kind of the argument with this index; empty: there is none.
std::string KindOfArgument(const std::string& arguments, size_t index) {
  const std::vector<std::string> kinds = KindsOf(arguments);
  if (index < kinds.size()) return kinds[index];
  return absl::EndsWith(arguments, kRepeated) ? kinds.back() : "";
}

Completion CompleteValue(const KindCompletion& by_kind, const CommandSlot& slot) {
  if (slot.row == nullptr) return {};
  if (slot.row->choices.empty()) return by_kind.ByKind(slot.row->value);
  Completion completion;
  for (const std::string& choice : slot.row->choices) completion.candidates.push_back({choice});
  completion.candidates = WithPrefix(completion.candidates, slot.word);
  return completion;
}

Completion CompleteArgument(const CommandShape& shape, const KindCompletion& by_kind,
                            const CommandSlot& slot) {
  if (!slot.is_command) {
    return by_kind.ByKind(KindOfArgument(shape.arguments, slot.before.positionals.size()));
  }
  Completion completion;
  completion.files = FileKind::kFiles;
  return completion;
}

}  // namespace

Completion CompleteArguments(const CommandShape& shape, const std::vector<std::string>& words,
                             const LocalDirOf& local_dir_of) {
  std::vector<std::string> plain;
  for (const std::string& word : words) plain.push_back(WithoutQuotes(word));
  const CommandSlot slot =
      FindSlot(shape.options, shape.takes_command, plain, shape.words_before_command);
  const KindCompletion by_kind(shape, slot, local_dir_of);
  if (slot.kind == CommandSlot::Kind::kOption) return {CompleteOption(shape.options, slot)};
  if (slot.kind == CommandSlot::Kind::kArgument) return CompleteArgument(shape, by_kind, slot);
  Completion completion = CompleteValue(by_kind, slot);
  // Candidates are whole words: "--level=info".
  for (Candidate& candidate : completion.candidates) {
    candidate.word = absl::StrCat(slot.prefix, candidate.word);
  }
  completion.file_prefix = absl::StrCat(slot.prefix, completion.file_prefix);
  return completion;
}

bool IsKnownKind(const std::string& kind) {
  static const std::set<std::string> only_the_user_knows = {
      "",         "TEXT", "ACTION", "NAME", "NAME=VALUE",   "N",         "NUMBER", "SIZE",
      "SECONDS",  "PID",  "AGE",    "5m",   "ADDRESS:PORT", "ADDRESSES", "USER",   "USERS",
      "NAME:ROLE"};
  static const std::set<std::string> others = {"KEY=VALUE", "PATHS",      "TASK",
                                               "TASK:PORT", "TYPE:INDEX", "SHELL"};
  return FilesOf(kind) != FileKind::kNone || IsJob(kind) || others.contains(kind) ||
         only_the_user_knows.contains(kind);
}

std::vector<std::string> KindsOf(const std::string& arguments) {
  return absl::StrSplit(absl::StrReplaceAll(arguments, {{"[", ""}, {"]", ""}, {kRepeated, ""}}),
                        ' ', absl::SkipEmpty());
}

}  // namespace tony::client
