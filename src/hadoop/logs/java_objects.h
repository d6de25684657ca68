// Reads the output of Java's ObjectOutputStream (Java object serialization).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"

namespace tony::hadoop {

/// A Java object: its class and its fields. Only numbers and texts have values; a field of another
/// type is monostate. A plain value, whose texts are views into the bytes that were read.
struct JavaObject {
  using Value = std::variant<std::monostate, int64_t, std::string_view>;
  std::string_view type;  ///< "java.util.ArrayList"
  std::map<std::string_view, Value> fields;

  /// The value of a field of numbers; 0 if there is no such field.
  int64_t Number(std::string_view field) const;
  /// The value of a field of texts; "" if there is no such field.
  std::string Text(std::string_view field) const;
};

/// Calls `use` with each object in `bytes`, a whole stream. An object comes after all objects in
/// its fields. Data that a class's own writeObject() has written are skipped, except for the
/// objects in it. Memory is bounded by a small multiple of the size of `bytes`. DataLoss – `bytes`
/// are no such stream, cut off or damaged; Unimplemented – a part of the protocol that tony does
/// not know.
absl::Status ForEachJavaObject(const std::string& bytes,
                               const std::function<void(const JavaObject&)>& use);

}  // namespace tony::hadoop
