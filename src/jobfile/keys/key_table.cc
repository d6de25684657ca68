// The index is a list in which a lookup compares every row: it has some two hundred rows, and each
// key of a job is looked up a few times.
#include "jobfile/keys/key_table.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/nearest_name.h"
#include "jobfile/keys/key_groups.h"

namespace tony::jobfile {
namespace {

using Words = std::vector<std::string>;

struct Row {
  const Key* key;
  bool per_type;
  Words words;  // the name, split at dots
};

struct Index {
  // Literal names come before names with angle brackets, so the first match is the more specific
  // one: `tony.tensorboard.vcores` wins over `tony.<type>.vcores`.
  std::vector<Row> rows;
  std::set<std::string> reserved;
};

bool HasPlaceholder(const std::string& name) { return absl::StrContains(name, "<"); }

bool IsNameCharacter(char character) {
  return absl::ascii_isalnum(character) || character == '_' || character == '-';
}

bool IsName(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), IsNameCharacter);
}

// The order is that of the documentation.
std::vector<KeyGroup> AssembleGroups() {
  return {ApplicationKeys(),
          ProgramKeys(),
          TaskTypeKeys(),
          TypeProgramKeys(),
          ContainerKeys(),
          OrderKeys(),
          OutcomeKeys(),
          TimeLimitKeys(),
          RetryKeys(),
          TotalLimitKeys(),
          ExecutorKeys(),
          FeedKeys(),
          TaskOutputKeys(),
          MeasurementKeys(),
          AlertKeys(),
          ApplicationMasterKeys(),
          MasterWaitKeys(),
          LocalKeys(),
          ClientKeys(),
          YarnKeys(),
          LabelKeys(),
          TypeLabelKeys(),
          HadoopKeys(),
          JavaKeys(),
          DockerKeys(),
          HorovodKeys(),
          HorovodTuningKeys(),
          HorovodWatchKeys(),
          HistoryKeys(),
          PortalKeys(),
          VersionKeys()};
}

Index BuildIndex() {
  Index index;
  for (const KeyGroup& group : KeyGroups()) {
    for (const Key& key : group.keys) {
      const Words words = absl::StrSplit(key.name, '.');
      if (!group.per_type) index.reserved.insert(words[1]);
      index.rows.push_back({&key, group.per_type, words});
    }
  }
  std::stable_partition(index.rows.begin(), index.rows.end(),
                        [](const Row& row) { return !HasPlaceholder(row.key->name); });
  return index;
}

const Index& TableIndex() {
  static const Index* const index = new Index(BuildIndex());
  return *index;
}

// Reserved words are no task types. Without that rule, a mistyped `tony.am.instances` would define
// a task type `am`.
bool Matches(const Row& row, const Words& words) {
  if (row.words.size() != words.size()) return false;
  if (row.per_type && !IsTaskTypeName(words[1])) return false;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool matches = HasPlaceholder(row.words[i]) ? IsName(words[i]) : row.words[i] == words[i];
    if (!matches) return false;
  }
  return true;
}

}  // namespace

const std::vector<KeyGroup>& KeyGroups() {
  static const auto* const groups = new std::vector<KeyGroup>(AssembleGroups());
  return *groups;
}

std::optional<KeyMatch> FindKey(const std::string& name) {
  const Words words = absl::StrSplit(name, '.');
  for (const Row& row : TableIndex().rows) {
    if (Matches(row, words)) return KeyMatch{row.key, row.per_type ? words[1] : ""};
  }
  return std::nullopt;
}

std::vector<std::string> ChoicesOf(const std::string& name) {
  const std::optional<KeyMatch> match = FindKey(name);
  return match ? match->key->choices : std::vector<std::string>();
}

std::vector<std::string> ReservedTypeNames() {
  const std::set<std::string>& reserved = TableIndex().reserved;
  return {reserved.begin(), reserved.end()};
}

bool IsReservedWord(const std::string& word) { return TableIndex().reserved.contains(word); }

bool IsPlaceholder(const std::string& default_value) {
  return absl::StartsWith(default_value, "/path/to/");
}

bool IsTaskTypeName(const std::string& word) { return IsName(word) && !IsReservedWord(word); }

namespace {

/// The least number of letters in which two forms of a word agree.
constexpr size_t kLeastStem = 4;

/// Whether two words are forms of one: equal, or alike in all but their ends ("retries", "retry").
bool AreForms(const std::string& left, const std::string& right) {
  const size_t shorter = std::min(left.size(), right.size());
  const auto [end, other] = std::mismatch(left.begin(), left.begin() + shorter, right.begin());
  const auto common = static_cast<size_t>(end - left.begin());
  return left == right || (common >= kLeastStem && common + 1 >= shorter);
}

/// The candidate with the fewest words besides those of `name`, all of which it must have in some
/// form; nullopt: there is none. Finds what people remember by its words, not by its letters.
std::optional<std::string> NearestByWords(const std::string& name,
                                          const std::vector<std::string>& candidates) {
  const Words wanted = absl::StrSplit(name, absl::ByAnyChar(".-"));
  std::optional<std::string> nearest;
  size_t fewest = std::numeric_limits<size_t>::max();
  for (const std::string& candidate : candidates) {
    const Words words = absl::StrSplit(candidate, absl::ByAnyChar(".-"));
    const bool has_all = std::all_of(wanted.begin(), wanted.end(), [&](const std::string& word) {
      return std::any_of(words.begin(), words.end(),
                         [&](const std::string& other) { return AreForms(word, other); });
    });
    if (!has_all || words.size() >= fewest) continue;
    fewest = words.size();
    nearest = candidate;
  }
  return nearest;
}

}  // namespace

std::optional<std::string> NearestKey(const std::string& name,
                                      const std::vector<std::string>& declared_types) {
  // A file whose only key is a misspelt tony.worker.instance declares no type.
  std::vector<std::string> task_types = declared_types;
  const Words words = absl::StrSplit(name, '.');
  if (words.size() == 3 && words[0] == "tony" && IsTaskTypeName(words[1])) {
    task_types.push_back(words[1]);
  }
  std::vector<std::string> candidates;
  for (const Row& row : TableIndex().rows) {
    if (!HasPlaceholder(row.key->name)) candidates.push_back(row.key->name);
  }
  for (const Row& row : TableIndex().rows) {
    if (!absl::StartsWith(row.key->name, "tony.<type>.")) continue;
    for (const std::string& type : task_types) {
      candidates.push_back(absl::StrCat("tony.", type, ".", row.words[2]));
    }
  }
  const std::optional<std::string> nearest = NearestName(name, candidates);
  const std::optional<std::string> by_words = NearestByWords(name, candidates);
  // A slip of one letter is the likelier explanation; else words tell more than letters.
  const bool is_slip = nearest && EditDistance(name, *nearest) <= 1;
  return by_words && !is_slip ? by_words : nearest;
}

std::optional<std::string> NearestOwner(const std::string& task_type, const std::string& name,
                                        const std::vector<std::string>& task_types) {
  const std::string rest = name.substr(absl::StrCat("tony.", task_type).size());
  Words owners;
  // Only owners that have such a key are candidates, so that the suggestion is a key that exists.
  const auto consider = [&](const std::string& owner) {
    if (owner != task_type && FindKey(absl::StrCat("tony.", owner, rest))) owners.push_back(owner);
  };
  for (const std::string& type : task_types) consider(type);
  for (const std::string& word : TableIndex().reserved) consider(word);
  const std::optional<std::string> owner = NearestName(task_type, owners);
  if (!owner) return std::nullopt;
  return absl::StrCat("tony.", *owner, rest);
}

}  // namespace tony::jobfile
