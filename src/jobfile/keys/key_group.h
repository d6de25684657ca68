// A row of the key table, and rows that belong together.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tony::jobfile {

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

}  // namespace tony::jobfile
