// The encoding of WritableUtils.writeVLong(). A first byte from -112 to 127 is the number itself.
// A first byte from -113 to -120 announces 1 to 8 bytes of a number above zero. One from -121 to
// -128 announces 1 to 8 bytes of the complement of a number below zero.
#include "hadoop/base/writable.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::hadoop {
namespace {

constexpr int kSmallestSingle = -112;
constexpr int kPositiveBase = -112;
constexpr int kNegativeBase = -120;
constexpr int kLargestSingle = 127;

}  // namespace

void AppendWritableNumber(int64_t number, std::string* text) {
  if (number >= kSmallestSingle && number <= kLargestSingle) {
    text->push_back(static_cast<char>(number));
    return;
  }
  const int base = number < 0 ? kNegativeBase : kPositiveBase;
  const auto magnitude = static_cast<uint64_t>(number < 0 ? ~number : number);
  int bytes = 1;
  while (bytes < 8 && magnitude >> (8 * bytes) != 0) ++bytes;
  text->push_back(static_cast<char>(base - bytes));
  for (int i = bytes - 1; i >= 0; --i) text->push_back(static_cast<char>(magnitude >> (8 * i)));
}

void AppendWritableBytes(const std::string& bytes, std::string* text) {
  AppendWritableNumber(static_cast<int64_t>(bytes.size()), text);
  *text += bytes;
}

absl::StatusOr<int64_t> WritableReader::Number() {
  const absl::Status cut = absl::DataLossError(absl::StrCat("it ends at byte ", text_.size()));
  if (AtEnd()) return cut;
  const auto first = static_cast<int8_t>(text_[at_++]);
  if (first >= kSmallestSingle) return first;
  const bool negative = first < kNegativeBase;
  const auto bytes = static_cast<size_t>(negative ? kNegativeBase - first : kPositiveBase - first);
  if (text_.size() - at_ < bytes) return cut;
  uint64_t magnitude = 0;
  for (size_t i = 0; i < bytes; ++i) {
    magnitude = magnitude << 8 | static_cast<uint8_t>(text_[at_++]);
  }
  return static_cast<int64_t>(negative ? ~magnitude : magnitude);
}

absl::StatusOr<std::string> WritableReader::Bytes() {
  TONY_ASSIGN_OR_RETURN(const int64_t length, Number());
  if (length < 0 || static_cast<uint64_t>(length) > text_.size() - at_) {
    return absl::DataLossError(absl::StrCat("at byte ", at_, " ", length,
                                            " bytes are announced, and ", text_.size() - at_,
                                            " are left"));
  }
  std::string bytes = text_.substr(at_, static_cast<size_t>(length));
  at_ += bytes.size();
  return bytes;
}

}  // namespace tony::hadoop
