// Only one unfinished line is kept, and nothing once the parameters are found.
#include "executor/output/parameter_finder.h"

#include <algorithm>
#include <cstring>

namespace tony::executor {
namespace {

constexpr char kMark[] = "Model parameters: ";
/// What may stand before the mark, such as the time of a logger's line.
constexpr size_t kMaxPrefix = 4096;

}  // namespace

void ParameterFinder::Add(const char* data, size_t size) {
  constexpr size_t most = kMaxPrefix + sizeof(kMark) + kMaxBytes;
  while (size > 0 && !found_) {
    const char* newline = static_cast<const char*>(std::memchr(data, '\n', size));
    const size_t length = newline == nullptr ? size : static_cast<size_t>(newline - data);
    line_.append(data, std::min(length, most - std::min(most, line_.size())));
    if (newline == nullptr) return;
    EndLine();
    data += length + 1;
    size -= length + 1;
  }
}

void ParameterFinder::Finish() {
  if (!found_) EndLine();
}

void ParameterFinder::EndLine() {
  const size_t at = line_.find(kMark);
  if (at != std::string::npos) {
    found_ = true;
    parameters_ = line_.substr(at + sizeof(kMark) - 1);
    if (!parameters_.empty() && parameters_.back() == '\r') parameters_.pop_back();
    too_long_ = parameters_.size() > kMaxBytes;
    if (too_long_) parameters_.clear();
  }
  line_.clear();
}

}  // namespace tony::executor
