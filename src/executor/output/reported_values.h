// The values that a program reports of itself: "step=120 loss=0.31".
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace tony::executor {

/// Reads lines of NAME=VALUE pairs, between which there are spaces; a value with spaces is in
/// double quotes. The last value of each name counts. What is no pair, is too long or cannot be
/// shown is left out. Not thread safe.
class ReportedValues {
 public:
  static constexpr size_t kMostNames = 32;
  static constexpr size_t kMostNameBytes = 64;
  static constexpr size_t kMostValueBytes = 128;
  static constexpr size_t kMostLineBytes = 4096;

  /// Adds bytes, in any pieces.
  void Add(const char* data, size_t size);
  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  void EndLine();
  void Keep(const std::string& name, const std::string& value);

  std::string line_;       ///< the unfinished line
  bool too_long_ = false;  ///< the unfinished line is longer than kMostLineBytes
  std::map<std::string, std::string> values_;
};

}  // namespace tony::executor
