// The lines of a timeline.
#include "collective/watch/trace_text.h"

#include <gtest/gtest.h>

namespace tony::collective {
namespace {

using Kind = TraceEvent::Kind;

Deadline At(int64_t nanoseconds) { return Deadline(std::chrono::nanoseconds(nanoseconds)); }

TraceEvent Of(Kind kind, int64_t at, const std::string& name) {
  return {.kind = kind, .at = At(at), .name = name};
}
TraceEvent Step(Kind kind, int64_t at, std::vector<TraceStep::Tensor> tensors,
                const std::string& error = "") {
  auto step = std::make_shared<TraceStep>(TraceStep{.number = 7, .tensors = std::move(tensors)});
  return {.kind = kind, .at = At(at), .name = error, .step = step};
}

class TraceTextTest : public ::testing::Test {
 protected:
  std::string Add(const TraceEvent& event) {
    std::string text;
    trace_.Add(event, text);
    return text;
  }

  TraceText trace_{3, {.offset = 1000, .error = 20, .unix_nanoseconds = 5'000'000}};
};

TEST_F(TraceTextTest, TheLifeOfATensor) {
  EXPECT_EQ(Add(Of(Kind::kSubmitted, 1500, "w")),
            R"({"ph":"M","pid":3,"tid":1,"name":"thread_name","args":{"name":"w"}},)"
            "\n"
            R"({"ph":"B","pid":3,"tid":1,"ts":2.500,)"
            R"("name":"NEGOTIATE_ALLREDUCE","args":{"tensor":"w"}},)"
            "\n");
  TraceEvent arrived = Of(Kind::kArrived, 1600, "w");
  arrived.rank = 2;
  EXPECT_EQ(
      Add(arrived),
      R"({"ph":"i","pid":3,"tid":1,"ts":2.600,"s":"t","name":"rank 2","args":{"tensor":"w"}},)"
      "\n");
  EXPECT_EQ(Add(Step(Kind::kDecided, 2000, {{"w"}})),
            R"({"ph":"E","pid":3,"tid":1,"ts":3.000},)"
            "\n"
            R"({"ph":"B","pid":3,"tid":1,"ts":3.000,"name":"WAIT"},)"
            "\n");
  EXPECT_EQ(Add(Step(Kind::kStarted, 3000, {{"v", 4}, {"w", 40}})),
            R"({"ph":"E","pid":3,"tid":1,"ts":4.000},)"
            "\n"
            R"({"ph":"B","pid":3,"tid":1,"ts":4.000,"name":"ALLREDUCE","args":{"bytes":40,)"
            R"("decision":7,"decision_bytes":44,"fused":2,"fused_with":["v"]}},)"
            "\n");
  EXPECT_EQ(Add(Step(Kind::kDone, 4001, {{"v", 4}, {"w", 40}})),
            R"({"ph":"E","pid":3,"tid":1,"ts":5.001},)"
            "\n");
  EXPECT_EQ(Add(Of(Kind::kSubmitted, 5000, "w")),
            R"({"ph":"B","pid":3,"tid":1,"ts":6.000,)"
            R"("name":"NEGOTIATE_ALLREDUCE","args":{"tensor":"w"}},)"
            "\n")
      << "it has its line";
  EXPECT_EQ(trace_.End(At(9000)),
            R"({"ph":"E","pid":3,"tid":1,"ts":10.000,"args":{"unfinished":true}},)"
            "\n"
            R"({"ph":"i","pid":3,"tid":0,"ts":10.000,"s":"t","name":"END","args":{}})"
            "\n]\n");
}

TEST_F(TraceTextTest, WhatItIsFor) {
  TraceEvent submitted = Of(Kind::kSubmitted, 0, "w");
  submitted.operation = Operation::kAllToAll;
  EXPECT_NE(Add(submitted).find(R"("name":"NEGOTIATE_ALLTOALL")"), std::string::npos);
}

TEST_F(TraceTextTest, WhatFails) {
  Add(Of(Kind::kSubmitted, 0, "a"));
  Add(Step(Kind::kDecided, 1, {{"a"}}));
  EXPECT_EQ(Add(Step(Kind::kDone, 2, {{"a"}}, "ranks \"differ\"")),
            R"({"ph":"E","pid":3,"tid":1,"ts":1.002,"args":{"error":"ranks \"differ\""}},)"
            "\n");
  Add(Of(Kind::kSubmitted, 3, "a"));
  EXPECT_EQ(Add(Of(Kind::kFailed, 4, "a")),
            R"({"ph":"E","pid":3,"tid":1,"ts":1.004,"args":{"error":true}},)"
            "\n");
  EXPECT_EQ(Add(Of(Kind::kFailed, 5, "a")), "");
  EXPECT_EQ(Add(Of(Kind::kFailed, 5, "unknown")), "");
}

/// Events may be dropped: all that begins ends, and nothing ends twice.
TEST_F(TraceTextTest, EventsThatAreMissing) {
  EXPECT_EQ(Add(Step(Kind::kDecided, 1, {{"from before"}})), "");
  EXPECT_EQ(Add(Step(Kind::kDone, 1, {{"from before"}})), "");
  Add(Of(Kind::kSubmitted, 2, "a"));
  EXPECT_EQ(Add(Step(Kind::kStarted, 3, {{"a"}})), "") << "nobody has heard of its decision";
  EXPECT_EQ(Add(Of(Kind::kSubmitted, 4, "a")),
            R"({"ph":"E","pid":3,"tid":1,"ts":1.004,"args":{"lost":true}},)"
            "\n"
            R"({"ph":"B","pid":3,"tid":1,"ts":1.004,)"
            R"("name":"NEGOTIATE_ALLREDUCE","args":{"tensor":"a"}},)"
            "\n");
  EXPECT_NE(trace_.Dropped(12, At(5)).find(R"("EVENTS_DROPPED","args":{"events":12})"),
            std::string::npos);
}

TEST_F(TraceTextTest, LinesAreNotWithoutLimit) {
  for (int i = 0; i < TraceText::kNamed; ++i) Add(Of(Kind::kSubmitted, i, std::to_string(i)));
  const auto life = [&](const std::string& name) {
    const std::string submitted = Add(Of(Kind::kSubmitted, 1, name));
    Add(Step(Kind::kDecided, 2, {{name}}));
    Add(Step(Kind::kStarted, 3, {{name}}));
    Add(Step(Kind::kDone, 4, {{name}}));
    return submitted;
  };
  EXPECT_NE(life("x0").find(R"("tid":1001,"name":"thread_name","args":{"name":"more tensors"})"),
            std::string::npos);
  for (int i = 1; i < 100; ++i) {
    const std::string text = life("x" + std::to_string(i));
    EXPECT_EQ(text.find("thread_name"), std::string::npos) << text;
    EXPECT_NE(text.find("\"tid\":1001,"), std::string::npos) << text;
  }
  Add(Of(Kind::kSubmitted, 1, "y"));
  EXPECT_NE(Add(Of(Kind::kSubmitted, 1, "z")).find("\"tid\":1002,"), std::string::npos)
      << "two at the same time";
}

TEST_F(TraceTextTest, WhatComesFirst) {
  const std::string text = trace_.Begin("a \"host\"", At(2000));
  EXPECT_EQ(text.substr(0, 2), "[\n");
  EXPECT_NE(text.find(R"("name":"process_name","args":{"name":"rank 3 on a \"host\""}})"),
            std::string::npos);
  EXPECT_NE(text.find(R"("unix_microseconds_at_0":4999.000,"clock":"rank 0's",)"
                      R"("offset_microseconds":1.000,"error_microseconds":0.020)"),
            std::string::npos)
      << text;
  const TraceText alone(1, {.error = -1});
  EXPECT_NE(alone.Begin("h", At(0)).find("rank 0 has not said its time"), std::string::npos);
}

TEST_F(TraceTextTest, Cycles) {
  EXPECT_EQ(Add(Of(Kind::kCycle, 1000, "")),
            R"({"ph":"i","pid":3,"tid":0,"ts":2.000,"s":"t","name":"CYCLE_START","args":{}},)"
            "\n");
}

TEST(JsonTextTest, AnyBytes) {
  EXPECT_EQ(JsonText("a\"b\\c\n\x01\x7f"), "\"a\\\"b\\\\c\\u000a\\u0001\x7f\"");
  EXPECT_EQ(JsonText("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"),
            "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\"");
  // A beginning without its end, an overlong form, a surrogate, more than Unicode has.
  EXPECT_EQ(JsonText("\xC3"), "\"\\ufffd\"");
  EXPECT_EQ(JsonText("\xC0\x80"), "\"\\ufffd\\ufffd\"");
  EXPECT_EQ(JsonText("\xED\xA0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");
  EXPECT_EQ(JsonText("\xF4\x90\x80\x80x"), "\"\\ufffd\\ufffd\\ufffd\\ufffdx\"");
  EXPECT_EQ(JsonText("\xE2\x82!"), "\"\\ufffd\\ufffd!\"");
}

}  // namespace
}  // namespace tony::collective
