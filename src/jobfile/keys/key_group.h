// A row of the key table, and a group of rows.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tony::jobfile {

/// The form of a value's text.
enum class ValueType {
  kText,          ///< anything
  kCommand,       ///< a command line for `bash -c`
  kBoolean,       ///< true or false
  kCount,         ///< a whole number
  kMilliseconds,  ///< a whole number
  kSeconds,       ///< a whole number
  kDecimal,       ///< `2` or `0.5`
  kMemory,        ///< `2g`, `2048m` or MiB
  kChoice,        ///< one of Key::choices, in any case
  kList,          ///< names, separated by commas
  kKeyValues,     ///< `NAME=value`, separated by commas
  kPlacement,     ///< a constraint, see placement.h
  kUserCounts,    ///< whole numbers for users, see user_shares.h
  kUserMemory,    ///< amounts of memory for users, see user_shares.h
  kAmounts,       ///< `NAME=number`, separated by commas; each number 1 or more
  kPatterns,      ///< regular expressions (RE2), separated by commas
  kStepPattern,   ///< one regular expression (RE2) with a group `step`; commas are its own
  kResources,     ///< `path[::localName][#archive]`, separated by commas
  kExistingPath,  ///< a file or folder that must exist when the job is submitted
  kFolder,        ///< a local folder, which is made if it is missing
  kSecretUrls,    ///< web addresses that only the job's user may see, see secret_urls.h
  kLocation,      ///< a path or URI, which need not exist
};

/// The support for a key in this version.
enum class KeyStatus {
  kWorks,
  kOneBackend,  ///< works on the backend named by Key::reason; ignored on others
  kNote,        ///< accepted without effect; Key::reason is the note for the user
  kRefused,     ///< an error unless the value is TonY's default; Key::reason says what is missing
};

/// One row. A word of the name in angle brackets stands for any name: `tony.<type>.instances`.
struct Key {
  std::string name;
  ValueType type = ValueType::kText;
  std::string default_value = "";  ///< as text; empty: none. For a refused key: TonY's default
  int64_t minimum = 0;  ///< for numbers and memory; a key with minimum -1 takes -1 for "no limit"
  int64_t maximum = std::numeric_limits<int32_t>::max();
  std::vector<std::string> choices = {};
  bool appends = false;  ///< the command line adds to the list in the files
  KeyStatus status = KeyStatus::kWorks;
  std::string reason = "";   ///< see KeyStatus; a sentence without its full stop
  std::string meaning = "";  ///< one line of Markdown
};

/// A group of rows: one table in the documentation.
struct KeyGroup {
  std::string title;
  std::string introduction;
  bool per_type = false;  ///< true: the keys belong to a task type, `tony.<type>.…`
  std::vector<Key> keys;
};

}  // namespace tony::jobfile
