// A thread that can start no other, as where a user or a container has as many as it may have.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <thread>

namespace tony::collective {

/// For the calling thread, as long as it lives: the kernel answers EAGAIN, as it does then. False:
/// it has no such filters.
inline bool RefuseThreads() {
  std::array<sock_filter, 5> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program = {.len = filter.size(), .filter = filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Calls `body` in such a thread, which ends before this returns. False: as above; nothing is
/// called.
inline bool WithoutThreads(const std::function<void()>& body) {
  bool refused = false;
  std::thread([&] {
    refused = RefuseThreads();
    if (refused) body();
  }).join();
  return refused;
}

}  // namespace tony::collective
