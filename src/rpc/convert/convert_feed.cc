// One overload for each kind; names of feeds are checked where they come in.
#include "rpc/convert/convert_feed.h"

#include <variant>

#include "rpc/convert/utf8.h"

namespace tony::rpc {
namespace {

using Verdict = core::feed_order::Answer::Verdict;

v1::FeedLease ToProto(const core::FeedLease& lease) {
  v1::FeedLease message;
  message.set_connection(lease.connection);
  message.mutable_partition()->set_feed(lease.partition.feed);
  message.mutable_partition()->set_epoch(lease.partition.epoch);
  message.mutable_partition()->set_partition(lease.partition.partition);
  return message;
}

core::FeedLease FromProto(const v1::FeedLease& message) {
  return {
      message.connection(),
      {message.partition().feed(), message.partition().epoch(), message.partition().partition()}};
}

bool IsNamed(const v1::FeedLease& lease) { return core::IsFeedName(lease.partition().feed()); }

void Fill(const core::feed_report::Endpoint& endpoint, v1::FeedReport& message) {
  v1::FeedEndpoint& body = *message.mutable_endpoint();
  body.set_unix_path(endpoint.unix_path);
  body.set_tls_port(endpoint.tls_port);
  for (const core::FeedLease& lease : endpoint.leases) *body.add_leases() = ToProto(lease);
  for (const core::FeedRange& range : endpoint.acknowledged) {
    v1::FeedRange& added = *body.add_acknowledged();
    added.set_feed(range.feed);
    added.set_epoch(range.epoch);
    added.set_first(range.first);
    added.set_last(range.last);
  }
  for (const std::string& feed : endpoint.terminated) body.add_terminated()->set_feed(feed);
  for (const std::string& feed : endpoint.ended) body.add_ended()->set_feed(feed);
}

void Fill(const core::feed_report::Ask& ask, v1::FeedReport& message) {
  *message.mutable_ask() = ToProto(ask.lease);
}

void Fill(const core::feed_report::Consumed& consumed, v1::FeedReport& message) {
  *message.mutable_consumed()->mutable_lease() = ToProto(consumed.lease);
  message.mutable_consumed()->set_rows(consumed.rows);
}

void Fill(const core::feed_report::GivenBack& given_back, v1::FeedReport& message) {
  *message.mutable_given_back() = ToProto(given_back.lease);
}

void Fill(const core::feed_report::Terminate& terminate, v1::FeedReport& message) {
  message.mutable_terminate()->set_feed(terminate.feed);
}

core::feed_report::Endpoint FromProto(const v1::FeedEndpoint& message) {
  core::feed_report::Endpoint endpoint;
  endpoint.unix_path = message.unix_path();
  endpoint.tls_port = message.tls_port();
  for (const v1::FeedLease& lease : message.leases()) {
    if (IsNamed(lease)) endpoint.leases.push_back(FromProto(lease));
  }
  for (const v1::FeedRange& range : message.acknowledged()) {
    if (!core::IsFeedName(range.feed())) continue;
    endpoint.acknowledged.push_back({range.feed(), range.epoch(), range.first(), range.last()});
  }
  for (const v1::FeedStop& stop : message.terminated()) {
    if (core::IsFeedName(stop.feed())) endpoint.terminated.push_back(stop.feed());
  }
  for (const v1::FeedStop& stop : message.ended()) {
    if (core::IsFeedName(stop.feed())) endpoint.ended.push_back(stop.feed());
  }
  return endpoint;
}

v1::FeedAnswer::Verdict ToProto(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGranted:
      return v1::FeedAnswer::GRANTED;
    case Verdict::kSkip:
      return v1::FeedAnswer::SKIP;
    case Verdict::kBusy:
      return v1::FeedAnswer::BUSY;
    case Verdict::kStopped:
      return v1::FeedAnswer::STOPPED;
    case Verdict::kRefused:
      return v1::FeedAnswer::REFUSED;
  }
  return v1::FeedAnswer::VERDICT_UNSPECIFIED;
}

std::optional<Verdict> FromProto(v1::FeedAnswer::Verdict verdict) {
  switch (verdict) {
    case v1::FeedAnswer::GRANTED:
      return Verdict::kGranted;
    case v1::FeedAnswer::SKIP:
      return Verdict::kSkip;
    case v1::FeedAnswer::BUSY:
      return Verdict::kBusy;
    case v1::FeedAnswer::STOPPED:
      return Verdict::kStopped;
    case v1::FeedAnswer::REFUSED:
      return Verdict::kRefused;
    default:
      return std::nullopt;
  }
}

v1::FeedState::State ToProto(core::FeedTable::View::State state) {
  switch (state) {
    case core::FeedTable::View::State::kOpen:
      return v1::FeedState::OPEN;
    case core::FeedTable::View::State::kTerminated:
      return v1::FeedState::TERMINATED;
    case core::FeedTable::View::State::kEnding:
      return v1::FeedState::ENDING;
    case core::FeedTable::View::State::kEnded:
      return v1::FeedState::ENDED;
  }
  return v1::FeedState::STATE_UNSPECIFIED;
}

core::FeedTable::View::State FromProto(v1::FeedState::State state) {
  switch (state) {
    case v1::FeedState::TERMINATED:
      return core::FeedTable::View::State::kTerminated;
    case v1::FeedState::ENDING:
      return core::FeedTable::View::State::kEnding;
    case v1::FeedState::ENDED:
      return core::FeedTable::View::State::kEnded;
    default:
      return core::FeedTable::View::State::kOpen;
  }
}

void Fill(const core::feed_order::Answer& answer, v1::FeedOrder& message) {
  v1::FeedAnswer& body = *message.mutable_answer();
  body.set_connection(answer.connection);
  body.set_verdict(ToProto(answer.verdict));
  body.set_sentence(answer.sentence);
}

void Fill(const core::feed_order::Recorded& recorded, v1::FeedOrder& message) {
  message.mutable_recorded()->set_connection(recorded.connection);
}

void Fill(const core::feed_order::Terminated& terminated, v1::FeedOrder& message) {
  message.mutable_terminated()->set_feed(terminated.feed);
}

void Fill(const core::feed_order::Awaited& awaited, v1::FeedOrder& message) {
  message.mutable_awaited()->set_connection(awaited.connection);
}

void Fill(const core::feed_order::Ending& ending, v1::FeedOrder& message) {
  message.mutable_ending()->set_feed(ending.feed);
}

void Fill(const core::feed_order::Ended& ended, v1::FeedOrder& message) {
  message.mutable_ended()->set_feed(ended.feed);
}

}  // namespace

v1::FeedReport ToProto(const core::FeedReport& report) {
  v1::FeedReport message;
  std::visit([&message](const auto& body) { Fill(body, message); }, report);
  return message;
}

std::optional<core::FeedReport> FromProto(const v1::FeedReport& report) {
  switch (report.body_case()) {
    case v1::FeedReport::kEndpoint:
      return FromProto(report.endpoint());
    case v1::FeedReport::kAsk:
      if (!IsNamed(report.ask())) return std::nullopt;
      return core::feed_report::Ask{FromProto(report.ask())};
    case v1::FeedReport::kConsumed:
      if (!IsNamed(report.consumed().lease())) return std::nullopt;
      return core::feed_report::Consumed{FromProto(report.consumed().lease()),
                                         report.consumed().rows()};
    case v1::FeedReport::kGivenBack:
      if (!IsNamed(report.given_back())) return std::nullopt;
      return core::feed_report::GivenBack{FromProto(report.given_back())};
    case v1::FeedReport::kTerminate:
      if (!core::IsFeedName(report.terminate().feed())) return std::nullopt;
      return core::feed_report::Terminate{report.terminate().feed()};
    case v1::FeedReport::BODY_NOT_SET:
      break;
  }
  return std::nullopt;
}

v1::FeedOrder ToProto(const core::FeedOrder& order) {
  v1::FeedOrder message;
  std::visit([&message](const auto& body) { Fill(body, message); }, order);
  return message;
}

std::optional<core::FeedOrder> FromProto(const v1::FeedOrder& order) {
  switch (order.body_case()) {
    case v1::FeedOrder::kAnswer: {
      const std::optional<Verdict> verdict = FromProto(order.answer().verdict());
      if (!verdict) return std::nullopt;
      return core::feed_order::Answer{order.answer().connection(), *verdict,
                                      order.answer().sentence()};
    }
    case v1::FeedOrder::kRecorded:
      return core::feed_order::Recorded{order.recorded().connection()};
    case v1::FeedOrder::kTerminated:
      return core::feed_order::Terminated{order.terminated().feed()};
    case v1::FeedOrder::kAwaited:
      return core::feed_order::Awaited{order.awaited().connection()};
    case v1::FeedOrder::kEnding:
      return core::feed_order::Ending{order.ending().feed()};
    case v1::FeedOrder::kEnded:
      return core::feed_order::Ended{order.ended().feed()};
    case v1::FeedOrder::BODY_NOT_SET:
      break;
  }
  return std::nullopt;
}

v1::FeedsResponse ToProto(const core::JobFeeds& feeds) {
  v1::FeedsResponse response;
  for (const core::JobFeeds::Task& task : feeds.tasks) {
    v1::FeedTask& added = *response.add_tasks();
    added.set_task(ToUtf8(task.task));
    added.set_host(ToUtf8(task.host));
    added.set_host_id(ToUtf8(task.host_id));
    added.set_unix_path(ToUtf8(task.unix_path));
    added.set_tls_port(task.tls_port);
    added.set_container(ToUtf8(task.container));
    added.set_attempt(task.attempt);
  }
  response.set_token(feeds.token);
  response.set_authority(feeds.authority);
  for (const core::FeedTable::View& feed : feeds.feeds) {
    v1::FeedState& added = *response.add_feeds();
    added.set_feed(feed.feed);
    added.set_state(ToProto(feed.state));
    added.set_acknowledged(static_cast<int64_t>(feed.acknowledged));
    added.set_rows(feed.rows);
    added.set_leased(static_cast<int32_t>(feed.leased));
    added.set_waiting(static_cast<int32_t>(feed.waiting));
  }
  return response;
}

core::JobFeeds FromProto(const v1::FeedsResponse& response) {
  core::JobFeeds feeds;
  for (const v1::FeedTask& task : response.tasks()) {
    feeds.tasks.push_back({task.task(), task.host(), task.host_id(), task.unix_path(),
                           task.tls_port(), task.container(), task.attempt()});
  }
  feeds.token = response.token();
  feeds.authority = response.authority();
  for (const v1::FeedState& feed : response.feeds()) {
    feeds.feeds.push_back(
        {feed.feed(), FromProto(feed.state()), static_cast<uint64_t>(feed.acknowledged()),
         feed.rows(), static_cast<size_t>(feed.leased()), static_cast<size_t>(feed.waiting())});
  }
  return feeds;
}

}  // namespace tony::rpc
