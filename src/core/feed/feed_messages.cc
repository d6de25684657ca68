// Names of feeds and partitions.
#include "core/feed/feed_messages.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace tony::core {
namespace {

constexpr size_t kMostNameBytes = 64;

}  // namespace

bool IsFeedName(const std::string& name) {
  return !name.empty() && name.size() <= kMostNameBytes &&
         std::all_of(name.begin(), name.end(), [](unsigned char letter) {
           return absl::ascii_isalnum(letter) || letter == '.' || letter == '_' || letter == '-';
         });
}

absl::Status CheckFeedName(const std::string& name) {
  if (IsFeedName(name)) return absl::OkStatus();
  return absl::InvalidArgumentError("a feed's name has 1 to 64 letters, digits, '.', '_' and '-'");
}

absl::Status TooManyFeeds(const std::string& name) {
  return absl::ResourceExhaustedError(
      absl::StrCat("a job has at most ", kMostFeeds, " feeds; ", name, " would be one more"));
}

std::string FeedPartition::ToString() const {
  return absl::StrCat("partition ", partition, " of epoch ", epoch, " of the feed ", feed);
}

}  // namespace tony::core
