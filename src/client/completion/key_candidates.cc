// A key of a task type is offered once for each type, with the type in the place of `<type>`. What
// stands for a name of the user's own ends a candidate.
#include "client/completion/key_candidates.h"

#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "jobfile/keys/key_table.h"

namespace tony::client {
namespace {

using jobfile::Key;
using jobfile::KeyStatus;
using jobfile::ValueType;

constexpr const char* kUsualTypes[] = {"worker", "ps", "chief", "evaluator"};

/// The type in `tony.TYPE.…`; empty: `key` belongs to no type.
std::string TypeIn(const std::string& key) {
  const std::vector<std::string> parts = absl::StrSplit(key, '.');
  const bool is_type = parts.size() > 2 && parts[0] == "tony" && jobfile::IsTaskTypeName(parts[1]);
  return is_type ? parts[1] : "";
}

/// The first sentence of a key's meaning, without Markdown.
std::string ShortMeaning(const Key& key) {
  const size_t end = key.meaning.find(". ");
  return absl::StrReplaceAll(key.meaning.substr(0, end), {{"`", ""}, {"*", ""}});
}

/// Names that begin with `word` → meaning; one with "=" is a whole key.
using Names = std::map<std::string, std::string>;

void AddKey(const std::string& name, const Key& key, const std::string& word, Names& names) {
  const size_t own_name = name.find('<');
  const std::string text =
      own_name == std::string::npos ? absl::StrCat(name, "=") : name.substr(0, own_name);
  if (absl::StartsWith(text, word)) names.emplace(text, ShortMeaning(key));
}

Names NamesOf(const std::string& word, const std::set<std::string>& types) {
  Names names;
  for (const jobfile::KeyGroup& group : jobfile::KeyGroups()) {
    for (const Key& key : group.keys) {
      if (key.status == KeyStatus::kNote || key.status == KeyStatus::kRefused) continue;
      if (!absl::StrContains(key.name, "<type>")) AddKey(key.name, key, word, names);
      if (!absl::StrContains(key.name, "<type>")) continue;
      for (const std::string& type : types) {
        AddKey(absl::StrReplaceAll(key.name, {{"<type>", type}}), key, word, names);
      }
    }
  }
  return names;
}

/// The names up to the next point behind `word`, if several go on behind it.
Candidates UpToThePoint(const Names& names, const std::string& word) {
  std::map<std::string, Candidates> parts;
  for (const auto& [name, meaning] : names) {
    const size_t point = name.find('.', word.size());
    parts[point == std::string::npos ? name : name.substr(0, point + 1)].push_back({name, meaning});
  }
  Candidates candidates;
  for (const auto& [part, all] : parts) {
    candidates.push_back(all.size() == 1 ? all.front() : Candidate{part});
  }
  return candidates;
}

Completion CompleteValueOf(const std::string& name, const std::string& value) {
  const std::string prefix = absl::StrCat(name, "=");
  Completion completion;
  const std::optional<jobfile::KeyMatch> match = jobfile::FindKey(name);
  if (!match) return completion;
  std::vector<std::string> values = match->key->choices;
  switch (match->key->type) {
    case ValueType::kBoolean:
      values = {"true", "false"};
      break;
    case ValueType::kFolder:
      completion.files = FileKind::kFolders;
      break;
    case ValueType::kExistingPath:
    case ValueType::kLocation:
    case ValueType::kResources:
      completion.files = FileKind::kFiles;
      break;
    default:
      break;
  }
  for (const std::string& choice : values) {
    if (absl::StartsWith(choice, value)) completion.candidates.push_back({prefix + choice});
  }
  completion.file_prefix = prefix;
  return completion;
}

}  // namespace

Completion CompleteKeyValue(const std::string& word, const std::vector<std::string>& types) {
  if (const size_t equals = word.find('='); equals != std::string::npos) {
    return CompleteValueOf(word.substr(0, equals), word.substr(equals + 1));
  }
  std::set<std::string> all_types(types.begin(), types.end());
  all_types.insert(std::begin(kUsualTypes), std::end(kUsualTypes));
  if (const std::string type = TypeIn(word); !type.empty()) all_types.insert(type);
  Completion completion;
  completion.candidates = UpToThePoint(NamesOf(word, all_types), word);
  completion.open_end = true;
  return completion;
}

std::vector<std::string> TypesIn(const std::vector<std::string>& key_values) {
  std::vector<std::string> types;
  for (const std::string& key_value : key_values) {
    const std::string type = TypeIn(key_value.substr(0, key_value.find('=')));
    if (!type.empty()) types.push_back(type);
  }
  return types;
}

}  // namespace tony::client
