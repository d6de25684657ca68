// Loaded into a job's programs (LD_PRELOAD): while the file that TONY_FAULT_WITHHOLD names is
// there, its ApplicationMaster kills nobody, and believes that it did.
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>

namespace {

bool IsApplicationMaster() {
  char path[PATH_MAX] = {};
  if (::readlink("/proc/self/exe", path, sizeof(path) - 1) < 0) return false;
  const char* const name = std::strrchr(path, '/');
  return name != nullptr && std::strcmp(name, "/tony-am") == 0;
}

bool Withheld() {
  const char* const file = std::getenv("TONY_FAULT_WITHHOLD");
  return file != nullptr && ::access(file, F_OK) == 0 && IsApplicationMaster();
}

}  // namespace

extern "C" int kill(pid_t pid, int number) noexcept {
  if (number == SIGKILL && Withheld()) return 0;
  using Kill = int (*)(pid_t, int);
  return reinterpret_cast<Kill>(::dlsym(RTLD_NEXT, "kill"))(pid, number);
}
