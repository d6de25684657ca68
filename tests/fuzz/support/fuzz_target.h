// A fuzz target: a function of one input that throws when a property does not hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tony::fuzz {

/// A property of the code under test does not hold for the input. Nobody catches it under
/// libFuzzer, which takes that for a crash and keeps the input; the tests' runner reports it.
class PropertyBroken : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws PropertyBroken with `property`, the sentence that is not true, unless it `holds`.
void Require(bool holds, const char* property);

/// A function that is given any bytes, does with them what the program does, and throws
/// PropertyBroken where the outcome is not as it should be. It depends on nothing but its input.
using RunTarget = void (*)(std::string_view input);

/// One target of the folder targets/. Plain data.
struct FuzzTarget {
  const char* name;  ///< of its source file, and of its folder in corpus/
  RunTarget run;
  int mutations = 2000;  ///< how many the tests try: fewer where an input takes long
};

/// All of them, by name.
std::span<const FuzzTarget> FuzzTargets();

/// Takes an input apart: decisions first, then what is read by the code under test. Beyond its end
/// there are zeros and empty pieces. Not thread safe.
class InputReader {
 public:
  /// `input` must outlive it.
  explicit InputReader(std::string_view input) : rest_(input) {}

  bool AtEnd() const { return rest_.empty(); }
  uint8_t Byte();
  /// As many bytes as a length of two bytes, the highest first, says; fewer at the end.
  std::string Piece();
  /// Up to the next `end`, or all; without it.
  std::string Until(char end);
  std::string Rest();

 private:
  std::string_view rest_;
};

/// `bytes` in pieces, as a connection or a pipe may deliver them. The `seed` decides where they are
/// divided: with 0 behind each byte, with 1 nowhere.
std::vector<std::string> Divided(std::string_view bytes, uint8_t seed);

}  // namespace tony::fuzz
