// The one table of configuration keys: what is not in it does not exist.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace tony::spec {

/// What the text of a value stands for.
enum class ValueType {
  kText,          ///< anything
  kCommand,       ///< a line as for `bash -c`
  kBoolean,       ///< true or false
  kCount,         ///< a whole number
  kMilliseconds,  ///< a whole number
  kSeconds,       ///< a whole number
  kDecimal,       ///< `2` or `0.5`
  kMemory,        ///< `2g`, `2048m` or MiB
  kChoice,        ///< one of Key::choices, in any case
  kList,          ///< names, divided by commas
  kKeyValues,     ///< `NAME=value`, divided by commas
  kPlacement,     ///< a constraint, see placement.h
  kAmounts,       ///< `NAME=number`, divided by commas; each number 1 or more
  kPatterns,      ///< regular expressions (RE2), divided by commas
  kResources,     ///< `path[::localName][#archive]`, divided by commas
  kExistingPath,  ///< a file or folder that is there when the job is submitted
  kFolder,        ///< a local folder, made when missing
  kLocation,      ///< a path or URI that need not be there
};

/// What this version does with a key.
enum class KeyStatus {
  kWorks,
  kOneBackend,    ///< works, on the backend that Key::reason names
  kNeedsBackend,  ///< the same, and on others refused like kRefused
  kNote,          ///< accepted without effect; Key::reason is the note that the user is shown
  kRefused,       ///< an error unless the value is TonY's default; Key::reason says what is missing
};

/// One row. A part of the name in angle brackets stands for any name: `tony.<type>.instances`.
struct Key {
  std::string name;
  ValueType type = ValueType::kText;
  std::string default_value =
      "";               ///< as text; empty: none. Of a refused key: TonY's, which changes nothing
  int64_t minimum = 0;  ///< of numbers and of memory; -1 means "no limit"
  int64_t maximum = std::numeric_limits<int32_t>::max();
  std::vector<std::string> choices = {};
  bool appends = false;  ///< a value on the command line is added to the value of the files
  KeyStatus status = KeyStatus::kWorks;
  std::string reason = "";   ///< see KeyStatus; a sentence without its full stop
  std::string meaning = "";  ///< one line of Markdown
};

/// Rows that belong together, in the order of the documentation.
struct KeyGroup {
  std::string title;
  std::string introduction;
  bool per_type = false;  ///< the keys belong to a task type: `tony.<type>.…`
  std::vector<Key> keys;
};

/// The whole table. Thread safe, never changes.
const std::vector<KeyGroup>& KeyGroups();

/// A row found by a key as it stands in a file.
struct KeyMatch {
  const Key* key = nullptr;
  std::string task_type;  ///< of a per-type key: whose; else empty
};

/// The row of `name`; a literal name wins over one with angle brackets. Nothing for unknown keys.
std::optional<KeyMatch> FindKey(const std::string& name);

/// The first words of the keys that belong to no task type, in alphabetical order.
std::vector<std::string> ReservedTypeNames();

/// Whether `word` is the first word of a key that belongs to no task type (`application`, `am`,
/// `task`…), so that no task type can have that name.
bool IsReservedWord(const std::string& word);

/// Whether a task type can be called `word`: letters, digits, `_` and `-`, and not reserved.
bool IsTaskTypeName(const std::string& word);

/// The known key nearest to `name`, among the keys without angle brackets and the keys of
/// `task_types`.
std::optional<std::string> NearestKey(const std::string& name,
                                      const std::vector<std::string>& task_types);

/// Where the per-type key `tony.<type>.<rest>` was meant for another word: the existing key with
/// `<type>` replaced by the nearest of `task_types` and of the reserved words.
std::optional<std::string> NearestOwner(const std::string& task_type, const std::string& name,
                                        const std::vector<std::string>& task_types);

}  // namespace tony::spec
