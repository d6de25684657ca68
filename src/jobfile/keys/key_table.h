// The table of all configuration keys: a key that is not in it is unknown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobfile/keys/key_group.h"

namespace tony::jobfile {

/// The whole table. It never changes. Thread safe.
const std::vector<KeyGroup>& KeyGroups();

/// The row for a key in a file.
struct KeyMatch {
  const Key* key = nullptr;
  std::string task_type;  ///< the task type in a per-type key; empty for other keys
};

/// Finds the row for `name`. A literal name wins over one with angle brackets. Nothing: the key is
/// unknown.
std::optional<KeyMatch> FindKey(const std::string& name);

/// The values that the key `name` can have; empty: they are not listed, or there is no such key.
std::vector<std::string> ChoicesOf(const std::string& name);

/// The first words (after `tony.`) of all keys that belong to no task type, in alphabetical order.
std::vector<std::string> ReservedTypeNames();

/// Whether `word` is one of ReservedTypeNames() (`application`, `am`, `task`…): no task type can
/// have that name.
bool IsReservedWord(const std::string& word);

/// Whether TonY's default for a key only shows what a value could look like: /path/to/keystore.jks.
bool IsPlaceholder(const std::string& default_value);

/// Whether a task type may be called `word`: it has letters, digits, `_` and `-` only, and is not
/// reserved.
bool IsTaskTypeName(const std::string& word);

/// The known key nearest to `name`, among the keys without angle brackets and the per-type keys of
/// `task_types` and of the type that `name` itself would belong to: the one that a slip of the
/// finger explains, else the one with the same words (`retry-count` for `retries`), else the one
/// that is nearest by its letters. Nothing: none is near.
std::optional<std::string> NearestKey(const std::string& name,
                                      const std::vector<std::string>& task_types);

/// The key probably meant by the per-type key `name`, `tony.<task_type>.<rest>`, whose type does
/// not exist: `task_type` is replaced by the nearest one of `task_types` and reserved words for
/// which the key exists. Nothing: none is near.
std::optional<std::string> NearestOwner(const std::string& task_type, const std::string& name,
                                        const std::vector<std::string>& task_types);

}  // namespace tony::jobfile
