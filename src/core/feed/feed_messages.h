// The messages between an endpoint of a feed and the ApplicationMaster about partitions, as plain
// data (docs/design/feed.md).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"

namespace tony::core {

/// The most feeds of a job.
inline constexpr size_t kMostFeeds = 8;

/// Whether `name` can be a feed's: 1 to 64 letters, digits, '.', '_' and '-'.
bool IsFeedName(const std::string& name);
/// InvalidArgument, with a sentence – it cannot.
absl::Status CheckFeedName(const std::string& name);
/// ResourceExhausted, with a sentence: the feed `name` would be one more than kMostFeeds.
absl::Status TooManyFeeds(const std::string& name);

/// One partition of one epoch of a feed.
struct FeedPartition {
  std::string feed;
  int64_t epoch = 0;
  int64_t partition = 0;

  auto operator<=>(const FeedPartition&) const = default;
  /// "partition 3 of epoch 0 of the feed train"
  std::string ToString() const;
};

/// A producer's connection that holds the lease of a partition, or wants it. Numbers of connections
/// are unique in their endpoint.
struct FeedLease {
  uint64_t connection = 0;
  FeedPartition partition;

  bool operator==(const FeedLease&) const = default;
};

/// The partitions `first` to `last` of an epoch.
struct FeedRange {
  std::string feed;
  int64_t epoch = 0;
  int64_t first = 0;
  int64_t last = 0;

  bool operator==(const FeedRange&) const = default;
};

/// From an endpoint to the ApplicationMaster.
namespace feed_report {

/// Where the endpoint is reached, and all that it holds: the first report of each stream, which
/// replaces what was known of the endpoint.
struct Endpoint {
  std::string unix_path;
  int tls_port = 0;
  std::vector<FeedLease> leases;
  std::vector<FeedRange> acknowledged;
  std::vector<std::string> terminated;  ///< feeds
  std::vector<std::string> ended;       ///< feeds that have ended, or end with their last lease
};

/// A producer wants to send this partition.
struct Ask {
  FeedLease lease;
};

/// All rows of the partition were consumed.
struct Consumed {
  FeedLease lease;
  int64_t rows = 0;
};

/// The lease, or the wish for one, is over without an acknowledgement.
struct GivenBack {
  FeedLease lease;
};

/// The program wants no more of this feed.
struct Terminate {
  std::string feed;
};

}  // namespace feed_report

using FeedReport = std::variant<feed_report::Endpoint, feed_report::Ask, feed_report::Consumed,
                                feed_report::GivenBack, feed_report::Terminate>;

/// From the ApplicationMaster to an endpoint.
namespace feed_order {

/// Answers an Ask.
struct Answer {
  enum class Verdict {
    kGranted,
    kSkip,     ///< acknowledged before
    kBusy,     ///< another attempt is being consumed; another answer follows
    kStopped,  ///< nobody wants more of this feed
    kRefused,  ///< for the reason in `sentence`
  };
  uint64_t connection = 0;
  Verdict verdict = Verdict::kGranted;
  std::string sentence = {};

  bool operator==(const Answer&) const = default;
};

/// Answers a Consumed: the partition is acknowledged.
struct Recorded {
  uint64_t connection = 0;

  bool operator==(const Recorded&) const = default;
};

/// Another attempt waits for a lease that this connection holds.
struct Awaited {
  uint64_t connection = 0;

  bool operator==(const Awaited&) const = default;
};

/// A program wants no more of the feed: its producers get STOP, now and later.
struct Terminated {
  std::string feed;

  bool operator==(const Terminated&) const = default;
};

/// The feed ends when its last lease is over. The endpoint keeps it in mind for the next
/// ApplicationMaster.
struct Ending {
  std::string feed;

  bool operator==(const Ending&) const = default;
};

/// No partition of the feed is left.
struct Ended {
  std::string feed;

  bool operator==(const Ended&) const = default;
};

}  // namespace feed_order

using FeedOrder = std::variant<feed_order::Answer, feed_order::Recorded, feed_order::Awaited,
                               feed_order::Terminated, feed_order::Ending, feed_order::Ended>;

}  // namespace tony::core
