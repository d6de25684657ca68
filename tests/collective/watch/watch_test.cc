// How engines are seen at work: ranks as threads.
#include "collective/watch/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/collective/engine/engine_ranks.h"
#include "tests/common/eventually.h"

namespace tony::collective {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

/// A file of its own for each test.
class WatchTest : public ::testing::Test {
 protected:
  WatchTest()
      : path_(::testing::TempDir() + "tony_watch_" + std::to_string(getpid()) + "_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {}
  ~WatchTest() override {
    for (int rank = 0; rank < 3; ++rank) std::filesystem::remove(Path(rank));
  }
  std::string Path(int rank) const { return path_ + "." + std::to_string(rank); }
  std::string Text(int rank) const {
    std::ostringstream text;
    text << std::ifstream(Path(rank)).rdbuf();
    return text.str();
  }

 private:
  const std::string path_;
};

Status AllReduce(Engine& engine, const std::string& name, size_t count) {
  std::vector<float> vector(count, 1);
  Promise done;
  Status submitted =
      engine.AllReduce(Floats(name, count), vector.data(), vector.data(), done.Callback());
  return submitted.ok() ? done.Get() : submitted;
}

/// As often as `text` has it.
size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(WatchTest, WhatIsDoneIsCounted) {
  EnginesInThreads(2, [](Engine& engine, int rank) {
    for (int step = 0; step < 4; ++step) EXPECT_TRUE(AllReduce(engine, "w", 10).ok());
    EXPECT_EQ(AllReduce(engine, "disagree", rank == 0 ? 1 : 2).code(), Code::kInvalidArgument);
    MeetAgain(engine);
    const Counters counters = engine.watch().Count();
    EXPECT_EQ(counters.tensors[0], 4);
    EXPECT_EQ(counters.bytes[0], 160);
    EXPECT_EQ(counters.tensors[static_cast<size_t>(Operation::kBarrier)], 1);
    EXPECT_EQ(counters.bytes[static_cast<size_t>(Operation::kBarrier)], 0);
    EXPECT_EQ(counters.operations, 5);
    EXPECT_EQ(counters.failed, 1);
    EXPECT_EQ(counters.by_request, 4) << "two of 'w', which has its number then";
    EXPECT_EQ(counters.by_number, 2);
    EXPECT_GT(counters.operation.count(), 0);
    EXPECT_GT(counters.negotiation.count(), 0);
    EXPECT_EQ(counters.waited_for_ranks.size(), rank == 0 ? 2U : 0U);
    EXPECT_THAT(counters.Text(), HasSubstr("tensors 5\nbytes 160\noperations 5\n"));
  });
}

TEST_F(WatchTest, WhoIsLateIsWaitedFor) {
  std::promise<void> submitted;
  EnginesInThreads(2, [&](Engine& engine, int rank) {
    std::vector<float> vector(1);
    Promise done;
    if (rank == 1) {
      // When rank 0 has measured that it waits.
      submitted.get_future().wait();
    }
    ASSERT_TRUE(
        engine.AllReduce(Floats("w", 1), vector.data(), vector.data(), done.Callback()).ok());
    if (rank == 0) {
      ASSERT_TRUE(Eventually(
          [&] { return engine.watch().Count().waited_for_ranks[1] >= milliseconds(5); }));
      EXPECT_GE(engine.watch().Count().negotiation, milliseconds(5));
      submitted.set_value();
    }
    EXPECT_TRUE(done.Get().ok());
    MeetAgain(engine);
    if (rank == 0) {
      EXPECT_GE(engine.watch().Count().waited_for_ranks[1], milliseconds(5));
    }
  });
}

TEST_F(WatchTest, CountersInAFile) {
  EnginesInThreads(2, [this](Engine& engine, int rank) {
    ASSERT_TRUE(engine.watch().WriteCounters(Path(rank)).ok());
    EXPECT_THAT(Text(rank), HasSubstr("tensors 0\n"));
    EXPECT_TRUE(AllReduce(engine, "w", 5).ok());
    MeetAgain(engine);
    const Status refused = engine.watch().WriteCounters("/nowhere/file");
    EXPECT_EQ(refused.code(), Code::kInternal);
    EXPECT_THAT(refused.message(), HasSubstr("/nowhere/file"));
  });
  for (const int rank : {0, 1}) {
    EXPECT_THAT(Text(rank), HasSubstr("tensors 2\nbytes 20\n")) << "at the end all of it";
  }
}

TEST_F(WatchTest, NothingStaysBesideAFileThatCannotBeReplaced) {
  ASSERT_TRUE(std::filesystem::create_directory(Path(0)));
  const Status refused = Replace(Path(0), "tensors 0\n");
  EXPECT_EQ(refused.code(), Code::kInternal);
  EXPECT_THAT(refused.message(), HasSubstr(Path(0) + ": Is a directory"));
  EXPECT_FALSE(std::filesystem::exists(Path(0) + ".new"));
}

TEST_F(WatchTest, ATimelineOfEachRank) {
  EnginesInThreads(3, [this](Engine& engine, int rank) {
    EXPECT_EQ(engine.watch().StopTimeline().code(), Code::kFailedPrecondition);
    ASSERT_TRUE(engine.watch().StartTimeline(Path(rank), true).ok());
    EXPECT_EQ(engine.watch().StartTimeline(Path(rank), true).code(), Code::kFailedPrecondition);
    for (int step = 0; step < 10; ++step) EXPECT_TRUE(AllReduce(engine, "w", 5).ok());
    MeetAgain(engine);
    EXPECT_TRUE(engine.watch().StopTimeline().ok());
    EXPECT_TRUE(engine.watch().StartTimeline(Path(rank), false).ok()) << "anew";
    EXPECT_TRUE(engine.watch().StopTimeline().ok());
    EXPECT_THAT(Text(rank), Not(HasSubstr("ALLREDUCE")));
    EXPECT_TRUE(engine.watch().StartTimeline(Path(rank), true).ok());
    MeetAgain(engine);  // from here on all have one
    for (int step = 0; step < 3; ++step) EXPECT_TRUE(AllReduce(engine, "w", 5).ok());
  });
  for (int rank = 0; rank < 3; ++rank) {
    const std::string text = Text(rank);
    EXPECT_EQ(Count(text, "\"name\":\"NEGOTIATE_"), 4U) << text;
    EXPECT_EQ(Count(text, "\"name\":\"NEGOTIATE_ALLREDUCE\""), 3U) << text;
    EXPECT_EQ(Count(text, "\"name\":\"WAIT\""), 4U);
    EXPECT_EQ(Count(text, "\"name\":\"ALLREDUCE\""), 3U);
    EXPECT_EQ(Count(text, "\"ph\":\"E\""), 12U);
    EXPECT_EQ(Count(text, R"("name":"rank 2","args":{"tensor":"w"})"), rank == 0 ? 3U : 0U);
    EXPECT_EQ(Count(text, "CYCLE_START"), rank == 0 ? 4U : 0U);
    EXPECT_EQ(text.substr(text.size() - 4), "}\n]\n");
  }
}

TEST_F(WatchTest, AnAnswerToAnEarlierTimelinesQuestionIsNotCounted) {
  int questions = 0;
  Watch watch(1, 2,
              {.print = [](const std::string&) {},
               .fail = [](const Status&) {},
               .send = [&](int, const std::string&) { ++questions; },
               .post = [](const std::function<void()>& work) { work(); },
               .post_at = [](Deadline, const std::function<void()>&) {}});
  const std::string answer = "t" + std::string(sizeof(int64_t), '\0');
  ASSERT_TRUE(watch.StartTimeline(Path(0), false).ok());
  ASSERT_TRUE(watch.StopTimeline().ok());
  ASSERT_TRUE(watch.StartTimeline(Path(1), false).ok());
  EXPECT_EQ(questions, 1) << "of the first timeline; one at a time is on its way";
  for (int answers = 1; answers <= 9; ++answers) {
    EXPECT_EQ(questions, answers);
    EXPECT_TRUE(watch.OnMessage(0, answer));
  }
  EXPECT_EQ(questions, 9) << "eight answers are of the second timeline";
  EXPECT_TRUE(watch.StopTimeline().ok());
}

TEST_F(WatchTest, ATimelineThatCannotBeWritten) {
  EnginesInThreads(1, [](Engine& engine, int) {
    const Status refused = engine.watch().StartTimeline("/nowhere/trace.json", false);
    EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
    EXPECT_THAT(refused.message(), HasSubstr("/nowhere/trace.json: No such file"));
    if (access("/dev/full", W_OK) != 0) return;
    ASSERT_TRUE(engine.watch().StartTimeline("/dev/full", false).ok());
    EXPECT_TRUE(AllReduce(engine, "w", 5).ok()) << "goes on";
    EXPECT_THAT(engine.watch().StopTimeline().message(), HasSubstr("No space left"));
  });
}

TEST_F(WatchTest, WhereAMissingRankStands) {
  ::testing::internal::CaptureStderr();
  EnginesInThreads(3, [](Engine& engine, int rank) {
    if (rank == 0) engine.watch().SetPatience({.report = milliseconds(50)});
    if (rank == 1) {
      const int64_t question = engine.watch().questions()->Wait(After(kPatience));
      ASSERT_GT(question, 0);
      engine.watch().Answer(question + 1, "not asked");
      engine.watch().Answer(question, "train.py:40 in load_batch\nMainThread: train.py:40");
    }
    // After the answer on the same way.
    EXPECT_TRUE(AllReduce(engine, "w", 5).ok());
    MeetAgain(engine);
  });
  const std::string report = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(report, HasSubstr("tensor 'w': rank"));
  EXPECT_THAT(report, HasSubstr("which stands at train.py:40 in load_batch\n"));
  EXPECT_THAT(report, HasSubstr("  threads of rank 1:\n    MainThread: train.py:40\n"));
  EXPECT_THAT(report, Not(HasSubstr("not asked")));
}

TEST_F(WatchTest, RankZeroIsAskedAsTheOthers) {
  ::testing::internal::CaptureStderr();
  EnginesInThreads(2, [](Engine& engine, int rank) {
    if (rank == 0) {
      engine.watch().SetPatience({.report = milliseconds(50)});
      const int64_t question = engine.watch().questions()->Wait(After(kPatience));
      ASSERT_GT(question, 0);
      engine.watch().Answer(question, "eval.py:7 in evaluate");
    }
    EXPECT_TRUE(AllReduce(engine, "w", 5).ok());
    MeetAgain(engine);
  });
  const std::string report = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(report, HasSubstr("tensor 'w': rank 1 waits since 0."));
  EXPECT_THAT(report, HasSubstr(" s for rank 0, which stands at eval.py:7 in evaluate\n"));
}

TEST_F(WatchTest, RanksThatWaitForEachOtherEndAfterTheReport) {
  ::testing::internal::CaptureStderr();
  EnginesInThreads(2, [](Engine& engine, int rank) {
    std::vector<float> vector(5);
    Promise done;
    const std::string name = rank == 0 ? "a" : "b";
    ASSERT_TRUE(
        engine.AllReduce(Floats(name, 5), vector.data(), vector.data(), done.Callback()).ok());
    if (rank == 0) engine.watch().SetPatience({.report = milliseconds(50)});
    // The first report may be about one tensor only, when the other rank was late.
    for (bool over = false; !over;) {
      const int64_t question = engine.watch().questions()->Wait(After(milliseconds(10)));
      if (question > 0) {
        engine.watch().Answer(question,
                              "a.py:1 in <module>, and waits in tony.collective's allreduce()\n"
                              "MainThread: a.py:1 in <module>, tony.collective's allreduce()");
      }
      over = question == Questions::kClosed || engine.watch().Count().failed > 0;
    }
    const Status ended = done.Get();
    EXPECT_EQ(ended.code(), rank == 0 ? Code::kInvalidArgument : Code::kAborted);
    EXPECT_THAT(ended.message(), HasSubstr("ranks wait for each other in different operations"));
    EXPECT_THAT(ended.message(), HasSubstr("both at a.py:1"));
  });
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("tony.collective: tensors wait"));
}

TEST_F(WatchTest, AStallIsInTheFileUntilItEnds) {
  ::testing::internal::CaptureStderr();
  EnginesInThreads(2, [this](Engine& engine, int rank) {
    if (rank == 0) {
      ASSERT_TRUE(engine.watch().WriteCounters(Path(0)).ok());
      engine.watch().SetPatience({.report = milliseconds(50)});
    } else {
      ASSERT_TRUE(Eventually([this] {
        return Text(0).find("stalled rank 0 in w; rank 1 does not say where it is\n") !=
               std::string::npos;
      }));
    }
    EXPECT_TRUE(AllReduce(engine, "w", 5).ok());
    // Both ranks look, since a rank that goes on to the next operation alone stalls again.
    EXPECT_TRUE(Eventually([this] { return Text(0).find("stalled") == std::string::npos; }));
    MeetAgain(engine);
  });
  ::testing::internal::GetCapturedStderr();
}

TEST_F(WatchTest, NobodyWaitsForEver) {
  ::testing::internal::CaptureStderr();
  EnginesInThreads(2, [](Engine& engine, int rank) {
    if (rank == 0) engine.watch().SetPatience({.report = milliseconds(0), .end = milliseconds(50)});
    const Status ended = AllReduce(engine, rank == 0 ? "a" : "b", 5);
    EXPECT_EQ(ended.code(), rank == 0 ? Code::kDeadlineExceeded : Code::kAborted);
    EXPECT_THAT(ended.message(), HasSubstr("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"));
    EXPECT_THAT(ended.message(), HasSubstr("whose program does not say where it stands"));
    EXPECT_EQ(engine.watch().Count().failed, 1);
  });
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("tony.collective: tensors wait"));
}

TEST_F(WatchTest, QuestionsEndWithTheEngine) {
  std::shared_ptr<Questions> questions;
  EnginesInThreads(1, [&](Engine& engine, int) { questions = engine.watch().questions(); });
  EXPECT_EQ(questions->Wait(After(kPatience)), Questions::kClosed);
  EXPECT_FALSE(questions->Ask(1));
}

TEST(QuestionsTest, OneAfterTheOther) {
  Questions questions;
  EXPECT_FALSE(questions.Ask(1)) << "nobody has ever waited";
  EXPECT_EQ(questions.Wait(After(milliseconds(0))), Questions::kNone);
  EXPECT_TRUE(questions.Ask(2));
  EXPECT_TRUE(questions.Ask(3));
  EXPECT_EQ(questions.Wait(After(kPatience)), 3) << "the newest";
  EXPECT_EQ(questions.Wait(After(milliseconds(0))), Questions::kNone);
  questions.Ask(4);
  questions.Close();
  EXPECT_EQ(questions.Wait(After(kPatience)), Questions::kClosed);
}

TEST_F(WatchTest, EventsWithoutRoomAreCounted) {
  auto timeline = Timeline::Start({.path = Path(0), .clock_patience = kPatience});
  ASSERT_TRUE(timeline.ok());
  ::testing::internal::CaptureStderr();
  // Nothing is taken before the clock is known.
  for (size_t i = 0; i < Timeline::kMostEvents + 5; ++i) {
    (*timeline)->Add({.kind = TraceEvent::Kind::kCycle});
  }
  (*timeline)->SetClock(0, 0);
  EXPECT_TRUE((*timeline)->Finish().ok());
  EXPECT_TRUE((*timeline)->Finish().ok());
  (*timeline)->Add({.kind = TraceEvent::Kind::kCycle});
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("5 events are not in the"));
  EXPECT_THAT(Text(0), HasSubstr("\"EVENTS_DROPPED\",\"args\":{\"events\":5}"));
  EXPECT_EQ(Count(Text(0), "CYCLE_START"), Timeline::kMostEvents);
}

}  // namespace
}  // namespace tony::collective
