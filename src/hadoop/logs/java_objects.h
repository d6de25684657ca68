// Reads what Java's ObjectOutputStream has written.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"

namespace tony::hadoop {

/// An object: its class and its fields of numbers and texts; of others, there is nothing but a
/// name. A plain value; its texts are parts of what was read.
struct JavaObject {
  using Value = std::variant<std::monostate, int64_t, std::string_view>;
  std::string_view type;  ///< "java.util.ArrayList"
  std::map<std::string_view, Value> fields;

  /// The value of a field; 0 or "" where it has none of that kind.
  int64_t Number(std::string_view field) const;
  std::string Text(std::string_view field) const;
};

/// Hands each object in `bytes`, a whole stream, to `use` once it has been read with all that is in
/// it. Nothing is made of the classes' own rules: what a class has written itself is passed over,
/// except for the objects in it. Memory is bounded by some times the size of `bytes`. DataLoss – it
/// is no such stream, cut off or damaged; Unimplemented – a part of the form that we do not know.
absl::Status ForEachJavaObject(const std::string& bytes,
                               const std::function<void(const JavaObject&)>& use);

}  // namespace tony::hadoop
