// Hadoop's Writable encoding: numbers of one to nine bytes, and byte strings with their length.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tony::hadoop {

void AppendWritableNumber(int64_t number, std::string* text);
/// Appends the length as a number, then the bytes.
void AppendWritableBytes(const std::string& bytes, std::string* text);

/// Reads Writable values in order. Not thread safe.
class WritableReader {
 public:
  /// Reads `text` from byte `at` on. `text` must outlive the reader.
  explicit WritableReader(const std::string& text, size_t at = 0) : text_(text), at_(at) {}

  bool AtEnd() const { return at_ == text_.size(); }
  /// The next number. DataLoss – the text ends before the number does.
  absl::StatusOr<int64_t> Number();
  /// The next byte string. DataLoss – its length is negative, cut off, or more than is left.
  absl::StatusOr<std::string> Bytes();

 private:
  const std::string& text_;
  size_t at_;
};

}  // namespace tony::hadoop
