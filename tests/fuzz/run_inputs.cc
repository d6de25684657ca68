// A child process tries inputs until one of them ends it; another child goes on behind that one.
#include "tests/fuzz/run_inputs.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <exception>

namespace tony::fuzz {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// Memory of both processes: where the child is, and what it has found.
struct Progress {
  std::atomic<size_t> at = 0;
  char what[512] = "";
};

void SetLimit(int resource, rlim_t value) {
  const rlimit limit{value, value};
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

/// Never returns. Anything but exit code 0 is a finding of the input at `progress.at`.
[[noreturn]] void RunAsChild(RunTarget run, const std::vector<NamedInput>& inputs,
                             const RunLimits& limits, Progress& progress) {
  SetLimit(RLIMIT_CORE, 0);
  if (!kSanitized) SetLimit(RLIMIT_DATA, limits.memory_bytes);
  for (; progress.at < inputs.size(); ++progress.at) {
    const itimerval timer{{0, 0}, {limits.input.count(), 0}};
    setitimer(ITIMER_PROF, &timer, nullptr);
    try {
      run(inputs[progress.at].bytes);
    } catch (const std::exception& error) {
      std::snprintf(progress.what, sizeof(progress.what), "%s", error.what());
      _exit(1);
    }
  }
  _exit(0);
}

std::string Describe(int status, const Progress& progress) {
  if (progress.what[0] != '\0') return progress.what;
  if (!WIFSIGNALED(status)) return "the process ended, exit code " + std::to_string(status >> 8);
  if (WTERMSIG(status) == SIGPROF) return "it takes too long";
  return "signal " + std::to_string(WTERMSIG(status)) + ": " + strsignal(WTERMSIG(status));
}

}  // namespace

std::vector<Finding> RunInputs(RunTarget run, const std::vector<NamedInput>& inputs,
                               const RunLimits& limits) {
  void* const shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return {{{"none", ""}, "no memory to share with a child"}};
  auto& progress = *new (shared) Progress;
  std::vector<Finding> findings;
  while (progress.at < inputs.size() && findings.size() < limits.findings) {
    progress.what[0] = '\0';
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) RunAsChild(run, inputs, limits, progress);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
      findings.push_back({{"none", ""}, "no child process can be made"});
      break;
    }
    if (status == 0) break;
    findings.push_back({inputs[progress.at], Describe(status, progress)});
    ++progress.at;
  }
  munmap(shared, sizeof(Progress));
  return findings;
}

}  // namespace tony::fuzz
