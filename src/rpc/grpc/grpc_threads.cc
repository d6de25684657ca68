// Probes gRPC with two operations that complete without a network: a call on a channel without
// credentials, which always fails, and a timer.
#include "rpc/grpc/grpc_threads.h"

#include <atomic>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "grpc/grpc.h"
#include "grpcpp/alarm.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "rpc/grpc/pending_call.h"
#include "tony/v1/application_master.grpc.pb.h"

namespace tony::rpc {
namespace {

/// How long gRPC may take to call back, also on a very busy machine.
constexpr std::chrono::seconds kPatience{10};
/// How long the destructor waits for gRPC to let go of the probe.
constexpr std::chrono::milliseconds kLetGoPatience{100};
/// With a shorter time gRPC would fire the alarm without its timer thread.
constexpr std::chrono::milliseconds kTimer{1};

absl::Status NoThread(const std::string& what) {
  return absl::ResourceExhaustedError(absl::StrCat(
      what,
      "; raise the limit on the user's processes and threads (ulimit -u), or on those of the "
      "control group (pids.max)"));
}

absl::Status TryThread() {
  try {
    std::thread([] {}).join();
  } catch (const std::system_error& error) {
    return NoThread(absl::StrCat("cannot start a thread: ", error.code().message()));
  }
  return absl::OkStatus();
}

}  // namespace

void KeepGrpcUp() { [[maybe_unused]] static const bool kept = (grpc_init(), true); }

/// A call, which is answered by a thread for calls, and a timer, which is answered by two other
/// threads. Thread safe.
class GrpcThreads::Probe {
 public:
  Probe()
      : channel_(grpc::CreateChannel("no address", nullptr)),
        stub_(v1::JobService::NewStub(channel_)) {
    stub_->async()->Stop(&context_, &request_, &response_,
                         [this](const grpc::Status&) { OnAnswer(); });
    timer_.Set(std::chrono::system_clock::now() + kTimer, [this](bool) { OnAnswer(); });
  }

  bool answered() const { return awaited_ == 0; }
  /// False: gRPC may still use this object.
  bool AwaitAnswers() { return call_.AwaitDone(kLetGoPatience); }

 private:
  void OnAnswer() {
    if (--awaited_ == 0) call_.SetDone();
  }

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::JobService::Stub> stub_;
  grpc::ClientContext context_;
  v1::StopRequest request_;
  v1::StopResponse response_;
  std::atomic<int> awaited_ = 2;
  PendingCall call_;
  grpc::Alarm timer_;
};

absl::StatusOr<std::unique_ptr<GrpcThreads>> GrpcThreads::Start() {
  TONY_RETURN_IF_ERROR(TryThread());
  KeepGrpcUp();
  auto threads = std::unique_ptr<GrpcThreads>(new GrpcThreads(std::make_unique<Probe>()));
  // gRPC does not report a thread that it could not start. If threads have run out, this process
  // cannot start one either.
  const absl::Status status = TryThread();
  if (status.ok()) return threads;
  (void)threads->probe_.release();  // leaked on purpose, see AwaitAnswers()
  return status;
}

GrpcThreads::GrpcThreads(std::unique_ptr<Probe> probe) : probe_(std::move(probe)) {}

GrpcThreads::~GrpcThreads() {
  if (probe_ != nullptr && !probe_->AwaitAnswers()) (void)probe_.release();
}

std::unique_ptr<EventLoop::Handle> GrpcThreads::Watch(
    EventLoop& loop, std::function<void(const absl::Status& why)> on_silence) const {
  return loop.After(kPatience, [this, on_silence = std::move(on_silence)] {
    if (!probe_->answered()) on_silence(NoThread("gRPC has no thread to call back on"));
  });
}

}  // namespace tony::rpc
