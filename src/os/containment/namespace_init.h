// The first process of a process namespace: adopts orphans, and signals all at once.
#pragma once

#include <cstdint>

namespace tony::os {

/// What the keeper asks.
struct InitQuestion {
  int64_t number = 0;  ///< tells answers apart
  int signal = 0;  ///< for every process of the namespace but the first one, in one step; 0: none
};
struct InitAnswer {
  int64_t number = 0;    ///< of the question; 0: before any was asked
  int error_number = 0;  ///< of the first answer: why the namespace cannot be used; 0: it can
  bool childless = false;
};

/// Becomes the first process of the namespace in which the calling process is the first one: gives
/// it a view of the file system with a /proc of its own and answers at once; then answers
/// questions. It needs nobody to reap for it, and dies with the process that forked it, and so does
/// all else in the namespace. Never returns.
[[noreturn]] void RunNamespaceInit(int socket);

}  // namespace tony::os
