// The table lists the edges of single states; `kill` and `gone` hold for every bound state, so they
// are a rule.
#include "core/tasks/binding.h"

#include <array>

namespace tony::core {
namespace {

struct Edge {
  Binding from;
  BindingTrigger trigger;
  Binding to;
};

using B = Binding;
using T = BindingTrigger;
constexpr std::array kEdges = {
    Edge{B::kFree, T::kRequest, B::kRequested},
    Edge{B::kFree, T::kGrant, B::kLaunched},  // the replay of a journal, which has no requests
    Edge{B::kRequested, T::kCancel, B::kFree},
    Edge{B::kRequested, T::kGrant, B::kLaunched},
    Edge{B::kLaunched, T::kAttach, B::kAttached},
    Edge{B::kLaunched, T::kMasterRestarted, B::kReclaimed},
    Edge{B::kAttached, T::kAttach, B::kAttached},  // the new stream came before the old one's end
    Edge{B::kAttached, T::kDetach, B::kDetached},
    Edge{B::kAttached, T::kDismiss, B::kDismissed},
    Edge{B::kDetached, T::kAttach, B::kAttached},
    Edge{B::kReclaimed, T::kAttach, B::kAttached},
    Edge{B::kDismissed, T::kAttach, B::kAttached},  // the shutdown was lost with the old stream
    Edge{B::kDismissed, T::kDetach, B::kLeaving},
    Edge{B::kDismissed, T::kDismiss, B::kDismissed},  // first its stage is over, then the job
    Edge{B::kLeaving, T::kAttach, B::kAttached},
};

}  // namespace

std::optional<Binding> NextBinding(Binding binding, BindingTrigger trigger) {
  if (IsBound(binding) && trigger == T::kKill) return B::kKilled;
  if (IsBound(binding) && trigger == T::kGone) return B::kFree;
  for (const Edge& edge : kEdges) {
    if (edge.from == binding && edge.trigger == trigger) return edge.to;
  }
  return std::nullopt;
}

std::string BindingName(Binding binding) {
  switch (binding) {
    case B::kFree:
      return "FREE";
    case B::kRequested:
      return "REQUESTED";
    case B::kLaunched:
      return "LAUNCHED";
    case B::kAttached:
      return "ATTACHED";
    case B::kDetached:
      return "DETACHED";
    case B::kReclaimed:
      return "RECLAIMED";
    case B::kDismissed:
      return "DISMISSED";
    case B::kLeaving:
      return "LEAVING";
    case B::kKilled:
      return "KILLED";
  }
  return "UNKNOWN";
}

std::string BindingTriggerName(BindingTrigger trigger) {
  switch (trigger) {
    case T::kRequest:
      return "request";
    case T::kCancel:
      return "cancel";
    case T::kGrant:
      return "grant";
    case T::kAttach:
      return "attach";
    case T::kDetach:
      return "detach";
    case T::kMasterRestarted:
      return "restarted master";
    case T::kDismiss:
      return "dismiss";
    case T::kKill:
      return "kill";
    case T::kGone:
      return "gone";
  }
  return "unknown";
}

}  // namespace tony::core
