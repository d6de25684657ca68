// The writes, the end and the lifetime of a service's stream, on a reactor without gRPC.
#include "rpc/grpc/stream_reactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tony::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kMostQueued = 3;

// What a stream has asked of gRPC, and what its hooks were told.
struct Record {
  std::vector<std::string> started;
  std::vector<grpc::StatusCode> finished;
  std::vector<std::string> written;
  std::vector<std::string> failed;
  bool done = false;
  bool deleted = false;
};

// Takes the place of a reactor of gRPC's; the test plays gRPC, which calls back.
class FakeReactor {
 public:
  virtual ~FakeReactor() { record_->deleted = true; }
  virtual void OnWriteDone(bool ok) = 0;
  virtual void OnDone() = 0;

  void StartWrite(const std::string* message) { record_->started.push_back(*message); }
  void Finish(const grpc::Status& status) { record_->finished.push_back(status.error_code()); }

 protected:
  Record* record_ = nullptr;
};

template <typename Entry>
class Stream : public ServerStream<FakeReactor, Entry> {
 public:
  Stream(std::mutex& mutex, Record& record)
      : ServerStream<FakeReactor, Entry>(mutex, kMostQueued), mutex_(mutex) {
    this->record_ = &record;
  }

  absl::Status Write(Entry entry) {
    std::lock_guard lock(mutex_);
    return this->WriteLocked(std::move(entry));
  }
  bool End(grpc::StatusCode code) {
    std::lock_guard lock(mutex_);
    return this->FinishLocked(grpc::Status(code, ""));
  }

 private:
  static const std::string& Text(const std::string& entry) { return entry; }
  static const std::string& Text(const std::shared_ptr<const std::string>& entry) { return *entry; }

  void OnWritten(bool ok, const Entry& written, std::unique_lock<std::mutex>& lock) override {
    EXPECT_TRUE(lock.owns_lock());
    (ok ? this->record_->written : this->record_->failed).push_back(Text(written));
  }
  void OnDoneLocked() override {
    EXPECT_FALSE(mutex_.try_lock());
    this->record_->done = true;
  }

  std::mutex& mutex_;
};

class ServerStreamTest : public testing::Test {
 protected:
  // gRPC's last call.
  ~ServerStreamTest() override {
    if (!record_.deleted) stream_->OnDone();
  }

  std::mutex mutex_;
  Record record_;
  Stream<std::string>* const stream_ = new Stream<std::string>(mutex_, record_);
};

TEST_F(ServerStreamTest, OneMessageAtATimeInTheirOrder) {
  for (const char* message : {"a", "b", "c"}) ASSERT_TRUE(stream_->Write(message).ok());
  EXPECT_THAT(record_.started, ElementsAre("a"));
  stream_->OnWriteDone(true);
  EXPECT_THAT(record_.started, ElementsAre("a", "b"));
  stream_->OnWriteDone(true);
  stream_->OnWriteDone(true);
  EXPECT_THAT(record_.started, ElementsAre("a", "b", "c"));
  EXPECT_THAT(record_.written, ElementsAre("a", "b", "c"));
  ASSERT_TRUE(stream_->Write("d").ok());
  EXPECT_THAT(record_.started, ElementsAre("a", "b", "c", "d"));
}

TEST_F(ServerStreamTest, AFullQueueTakesNoMoreUntilAMessageIsWritten) {
  for (size_t i = 0; i < kMostQueued; ++i) ASSERT_TRUE(stream_->Write("a").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(stream_->Write("b")));
  stream_->OnWriteDone(true);
  EXPECT_TRUE(stream_->Write("c").ok());
}

TEST_F(ServerStreamTest, TheEndWaitsForTheMessageThatGrpcHas) {
  ASSERT_TRUE(stream_->Write("a").ok());
  ASSERT_TRUE(stream_->Write("dropped").ok());
  EXPECT_TRUE(stream_->End(grpc::StatusCode::ABORTED));
  EXPECT_THAT(record_.finished, IsEmpty());
  EXPECT_TRUE(absl::IsFailedPrecondition(stream_->Write("late")));
  stream_->OnWriteDone(true);
  EXPECT_THAT(record_.finished, ElementsAre(grpc::StatusCode::ABORTED));
  EXPECT_THAT(record_.started, ElementsAre("a"));
  EXPECT_THAT(record_.written, IsEmpty());
}

TEST_F(ServerStreamTest, AnIdleStreamEndsAtOnceAndOnce) {
  EXPECT_TRUE(stream_->End(grpc::StatusCode::ABORTED));
  EXPECT_FALSE(stream_->End(grpc::StatusCode::OK));
  EXPECT_THAT(record_.finished, ElementsAre(grpc::StatusCode::ABORTED));
}

TEST_F(ServerStreamTest, AfterAFailedWriteNothingIsWritten) {
  ASSERT_TRUE(stream_->Write("a").ok());
  ASSERT_TRUE(stream_->Write("dropped").ok());
  stream_->OnWriteDone(false);
  EXPECT_THAT(record_.failed, ElementsAre("a"));
  EXPECT_TRUE(absl::IsFailedPrecondition(stream_->Write("late")));
  EXPECT_THAT(record_.started, ElementsAre("a"));
  // The call goes on until the derived class ends it.
  EXPECT_THAT(record_.finished, IsEmpty());
  EXPECT_TRUE(stream_->End(grpc::StatusCode::CANCELLED));
  EXPECT_THAT(record_.finished, ElementsAre(grpc::StatusCode::CANCELLED));
}

TEST_F(ServerStreamTest, DeletesItselfWhenGrpcIsDone) {
  EXPECT_TRUE(stream_->End(grpc::StatusCode::OK));
  EXPECT_FALSE(record_.deleted);
  stream_->OnDone();
  EXPECT_TRUE(record_.done);
  EXPECT_TRUE(record_.deleted);
  EXPECT_TRUE(mutex_.try_lock());
  mutex_.unlock();
}

TEST(ServerStream, ASharedMessageLivesUntilItIsWritten) {
  std::mutex mutex;
  Record record;
  auto* const stream = new Stream<std::shared_ptr<const std::string>>(mutex, record);
  auto message = std::make_shared<const std::string>("a");
  const std::weak_ptr<const std::string> watched = message;
  ASSERT_TRUE(stream->Write(std::move(message)).ok());
  EXPECT_FALSE(watched.expired());
  stream->OnWriteDone(true);
  EXPECT_TRUE(watched.expired());
  EXPECT_THAT(record.written, ElementsAre("a"));
  stream->OnDone();
}

}  // namespace
}  // namespace tony::rpc
