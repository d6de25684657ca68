// The changes are those of libFuzzer's that need no knowledge of what the code did.
#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>

namespace tony::fuzz {
namespace {

/// Lengths and counts at which code goes wrong, and characters that mean something somewhere.
constexpr std::array<std::string_view, 14> kTokens = {
    std::string_view("\x00", 1),
    "\x7f",
    "\x80",
    "\xff",
    "\xff\xff\xff\xff",
    "\x7f\xff\xff\xff",
    std::string_view("\x00\x00\x00\x00", 4),
    std::string_view("\x80\x00\x00\x00", 4),
    "\xff\xff\xff\xff\xff\xff\xff\xff",
    "-1",
    "9223372036854775808",
    "\"",
    "..",
    "\x1b",
};

/// Not thread safe.
class Mutator {
 public:
  Mutator(const std::vector<std::string>& seeds, uint32_t number)
      : seeds_(seeds), random_(number), bytes_(seeds[number % seeds.size()]) {}

  std::string Run() {
    for (size_t changes = 1 + Below(4); changes > 0; --changes) ChangeOnce();
    return std::move(bytes_);
  }

 private:
  /// The distributions of the standard library differ from one to the other.
  size_t Below(size_t end) { return end == 0 ? 0 : random_() % end; }
  size_t Place() { return Below(bytes_.size() + 1); }

  /// A part of `text`, mostly a small one.
  std::string Part(const std::string& text) {
    const size_t at = Below(text.size() + 1);
    return text.substr(at, 1 + Below(Below(4) == 0 ? text.size() : 16));
  }

  void ChangeOnce() {
    const size_t at = Place();
    switch (Below(8)) {
      case 0:
        if (at < bytes_.size()) bytes_[at] = static_cast<char>(bytes_[at] ^ (1 << Below(8)));
        return;
      case 1:
        if (at < bytes_.size()) bytes_[at] = static_cast<char>(random_());
        return;
      case 2:
        bytes_.erase(at, Part(bytes_).size());
        return;
      case 3:
        bytes_.insert(at, Part(bytes_));
        return;
      case 4:
        bytes_.insert(at, Part(seeds_[Below(seeds_.size())]));
        return;
      case 5:
        bytes_.insert(at, kTokens[Below(kTokens.size())]);
        return;
      case 6: {
        const std::string_view token = kTokens[Below(kTokens.size())];
        bytes_.replace(at, token.size(), token);
        return;
      }
      default:
        bytes_.resize(at);
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937 random_;
  std::string bytes_;
};

}  // namespace

std::string Mutate(const std::vector<std::string>& seeds, uint32_t number) {
  return Mutator(seeds, number).Run();
}

}  // namespace tony::fuzz
