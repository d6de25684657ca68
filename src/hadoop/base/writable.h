// Hadoop's Writable encoding: numbers of one to nine bytes, and byte strings with their length.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tony::hadoop {

void AppendWritableNumber(int64_t number, std::string* text);
/// The length as a number, then the bytes.
void AppendWritableBytes(const std::string& bytes, std::string* text);

/// Reads such values in order. Not thread safe.
class WritableReader {
 public:
  /// `text` must outlive it.
  explicit WritableReader(const std::string& text, size_t at = 0) : text_(text), at_(at) {}

  bool AtEnd() const { return at_ == text_.size(); }
  /// DataLoss – the text ends before the number does.
  absl::StatusOr<int64_t> Number();
  /// DataLoss – the length is none, or more than is left.
  absl::StatusOr<std::string> Bytes();

 private:
  const std::string& text_;
  size_t at_;
};

}  // namespace tony::hadoop
