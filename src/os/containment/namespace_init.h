// The first process of a process namespace: adopts orphans, and signals all processes at once.
#pragma once

#include <cstdint>

namespace tony::os {

/// A question of the keeper.
struct InitQuestion {
  int64_t number = 0;  ///< matches an answer to its question
  int signal = 0;  ///< sent to every process of the namespace but the first, in one step; 0: none
};
struct InitAnswer {
  int64_t number = 0;    ///< number of the question; 0: the first answer, before any question
  int error_number = 0;  ///< first answer: errno value if the namespace cannot be used; 0: it can
  bool childless = false;
};

/// Turns the calling process, which must be the first process of its namespace, into its init. It
/// makes a mount namespace with a /proc of its own and answers at once; then it answers questions.
/// It needs nobody to reap its children. It dies with the process that forked it, and so does every
/// other process in the namespace. Never returns.
[[noreturn]] void RunNamespaceInit(int socket);

}  // namespace tony::os
