// Tests what the output of real programs says about the cause of a failure.
#include "core/judge/failure_kind.h"

#include <gtest/gtest.h>

#include <csignal>
#include <ostream>

#include "absl/strings/str_split.h"

namespace tony::core {

void PrintTo(FailureKind kind, std::ostream* out) {
  constexpr const char* kNames[] = {"lost", "own fault", "unexplained", "victim", "stopped"};
  *out << kNames[static_cast<int>(kind)];
}

namespace {

using Cause = TaskExit::Cause;

TaskExit Exit(Cause cause, int number, const std::string& tail = "",
              const std::string& message = "") {
  TaskExit exit;
  exit.cause = cause;
  (cause == Cause::kSignaled ? exit.signal : exit.code) = number;
  exit.message = message;
  if (!tail.empty()) exit.tail = absl::StrSplit(tail, '\n');
  return exit;
}

FailureKind OfCode(int code, const std::string& tail) {
  return KindOf(Exit(Cause::kExited, code, tail));
}
FailureKind OfSignal(int signal, const std::string& tail) {
  return KindOf(Exit(Cause::kSignaled, signal, tail));
}

std::string Raised(const std::string& exception) {
  return "epoch 3\nTraceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n"
         "    main()\n" +
         exception;
}

constexpr char kReset[] = "recv failed: Connection reset by peer";

TEST(FailureKindTest, FollowsFromTheCauseWhereThatIsClear) {
  EXPECT_EQ(KindOf(Exit(Cause::kLost, 0, kReset)), FailureKind::kLost);
  EXPECT_EQ(KindOf(Exit(Cause::kStopped, 1, Raised("ValueError: x"))), FailureKind::kStopped);
  EXPECT_EQ(KindOf(Exit(Cause::kNotStarted, 0, "", "no space left")), FailureKind::kOwnFault);
  EXPECT_EQ(KindOf(Exit(Cause::kTimedOut, 0, "epoch 7")), FailureKind::kUnexplained);
  EXPECT_EQ(KindOf(Exit(Cause::kTimedOut, 0, kReset)), FailureKind::kVictim);
  EXPECT_EQ(KindOf(Exit(Cause::kExited, 3)), FailureKind::kUnexplained);
  EXPECT_EQ(OfCode(3, "epoch 1\nthe end"), FailureKind::kUnexplained);
}

TEST(FailureKindTest, BrokenConnectionsMakeVictims) {
  for (const char* const line : {
           kReset,
           "terminate called after throwing an instance of 'gloo::IoException'\n  what():  "
           "[../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
           "[127.0.0.1]:4242",
           "write: Broken pipe",
           "connect to 10.0.0.7:4000: Connection refused",
           "NCCL WARN NET/Socket : peer closed the connection",
           "[E ProcessGroupNCCL.cpp:475] Watchdog caught collective operation timeout: WorkNCCL",
           "UNAVAILABLE: Socket closed",
           "E0101 coordination_service_agent.cc:517] ABORTED: another task died",
           "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:4000",
           "Horovod has been shut down. This was caused by an exception on one of the ranks",
       }) {
    EXPECT_EQ(OfCode(1, std::string("epoch 1\n") + line + "\nbye"), FailureKind::kVictim) << line;
  }
}

// When the driver is gone, in hvd.init(): the log's line may be hidden by HOROVOD_LOG_LEVEL.
TEST(FailureKindTest, WhoHasLostTheRendezvousServerIsAVictim) {
  const std::string log =
      "[2026-07-01 10:00:00. 44421: E horovod/common/gloo/http_store.cc:96] HTTP GET request "
      "failed "
      "too many times, aborting. See exception message above.\n";
  const std::string what =
      "terminate called after throwing an instance of 'std::runtime_error'\n"
      "  what():  HTTP request failed.";
  for (const std::string& tail : {log, log + what, what}) {
    EXPECT_EQ(OfSignal(SIGABRT, tail), FailureKind::kVictim) << tail;
    EXPECT_EQ(OfCode(134, tail), FailureKind::kVictim) << tail;
  }
  EXPECT_EQ(OfCode(1, "my_client: HTTP request failed."), FailureKind::kUnexplained);
}

TEST(FailureKindTest, ExceptionsThatNameABrokenConnectionMakeVictims) {
  for (const char* const exception : {
           "ConnectionResetError: [Errno 104] Connection reset by peer",
           "BrokenPipeError: [Errno 32] Broken pipe",
           "torch.distributed.elastic.rendezvous.api.RendezvousClosedError",
           "RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [::1]:4",
           "tensorflow.python.framework.errors_impl.UnavailableError: {{function_node}} failed",
           "tensorflow.python.framework.errors_impl.AbortedError: collective ops aborted",
           "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970\n"
           "ncclRemoteError: A call failed possibly due to a network error\n"
           "Last error:\n"
           "socketProgress: Connection closed by remote peer host<4242>",
           "horovod.common.exceptions.HorovodInternalError: rank 1 is gone",
       }) {
    EXPECT_EQ(OfCode(1, Raised(exception)), FailureKind::kVictim) << exception;
  }
}

TEST(FailureKindTest, TheProgramsOwnExceptionIsItsFaultWhateverElseWasPrinted) {
  for (const char* const exception :
       {"ValueError: no such layer", "AssertionError", "my.package.DataError: row 7",
        "RuntimeError: shapes differ"}) {
    EXPECT_EQ(OfCode(1, Raised(exception)), FailureKind::kOwnFault) << exception;
  }
  EXPECT_EQ(OfCode(1, std::string(kReset) + ", trying again\n" + Raised("ValueError: no")),
            FailureKind::kOwnFault)
      << "a connection that broke before";
  EXPECT_EQ(OfCode(1, Raised("ValueError: no") + "\n" + kReset), FailureKind::kOwnFault)
      << "a connection that broke because of it";
  EXPECT_EQ(OfCode(1, Raised(kReset) + "\n" + Raised("ValueError: no")), FailureKind::kOwnFault);
}

TEST(FailureKindTest, AnExceptionWhileABrokenConnectionIsHandledIsAVictimsStill) {
  EXPECT_EQ(OfCode(1, Raised("ConnectionResetError: [Errno 104] Connection reset by peer") +
                          "\n\nDuring handling of the above exception, another exception "
                          "occurred:\n\n" +
                          Raised("KeyError: 'checkpoint'").substr(8)),
            FailureKind::kVictim);
}

TEST(FailureKindTest, OfSignalsOnlySomeFollowFromABrokenConnection) {
  for (int signal : {SIGABRT, SIGPIPE, SIGTERM}) {
    EXPECT_EQ(OfSignal(signal, kReset), FailureKind::kVictim) << signal;
    EXPECT_EQ(OfSignal(signal, "epoch 1"), FailureKind::kOwnFault) << signal;
    EXPECT_EQ(OfCode(128 + signal, kReset), FailureKind::kVictim) << signal;
    EXPECT_EQ(OfCode(128 + signal, "epoch 1"), FailureKind::kOwnFault) << signal;
  }
  for (int signal : {SIGKILL, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGINT}) {
    EXPECT_EQ(OfSignal(signal, kReset), FailureKind::kOwnFault) << signal;
    EXPECT_EQ(OfCode(128 + signal, kReset), FailureKind::kOwnFault) << signal;
  }
  EXPECT_EQ(OfCode(128, "epoch 1"), FailureKind::kUnexplained);
  EXPECT_EQ(OfCode(255, "epoch 1"), FailureKind::kUnexplained);
}

TEST(FailureKindTest, WhoHasNoMemoryIsNoVictim) {
  for (const char* const line :
       {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "MemoryError", "terminate called after throwing an instance of 'std::bad_alloc'",
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 123 bytes"}) {
    EXPECT_EQ(OfCode(1, std::string(line) + "\n" + kReset), FailureKind::kOwnFault) << line;
  }
  EXPECT_EQ(KindOf(Exit(Cause::kOutOfMemory, 0, kReset)), FailureKind::kOwnFault);
  EXPECT_EQ(KindOf(Exit(Cause::kSignaled, SIGTERM, kReset, "out of memory: the limit is 2 GiB")),
            FailureKind::kOwnFault);
}

}  // namespace
}  // namespace tony::core
