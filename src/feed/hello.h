// The frame HELLO, in which a producer describes itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/feed/feed_messages.h"

namespace tony::feed {

/// Plain data.
struct Hello {
  std::string token;
  core::FeedPartition partition;
  int64_t attempt = 0;
  bool results = false;
  std::chrono::milliseconds timeout{600000};
  std::string schema = "null";  ///< JSON, opaque
};

/// Reads the JSON of a HELLO. InvalidArgument – it is no such JSON; the message names the field.
absl::StatusOr<Hello> ParseHello(const std::string& json);

}  // namespace tony::feed
