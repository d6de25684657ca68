// Maps each of YARN's exit statuses to a ContainerExit, with the diagnostics' most useful line.
#include "backend/yarn/container_exit.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/tasks/task_exit.h"

namespace tony::backend {
namespace {

// Names and numbers of Hadoop's class ContainerExitStatus.
enum : int {
  kInvalid = -1000,
  kAborted = -100,
  kDisksFailed = -101,
  kPreempted = -102,
  kKilledExceededVmem = -103,
  kKilledExceededPmem = -104,
  kKilledByAppMaster = -105,
  kKilledByResourceManager = -106,
  kKilledAfterAppCompletion = -107,
  kKilledByContainerScheduler = -108,
  kKilledForExcessLogs = -109,
};

// The offset that a shell adds to the number of the signal that ended its command.
constexpr int kSignalBase = 128;
constexpr int kLastSignal = 64;

// Texts in Hadoop's diagnostics that distinguish the cases behind its one number for "aborted".
constexpr char kLostNode[] = "on a *lost* node";
constexpr char kReleased[] = "released by application";
constexpr char kCompletedApplication[] = "of a completed application";
constexpr char kNeverUsed[] = "expired since it was unused";
constexpr char kNotReserved[] = "reservation no longer required";

// The line without the date in brackets that a NodeManager puts in front.
std::string WithoutDate(const std::string& line) {
  const size_t end = line.find(']');
  return line.empty() || line[0] != '[' || end == std::string::npos ? line : line.substr(end + 1);
}

// Whether the line is part of a stack trace. Diagnostics are cut at their beginning, so it may be
// the tail of such a line only.
bool IsPlace(const std::string& line) {
  return absl::StartsWith(line, "at ") || absl::StartsWith(line, "...") ||
         absl::EndsWith(line, "(Native Method)") ||
         (absl::EndsWith(line, ")") && absl::StrContains(line, ".java:"));
}

// Whether the line is only the name of an exception.
bool IsNameOnly(const std::string& line) {
  return !absl::StrContains(line, " ") && absl::EndsWith(line, "Exception");
}

bool IsNoise(const std::string& line) {
  return line.empty() || line == "N/A" || IsPlace(line) ||
         absl::StartsWith(line, "For more detailed output");
}

// The first informative line, at most kLongest bytes. If only exceptions' names precede a "Caused
// by", the last cause is returned.
std::string FirstUsefulLine(const std::string& diagnostics) {
  constexpr size_t kLongest = 300;
  constexpr char kCause[] = "Caused by: ";
  std::string cause;
  std::string name;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(diagnostics, '\n'))) {
    const std::string text(absl::StripAsciiWhitespace(WithoutDate(line)));
    if (absl::StartsWith(text, kCause)) {
      cause = text.substr(sizeof(kCause) - 1, kLongest);
    } else if (IsNameOnly(text)) {
      name = text.substr(0, kLongest);
    } else if (cause.empty() && !IsNoise(text)) {
      return text.substr(0, kLongest);
    }
  }
  return cause.empty() ? name : cause;
}

std::string Because(const std::string& diagnostics) {
  const std::string line = FirstUsefulLine(diagnostics);
  return line.empty() ? line : absl::StrCat(": ", line);
}

// The amounts in front of `behind`: "2.1 GB of 2 GB" in "… 2.1 GB of 2 GB physical memory used …".
// They begin after the nearest mark ("usage: " or "; ").
std::string Amounts(const std::string& text, const std::string& behind) {
  const size_t end = text.find(behind);
  if (end == std::string::npos) return "";
  const size_t usage = text.rfind("usage: ", end);
  const size_t other = text.rfind("; ", end);
  size_t begin = std::string::npos;
  if (other != std::string::npos) {
    begin = other + 2;
  } else if (usage != std::string::npos) {
    begin = usage + 7;
  }
  return begin == std::string::npos ? "" : text.substr(begin, end - begin);
}

std::string OutOfMemory(const std::string& diagnostics, const std::string& kind,
                        const std::string& advice) {
  const std::string amounts = Amounts(diagnostics, absl::StrCat(" ", kind, " memory used"));
  return absl::StrCat("its processes used more ", kind, " memory than YARN allows",
                      amounts.empty() ? "" : ": ", amounts, "; ", advice);
}

ContainerExit Lost(std::string sentence) {
  return {.end = {.lost = true, .sentence = std::move(sentence)}};
}

ContainerExit LaunchFailed(std::string sentence) {
  return {.end = {.lost = true, .sentence = std::move(sentence)}, .launch_failed = true};
}

ContainerExit Aborted(const std::string& diagnostics) {
  const auto says = [&](const char* words) { return absl::StrContains(diagnostics, words); };
  if (says(kNeverUsed) || says(kNotReserved)) {
    return Lost("YARN took it back, since nothing was started in it in time");
  }
  std::string sentence = absl::StrCat("YARN gave it up", Because(diagnostics));
  if (says(kLostNode)) {
    sentence = "its node was lost";
  } else if (says(kReleased)) {
    sentence = "it was given back to YARN, and nobody saw its processes end";
  } else if (says(kCompletedApplication)) {
    sentence = "YARN took it back with an ApplicationMaster that was lost";
  }
  ContainerExit exit = Lost(std::move(sentence));
  exit.end.seen = false;
  return exit;
}

ContainerExit OwnExit(int status) {
  core::TaskExit exit{.code = status};
  if (status > kSignalBase && status <= kSignalBase + kLastSignal) {
    exit = {.cause = core::TaskExit::Cause::kSignaled, .signal = status - kSignalBase};
  }
  return {.end = {.lost = exit.signal != 0,
                  .sentence = absl::StrCat("tony-executor ", exit.Describe())}};
}

}  // namespace

ContainerExit ReadContainerExit(const ::hadoop::yarn::ContainerStatusProto& status) {
  const std::string& diagnostics = status.diagnostics();
  if (status.exit_status() >= 0) return OwnExit(status.exit_status());
  switch (status.exit_status()) {
    case kInvalid: {
      ContainerExit exit = LaunchFailed(
          absl::StrCat("its node could not prepare what it needs", Because(diagnostics)));
      exit.fetch_failed = true;
      return exit;
    }
    case kAborted:
      return Aborted(diagnostics);
    case kDisksFailed:
      return LaunchFailed(absl::StrCat("too many disks of its node are bad", Because(diagnostics)));
    case kPreempted:
      return Lost("YARN took it back for an application with a better right to it (preemption)");
    case kKilledExceededVmem:
      return Lost(OutOfMemory(diagnostics, "virtual",
                              "ask for more memory, or have the cluster's administrator set "
                              "yarn.nodemanager.vmem-check-enabled to false"));
    case kKilledExceededPmem:
      return Lost(OutOfMemory(diagnostics, "physical", "ask for more memory"));
    case kKilledByAppMaster:
      return Lost("tony-am had it stopped");
    case kKilledByResourceManager:
      return Lost(absl::StrCat("the ResourceManager had it stopped", Because(diagnostics)));
    case kKilledAfterAppCompletion:
      return Lost("YARN stopped it, since its application has ended");
    case kKilledByContainerScheduler:
      return Lost("its node stopped it to make room for another container");
    case kKilledForExcessLogs:
      return Lost(
          absl::StrCat("its node stopped it for the size of its logs", Because(diagnostics)));
    default:
      return Lost(
          absl::StrCat("YARN ended it with status ", status.exit_status(), Because(diagnostics)));
  }
}

}  // namespace tony::backend
