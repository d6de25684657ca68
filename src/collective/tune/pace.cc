// A larger tensor with a number becomes the new mark; a mark that no longer comes is forgotten
// after kMostBetween tensors.
#include "collective/tune/pace.h"

#include "collective/arithmetic/data_type.h"

namespace tony::collective {
namespace {

/// A mark is forgotten when this many tensors were reduced since it came last.
constexpr size_t kMostBetween = 65536;

}  // namespace

std::optional<Pace::Step> Pace::Take(const Decision& decision, Deadline now) {
  if (!decision.error.empty() || !Reduces(decision.kind.operation)) return std::nullopt;
  bool marks = false;
  size_t all = 0;
  for (const Decided& tensor : decision.tensors) {
    const size_t bytes = static_cast<size_t>(tensor.elements) * SizeOf(decision.kind.type);
    all += bytes;
    ++others_;
    if (mark_bytes_ > 0 && tensor.name == mark_.name && decision.set == mark_.set) {
      marks = true;
    } else if (tensor.id != 0 && bytes > mark_bytes_) {
      // A tensor has a number only if its name has come before.
      mark_ = {.set = decision.set, .name = tensor.name};
      mark_bytes_ = bytes;
      Restart();
      marks = true;
    }
  }
  if (others_ > kMostBetween) mark_bytes_ = others_ = 0;
  std::optional<Step> step;
  if (marks) step = Begin(now);
  bytes_ += all;
  return step;
}

std::optional<Pace::Step> Pace::Begin(Deadline now) {
  std::optional<Step> step;
  if (began_) step = {.time = now - *began_, .bytes = bytes_};
  began_ = now;
  bytes_ = others_ = 0;
  return step;
}

}  // namespace tony::collective
