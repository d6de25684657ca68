// What is said about feeds survives its conversion to messages and back.
#include "rpc/convert/convert_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::rpc {
namespace {

using Verdict = core::feed_order::Answer::Verdict;

const core::FeedLease kLease{7, {"train", 3, 1'000'000}};

template <typename Body>
Body Again(const core::FeedReport& report) {
  return std::get<Body>(FromProto(ToProto(report)).value());
}

TEST(ConvertFeed, ReportsSurvive) {
  const auto endpoint = Again<core::feed_report::Endpoint>(core::feed_report::Endpoint{
      "/sockets/producers", 4711, {kLease}, {{"train", 3, 0, 41}}, {"train"}, {"validation"}});
  EXPECT_EQ(endpoint.unix_path, "/sockets/producers");
  EXPECT_EQ(endpoint.tls_port, 4711);
  EXPECT_EQ(endpoint.leases, std::vector{kLease});
  EXPECT_EQ(endpoint.acknowledged, (std::vector<core::FeedRange>{{"train", 3, 0, 41}}));
  EXPECT_EQ(endpoint.terminated, std::vector<std::string>{"train"});
  EXPECT_EQ(endpoint.ended, std::vector<std::string>{"validation"});
  EXPECT_EQ(Again<core::feed_report::Ask>(core::feed_report::Ask{kLease}).lease, kLease);
  EXPECT_EQ(Again<core::feed_report::GivenBack>(core::feed_report::GivenBack{kLease}).lease,
            kLease);
  const auto consumed = Again<core::feed_report::Consumed>(core::feed_report::Consumed{kLease, 12});
  EXPECT_EQ(consumed.lease, kLease);
  EXPECT_EQ(consumed.rows, 12);
  EXPECT_EQ(Again<core::feed_report::Terminate>(core::feed_report::Terminate{"train"}).feed,
            "train");
}

TEST(ConvertFeed, OrdersSurvive) {
  for (const core::FeedOrder& order : std::vector<core::FeedOrder>{
           core::feed_order::Answer{7, Verdict::kGranted},
           core::feed_order::Answer{7, Verdict::kSkip}, core::feed_order::Answer{7, Verdict::kBusy},
           core::feed_order::Answer{7, Verdict::kStopped},
           core::feed_order::Answer{7, Verdict::kRefused, "too many"},
           core::feed_order::Recorded{7}, core::feed_order::Awaited{7},
           core::feed_order::Terminated{"train"}, core::feed_order::Ending{"train"},
           core::feed_order::Ended{"train"}}) {
    EXPECT_EQ(FromProto(ToProto(order)), order);
  }
}

TEST(ConvertFeed, WhatNoFeedCanBeCalledIsLeftOut) {
  EXPECT_EQ(FromProto(v1::FeedReport()), std::nullopt);
  EXPECT_EQ(FromProto(v1::FeedOrder()), std::nullopt);
  EXPECT_FALSE(FromProto(ToProto(core::FeedReport(core::feed_report::Terminate{"a b"}))));
  EXPECT_FALSE(FromProto(ToProto(core::FeedReport(core::feed_report::Ask{{1, {"", 0, 0}}}))));
  v1::FeedOrder unknown;
  unknown.mutable_answer()->set_connection(1);
  EXPECT_EQ(FromProto(unknown), std::nullopt);
}

TEST(ConvertFeed, AJobsFeedsSurvive) {
  using State = core::FeedTable::View::State;
  core::JobFeeds feeds;
  feeds.tasks = {{"worker:0", "10.0.0.1", "host-1", "/producers", 4711, "c1", 2}};
  feeds.token = "abc";
  feeds.authority = "PEM";
  feeds.feeds = {{"a", State::kOpen, 1, 2, 3, 4},
                 {"b", State::kTerminated},
                 {"c", State::kEnding},
                 {"d", State::kEnded}};
  const core::JobFeeds again = FromProto(ToProto(feeds));
  ASSERT_EQ(again.tasks.size(), 1u);
  EXPECT_EQ(again.tasks[0].task, "worker:0");
  EXPECT_EQ(again.tasks[0].host, "10.0.0.1");
  EXPECT_EQ(again.tasks[0].host_id, "host-1");
  EXPECT_EQ(again.tasks[0].unix_path, "/producers");
  EXPECT_EQ(again.tasks[0].tls_port, 4711);
  EXPECT_EQ(again.tasks[0].container, "c1");
  EXPECT_EQ(again.tasks[0].attempt, 2);
  EXPECT_EQ(again.token, "abc");
  EXPECT_EQ(again.authority, "PEM");
  ASSERT_EQ(again.feeds.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(again.feeds[i].state, feeds.feeds[i].state);
  EXPECT_EQ(again.feeds[0].acknowledged, 1u);
  EXPECT_EQ(again.feeds[0].rows, 2);
  EXPECT_EQ(again.feeds[0].leased, 3u);
  EXPECT_EQ(again.feeds[0].waiting, 4u);
}

}  // namespace
}  // namespace tony::rpc
