// The one table of configuration keys: what is not in it does not exist.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobfile/keys/key_group.h"

namespace tony::jobfile {

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

}  // namespace tony::jobfile
