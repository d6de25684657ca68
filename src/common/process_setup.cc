// Process-wide settings: signals, the terminate handler, memory, and the limit on open files.
#include "common/process_setup.h"

#include <errno.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/safe_text.h"

namespace tony {
namespace {

// Larger blocks come from the system and go back to it at once. A frame of a tunnel is smaller.
constexpr int kMostHeapBlockBytes = 2 << 20;
// The most free memory that each heap keeps.
constexpr int kMostFreeBytes = 4 << 20;

std::string Advice(int error_number) {
  switch (error_number) {
    case EMFILE:
      return "; raise the limit on open files (ulimit -n)";
    case EAGAIN:
      return "; raise the limit on processes and threads (ulimit -u)";
    default:
      return "";
  }
}

// Rethrows the current exception, which is the only way to learn its type in a terminate handler.
std::string CurrentException() {
  try {
    throw;
  } catch (const boost::system::system_error& error) {
    return error.what() + Advice(error.code().value());
  } catch (const std::system_error& error) {
    return error.what() + Advice(error.code().value());
  } catch (const std::bad_alloc&) {
    return "there is no memory left";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of an unknown kind";
  }
}

[[noreturn]] void EndWithSentence() {
  if (!std::current_exception()) std::abort();  // no exception: a bug, left to a debugger
  (void)PrintForPeople(STDERR_FILENO, absl::StrCat(program_invocation_short_name,
                                                   ": cannot go on: ", CurrentException(), "\n"));
  ::_exit(kExitUnable);
}

}  // namespace

void SetUpProcess() {
  // The kernel's name is still that of the dynamic loader if the loader was executed with the
  // program as its argument.
  ::prctl(PR_SET_NAME, program_invocation_short_name, 0, 0, 0);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(EndWithSentence);
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // By default glibc returns the pages of a tunnel's buffers after each frame, and the faults that
  // bring new ones take as long as encrypting the frame.
  ::mallopt(M_MMAP_THRESHOLD, kMostHeapBlockBytes);
  ::mallopt(M_TRIM_THRESHOLD, kMostFreeBytes);
}

uint64_t OpenFilesLimit() {
  rlimit limit = {};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

void RaiseLockedMemory() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_MEMLOCK, &limit);
}

void RaiseOpenFiles() { LimitOpenFiles(RLIM_INFINITY); }

void LimitOpenFiles(uint64_t most) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(most, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace tony
