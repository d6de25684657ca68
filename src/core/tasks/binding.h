// The states of the binding between a task and its container, and the one table of their changes.
//
//          request            grant               attach              dismiss
//   FREE ───────────▶ REQUESTED ─────▶ LAUNCHED ─────────▶ ATTACHED ─────────▶ DISMISSED
//        ◀───────────                     │                  │   ▲                 │
//           cancel                        │           detach │   │ attach          │ detach
//                        restarted master │                  ▼   │                 ▼
//                                         └──▶ RECLAIMED   DETACHED             LEAVING
//                                                  │             ▲
//                                                  └─ attach ──▶ ATTACHED ◀─ attach ─ LEAVING
//
//   Every state with a container goes to KILLED by `kill`, and to FREE by `gone`. A journal has no
//   requests, so its replay grants a container to a task that is FREE.
#pragma once

#include <optional>
#include <string>

namespace tony::core {

enum class Binding {
  kFree,       ///< no container, and none is requested
  kRequested,  ///< a container is requested
  kLaunched,   ///< it has a container, whose executor has not attached yet
  kAttached,   ///< the executor's stream is open
  kDetached,   ///< the stream broke; the executor must attach again
  kReclaimed,  ///< an earlier ApplicationMaster had it; the executor must attach to this one
  kDismissed,  ///< the executor was told to shut down, and its stream is still open
  kLeaving,    ///< the executor was told to shut down, and its stream has closed
  kKilled,     ///< tony ends the container; its executor's messages are ignored
};
inline constexpr int kBindings = 9;

/// The events that change a binding. `kMasterRestarted`: this ApplicationMaster replayed the
/// journal of an earlier one.
enum class BindingTrigger {
  kRequest,
  kCancel,
  kGrant,
  kAttach,
  kDetach,
  kMasterRestarted,
  kDismiss,
  kKill,
  kGone,
};

/// The binding after `trigger`; nullopt when the table has no such edge.
std::optional<Binding> NextBinding(Binding binding, BindingTrigger trigger);

/// True when the task has a container.
constexpr bool IsBound(Binding binding) {
  return binding != Binding::kFree && binding != Binding::kRequested;
}
/// True while the executor's stream is open.
constexpr bool IsAttached(Binding binding) {
  return binding == Binding::kAttached || binding == Binding::kDismissed;
}
/// True while the executor has to attach again, or to be gone, before a deadline.
constexpr bool IsAwaited(Binding binding) {
  return binding == Binding::kDetached || binding == Binding::kReclaimed ||
         binding == Binding::kLeaving;
}

/// "ATTACHED", …
std::string BindingName(Binding binding);
/// "attach", …
std::string BindingTriggerName(BindingTrigger trigger);

}  // namespace tony::core
