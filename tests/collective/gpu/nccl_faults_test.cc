// Tests that failures end with a message, in time, and with NCCL aborted.
#include <gmock/gmock.h>

#include "tests/collective/gpu/gpu_rig.h"

namespace tony::collective {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr auto kShort = milliseconds(50);

class NcclFaultsTest : public GpuTest {
 protected:
  static Status Sum(NcclGroup& group, Deadline deadline) {
    static thread_local float value;
    value = 1;
    return group.AllReduce(&value, &value, 1, DataType::kFloat32, ReduceOp::kSum, deadline);
  }
  /// A group that has failed stays so, and says the same.
  static void ExpectFailed(NcclGroup& group, const Status& first) {
    for (const Status& again : {Sum(group, After(kPatience)), group.Barrier(After(kPatience)),
                                group.Connect(After(kPatience))}) {
      EXPECT_EQ(again.code(), first.code());
      EXPECT_EQ(again.message(), first.message());
    }
  }
};

TEST_F(NcclFaultsTest, ARankThatDoesNotComeToTheMeeting) {
  fake().init_hangs_at = 1;
  OnRanks(3, [&](NcclGroup& group) {
    const Status late = group.Connect(After(kShort));
    EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
    EXPECT_THAT(late.message(), HasSubstr("the meeting of 3 ranks on GPUs was not done after "));
    EXPECT_THAT(late.message(), HasSubstr("of the ranks 10, 11, 12 one has not come to it"));
    ExpectFailed(group, late);
  });
  EXPECT_EQ(fake().aborted, 3);
  EXPECT_EQ(fake().destroyed, 0);
}

TEST_F(NcclFaultsTest, NcclRefusesToMeet) {
  fake().init_fails_at = 0;
  OnRanks(1, [&](NcclGroup& group) {
    const Status refused = group.Connect(After(kPatience));
    EXPECT_EQ(refused.code(), Code::kAborted);
    EXPECT_EQ(refused.message(), "NCCL cannot do the meeting of 1 ranks: error of the double");
    ExpectFailed(group, refused);
  });
}

TEST_F(NcclFaultsTest, APlaceThatCannotBe) {
  const std::string id = NewId();
  for (const auto& [place, bytes] : {std::pair{-1, 128}, {2, 128}, {0, 127}, {0, 0}}) {
    auto group = NcclGroup::Create(
        Nccl(), OpenDevice(0), Place(place, 2, id.substr(0, static_cast<size_t>(bytes))), kSmall);
    ASSERT_TRUE(group.ok());
    EXPECT_EQ((*group)->Connect(After(kPatience)).code(), Code::kInvalidArgument);
  }
}

TEST_F(NcclFaultsTest, OperationsBeforeTheMeetingAreRefused) {
  const auto group = NewGroup(0, 2, NewId());
  EXPECT_EQ(Sum(*group, After(kPatience)).code(), Code::kFailedPrecondition);
}

TEST_F(NcclFaultsTest, ARankThatDoesNotCall) {
  std::promise<void> ended;
  const auto others_ended = ended.get_future().share();
  OnConnectedRanks(2, [&](NcclGroup& group) {
    if (group.rank() == 1) {
      others_ended.wait();
      group.Fail(0);
      return;
    }
    const Status late = Sum(group, After(kShort));
    EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
    EXPECT_THAT(late.message(),
                HasSubstr("the allreduce of 1 float32 on GPUs was not done after "));
    ExpectFailed(group, late);
    ended.set_value();
  });
  EXPECT_EQ(fake().aborted, 2);
  EXPECT_EQ(fake().operations, 0);
}

TEST_F(NcclFaultsTest, ACallThatStaysInProgress) {
  fake().call_hangs_at = 0;
  OnConnectedRanks(2, [&](NcclGroup& group) {
    const Status late = Sum(group, After(kShort));
    EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
  });
  EXPECT_EQ(fake().aborted, 2);
}

TEST_F(NcclFaultsTest, ACallThatFails) {
  fake().call_fails_at = 0;
  OnConnectedRanks(1, [&](NcclGroup& group) {
    const Status failed = Sum(group, After(kPatience));
    EXPECT_EQ(failed.code(), Code::kAborted);
    EXPECT_EQ(failed.message(), "NCCL cannot do the allreduce of 1 float32: error of the double");
    ExpectFailed(group, failed);
  });
  EXPECT_EQ(fake().aborted, 1);
}

/// One rank's network breaks; the other ones would wait for ever, and are told by the connections.
TEST_F(NcclFaultsTest, AnAsynchronousError) {
  fake().async_fails_at = 1;
  std::promise<void> failed;
  const auto one_failed = failed.get_future().share();
  OnConnectedRanks(2, [&](NcclGroup& group) {
    if (group.rank() == 1) {
      const Status broken = Sum(group, After(kPatience));
      EXPECT_EQ(broken.code(), Code::kAborted);
      EXPECT_THAT(
          broken.message(),
          HasSubstr("NCCL has given up the allreduce of 1 float32: remote process exited or "
                    "there was a network error (socket closed)"));
      EXPECT_THAT(broken.message(), HasSubstr("NCCL_DEBUG=INFO"));
      ExpectFailed(group, broken);
      failed.set_value();
      return;
    }
    std::thread links([&] {
      one_failed.wait();
      group.Fail(1);
    });
    const Status ended = Sum(group, After(kPatience));
    links.join();
    EXPECT_EQ(ended.code(), Code::kAborted);
    EXPECT_EQ(ended.message(),
              "rank 11 has ended; the allreduce of 1 float32 on GPUs was given up");
    ExpectFailed(group, ended);
  });
  EXPECT_EQ(fake().aborted, 2);
  EXPECT_EQ(fake().destroyed, 0);
}

TEST_F(NcclFaultsTest, ARankThatEndsDuringTheMeeting) {
  const auto group = NewGroup(0, 2, NewId());
  std::thread links([&] { group->Fail(1); });
  const Status ended = group->Connect(After(kPatience));
  links.join();
  EXPECT_EQ(ended.code(), Code::kAborted);
  EXPECT_EQ(ended.message(), "rank 11 has ended; the meeting of 2 ranks on GPUs was given up");
}

TEST_F(NcclFaultsTest, AfterARankHasEndedNothingBegins) {
  OnConnectedRanks(2, [&](NcclGroup& group) {
    group.Fail(1 - group.rank());
    group.Fail(7);  // nobody
    const Status ended = Sum(group, After(kPatience));
    EXPECT_EQ(ended.code(), Code::kAborted);
    ExpectFailed(group, ended);
  });
  EXPECT_EQ(fake().operations, 0);
}

TEST_F(NcclFaultsTest, AGpuThatFails) {
  OnConnectedRanks(1, [&](NcclGroup& group) {
    fake().query_result = kCudaIllegalAddress;
    const Status failed = Sum(group, After(kPatience));
    EXPECT_EQ(failed.code(), Code::kInternal);
    EXPECT_THAT(failed.message(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
    ExpectFailed(group, failed);
  });
  EXPECT_EQ(fake().aborted, 1);
}

TEST_F(NcclFaultsTest, AGpuWithoutMemory) {
  fake().memory = 0;
  auto group = NcclGroup::Create(Nccl(), OpenDevice(0), Place(0, 1, NewId()), kSmall);
  ASSERT_FALSE(group.ok());
  EXPECT_EQ(group.status().code(), Code::kResourceExhausted);
}

TEST_F(NcclFaultsTest, AfterLeavingNothingBegins) {
  OnConnectedRanks(2, [&](NcclGroup& group) {
    EXPECT_TRUE(Sum(group, After(kPatience)).ok());
    group.Leave();
    EXPECT_EQ(Sum(group, After(kPatience)).code(), Code::kFailedPrecondition);
  });
  EXPECT_EQ(fake().destroyed, 2);
}

/// In order: all end what they have begun.
TEST_F(NcclFaultsTest, PartingWaitsForAllAndNotForEver) {
  OnConnectedRanks(3, [&](NcclGroup& group) { EXPECT_TRUE(Sum(group, After(kPatience)).ok()); });
  EXPECT_EQ(fake().destroyed, 3);
  EXPECT_EQ(fake().aborted, 0);
  fake().finalize_hangs_at = 0;
  const std::string id = NewId();
  Communicator communicator(Nccl(), OpenDevice(0), Place(0, 1, id));
  ASSERT_TRUE(communicator.Connect(After(kPatience)).ok());
  communicator.Close(After(kShort));
  EXPECT_EQ(communicator.failure().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(fake().aborted, 1);
}

TEST_F(NcclFaultsTest, ManyRanksAreNotAllNamed) {
  fake().init_hangs_at = 0;
  Communicator communicator(Nccl(), OpenDevice(0), Place(0, 100, NewId()));
  const Status late = communicator.Connect(After(kShort));
  EXPECT_THAT(late.message(),
              HasSubstr("10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, "
                        "25 and 84 more one has not come"));
}

}  // namespace
}  // namespace tony::collective
