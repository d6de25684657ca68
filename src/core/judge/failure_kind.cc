// A match of known phrases in the program's last lines; a Python traceback outweighs other lines.
#include "core/judge/failure_kind.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "core/judge/python_traceback.h"

namespace tony::core {
namespace {

/// Phrases of libraries for exhausted memory, in lower case.
constexpr const char* kOutOfMemory[] = {
    "out of memory",          "outofmemoryerror", "memoryerror",           "std::bad_alloc",
    "cannot allocate memory", "oom-kill",         "used more memory than",
};

/// Phrases of libraries for a lost peer, in lower case.
constexpr const char* kBrokenConnection[] = {
    // errno's texts and Python's exceptions
    "connection reset",
    "connectionreseterror",
    "broken pipe",
    "brokenpipeerror",
    "connection refused",
    "connectionrefusederror",
    "connection aborted",
    "connectionabortederror",
    // gloo, NCCL and PyTorch
    "connection closed",
    "peer closed",
    "closed by peer",
    "closed by remote",
    "socket closed",
    "remote process exited",
    "ncclremoteerror",
    "pair closure",
    "watchdog caught collective",
    "rendezvousclosederror",
    "rendezvousconnectionerror",
    // gRPC and TensorFlow
    "unavailableerror",
    "unavailable:",
    "statuscode.unavailable",
    "abortederror",
    "aborted:",
    "failed to connect to all addresses",
    "end of file reached",
    // Horovod
    "horovodinternalerror",
    "horovod has been shut down",
    "request failed too many times",  // to the rendezvous server; the next one follows it
    "what():  http request failed",
};

/// The most lines that an exception's message may span.
constexpr size_t kMessageLines = 8;

template <size_t kCount>
bool Mentions(const std::string& line, const char* const (&signs)[kCount]) {
  const std::string lower = absl::AsciiStrToLower(line);
  return std::any_of(std::begin(signs), std::end(signs),
                     [&lower](const char* sign) { return absl::StrContains(lower, sign); });
}

template <size_t kCount>
bool AnyMentions(const std::vector<std::string>& lines, const char* const (&signs)[kCount]) {
  return std::any_of(lines.begin(), lines.end(),
                     [&signs](const std::string& line) { return Mentions(line, signs); });
}

/// The signal that ended the program, also when a shell turned it into an exit code; 0: none.
int SignalOf(const TaskExit& exit) {
  if (exit.cause == TaskExit::Cause::kSignaled) return exit.signal;
  const bool shell = exit.cause == TaskExit::Cause::kExited && exit.code > 128 && exit.code <= 192;
  return shell ? exit.code - 128 : 0;
}

/// True when an exception's message may span several lines. Errors of libraries (printed with their
/// module) and RuntimeError (which carries C++ errors) quote other libraries there. After the
/// program's own exception a further line belongs to something else.
bool GoesOn(const std::string& exception) {
  const std::string name = exception.substr(0, exception.find(": "));
  return absl::StrContains(name, ".") || absl::EndsWith(name, "RuntimeError");
}

bool NamesBrokenConnection(const PythonTraceback& traceback,
                           const std::vector<std::string>& lines) {
  for (size_t exception : traceback.exceptions) {
    const size_t count = GoesOn(lines[exception]) ? kMessageLines : 1;
    for (size_t i = exception; i < std::min(exception + count, lines.size()); ++i) {
      if (Mentions(lines[i], kBrokenConnection)) return true;
    }
  }
  return false;
}

}  // namespace

FailureKind KindOf(const TaskExit& exit) {
  // The order of these checks is the order of the rules in the header.
  if (exit.cause == TaskExit::Cause::kStopped) return FailureKind::kStopped;
  if (exit.cause == TaskExit::Cause::kLost) return FailureKind::kLost;
  const bool memory = exit.cause == TaskExit::Cause::kOutOfMemory ||
                      Mentions(exit.message, kOutOfMemory) || AnyMentions(exit.tail, kOutOfMemory);
  if (exit.cause == TaskExit::Cause::kNotStarted || memory) return FailureKind::kOwnFault;

  const int signal = SignalOf(exit);
  const bool may_follow =
      signal == 0 || signal == SIGABRT || signal == SIGPIPE || signal == SIGTERM;
  const std::optional<PythonTraceback> traceback = LastPythonTraceback(exit.tail);
  const bool broken = traceback ? NamesBrokenConnection(*traceback, exit.tail)
                                : AnyMentions(exit.tail, kBrokenConnection);
  if (may_follow && broken) return FailureKind::kVictim;
  if (signal != 0 || traceback) return FailureKind::kOwnFault;
  return FailureKind::kUnexplained;
}

}  // namespace tony::core
