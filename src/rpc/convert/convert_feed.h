// Converts what is said about feeds between protobuf messages and the core's plain data.
#pragma once

#include <optional>

#include "core/feed/feed_messages.h"
#include "core/feed/job_feeds.h"
#include "tony/v1/feed.pb.h"

namespace tony::rpc {

v1::FeedReport ToProto(const core::FeedReport& report);
/// Nothing: a report of an unknown kind, or about something that no feed can be called.
std::optional<core::FeedReport> FromProto(const v1::FeedReport& report);
v1::FeedOrder ToProto(const core::FeedOrder& order);
/// Nothing: an order of an unknown kind.
std::optional<core::FeedOrder> FromProto(const v1::FeedOrder& order);
v1::FeedsResponse ToProto(const core::JobFeeds& feeds);
core::JobFeeds FromProto(const v1::FeedsResponse& response);

}  // namespace tony::rpc
