// The lease under a fake clock: what renews it, and how doubt begins and ends.
#include "executor/master/task_lease.h"

#include <gtest/gtest.h>

#include "common/fake_clock.h"

namespace tony::executor {
namespace {

using std::chrono::seconds;

class TaskLeaseTest : public testing::Test {
 protected:
  FakeClock clock_;
  TaskLease lease_{clock_};
};

TEST_F(TaskLeaseTest, WithoutALengthItNeverExpires) {
  lease_.SaidHello();
  EXPECT_FALSE(lease_.RenewFromHello());
  clock_.Advance(seconds(1'000'000));
  EXPECT_FALSE(lease_.expired());
}

TEST_F(TaskLeaseTest, CountsFromTheSendingAndNotFromTheAnswer) {
  lease_.set_length(seconds(10));
  const TimePoint sent = lease_.SentHeartbeat();
  EXPECT_TRUE(lease_.awaits_answer());
  clock_.Advance(seconds(6));
  EXPECT_TRUE(lease_.Renew(sent));
  EXPECT_FALSE(lease_.awaits_answer());
  EXPECT_EQ(lease_.end(), sent + seconds(10));
  clock_.Advance(seconds(4));
  EXPECT_TRUE(lease_.expired());
}

TEST_F(TaskLeaseTest, AnOldAnswerThatComesLateShortensNothing) {
  lease_.set_length(seconds(10));
  const TimePoint first = lease_.SentHeartbeat();
  clock_.Advance(seconds(1));
  const TimePoint second = lease_.SentHeartbeat();
  EXPECT_TRUE(lease_.Renew(second));
  EXPECT_FALSE(lease_.Renew(first));
  EXPECT_FALSE(lease_.Renew(second));
  EXPECT_EQ(lease_.end(), second + seconds(10));
}

TEST_F(TaskLeaseTest, DoubtEndsOnlyWithAConfirmation) {
  lease_.set_length(seconds(10));
  lease_.SaidHello();
  EXPECT_TRUE(lease_.RenewFromHello());
  clock_.Advance(seconds(10));
  EXPECT_TRUE(lease_.expired());
  EXPECT_FALSE(lease_.in_doubt());
  EXPECT_TRUE(lease_.BeginDoubt());
  EXPECT_FALSE(lease_.BeginDoubt());
  EXPECT_FALSE(lease_.ShouldAsk()) << "no sign of life has been answered in time yet";
  EXPECT_TRUE(lease_.Renew(lease_.SentHeartbeat()));
  EXPECT_TRUE(lease_.in_doubt()) << "the task may have been given away meanwhile";
  EXPECT_TRUE(lease_.ShouldAsk());
  EXPECT_FALSE(lease_.ShouldAsk()) << "it has asked already";
  EXPECT_TRUE(lease_.in_doubt());
  lease_.Confirm();
  EXPECT_FALSE(lease_.in_doubt());
}

}  // namespace
}  // namespace tony::executor
