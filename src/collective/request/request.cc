// Texts of requests and decisions for people, and the check that a shape is possible.
#include "collective/request/request.h"

#include <algorithm>

namespace tony::collective {
namespace {

/// Largest tensor, in bytes. It is more than any machine's memory, and small enough for the sum
/// over any realistic number of ranks to stay below 2^63.
constexpr int64_t kMostBytes = int64_t{1} << 46;

}  // namespace

std::string Request::ShapeText() const {
  std::string text = std::string(NameOf(kind.type)) + "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

std::string Request::ShapeFault() const {
  int64_t most = kMostBytes / static_cast<int64_t>(SizeOf(kind.type));
  for (const int64_t length : shape) {
    if (length < 0) return "tensor '" + name + "' has a negative length: " + ShapeText();
    // Division instead of multiplication, which could overflow.
    most /= std::max<int64_t>(length, 1);
    if (most == 0) return "tensor '" + name + "' is larger than any memory: " + ShapeText();
  }
  return "";
}

std::string Decision::Text() const {
  if (tensors.empty()) return "the join of all ranks";
  const std::string text = "the operation on '" + tensors.front().name + "'";
  const size_t others = tensors.size() - 1;
  return others == 0 ? text : text + " and " + std::to_string(others) + " more";
}

}  // namespace tony::collective
