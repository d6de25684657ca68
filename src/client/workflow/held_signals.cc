#include "client/workflow/held_signals.h"

namespace tony::client {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGINT, SIGHUP};

}  // namespace

HeldSignals::HeldSignals() {
  pthread_sigmask(SIG_BLOCK, nullptr, &before_);
  Hold();
}

HeldSignals::~HeldSignals() { Release(); }

int HeldSignals::Waiting() {
  sigset_t waiting;
  sigpending(&waiting);
  for (const int number : kSignals) {
    if (sigismember(&waiting, number) == 1) return number;
  }
  return 0;
}

void HeldSignals::Hold() const {
  sigset_t held;
  sigemptyset(&held);
  for (const int number : kSignals) sigaddset(&held, number);
  pthread_sigmask(SIG_BLOCK, &held, nullptr);
}

void HeldSignals::Release() const { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace tony::client
