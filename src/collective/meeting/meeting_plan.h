// What rank 0 has decided about how ranks meet.
#pragma once

#include <string>
#include <vector>

#include "collective/base/status.h"
#include "collective/group/switch_points.h"
#include "collective/hosts/hosts_group.h"

namespace tony::collective {

/// What each rank tells of itself.
struct Whereabouts {
  std::string host;     ///< ranks with the same one can share memory
  std::string network;  ///< those with the same one reach each other by loopback
  /// A random name of this call of Meet(), which comes back in the plan: a plan without it was made
  /// for another call.
  std::string number;
  bool wire_mac = false;  ///< Meeting::wire_mac

  std::string Encode() const;
  static Whereabouts Decode(const std::string& text);
};

struct MeetingPlan {
  /// A random name: nothing that was said in another run is believed in this one.
  std::string run;
  std::vector<std::string> numbers;  ///< by rank: Whereabouts::number, as rank 0 has read it
  std::string door;                  ///< of one host's shared memory; empty: TCP
  HostTable hosts;                   ///< for TCP: who shares memory with whom
  bool loopback = false;
  std::string reason;     ///< why memory is not shared, as a sentence; empty: it is, or need not
  SwitchPoints points;    ///< for TCP
  bool wire_mac = false;  ///< of TCP: a rank wants a MAC of all data

  /// Ranks by host, in the order of each host's first one.
  static HostTable HostsOf(const std::vector<Whereabouts>& ranks);
  /// Each rank by itself.
  static HostTable Apart(int ranks);

  std::string Encode() const;
  /// FailedPrecondition, DeadlineExceeded: it says why there is none (Refusal). FailedPrecondition:
  /// it is no plan of `ranks`.
  static Result<MeetingPlan> Decode(const std::string& text, int ranks);
};

/// What others find instead of something that was to be told: why it is not.
std::string Refusal(const Status& why);
/// Its sentence, as FailedPrecondition, or DeadlineExceeded where somebody has not come. Ok: it is
/// none.
Status AsRefusal(const std::string& text);
/// Without the line's end; the rest stays in `text`.
std::string TakeLine(std::string& text);

}  // namespace tony::collective
