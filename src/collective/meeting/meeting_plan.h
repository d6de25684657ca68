// The plan by which ranks meet, which rank 0 makes from the whereabouts of all, and their text
// form.
#pragma once

#include <string>
#include <vector>

#include "collective/base/status.h"
#include "collective/group/switch_points.h"
#include "collective/hosts/hosts_group.h"

namespace tony::collective {

/// The facts that each rank publishes about itself.
struct Whereabouts {
  std::string host;     ///< ranks with the same value can share memory
  std::string network;  ///< ranks with the same value reach each other through loopback
  /// A random name of this call of Meet(). The plan must return it; a plan without it was made for
  /// another call.
  std::string number;
  bool wire_mac = false;  ///< Meeting::wire_mac

  std::string Encode() const;
  static Whereabouts Decode(const std::string& text);
};

struct MeetingPlan {
  /// A random name of this run. Values and connections of another run are not believed in this one.
  std::string run;
  std::vector<std::string> numbers;  ///< by rank: Whereabouts::number, as rank 0 has read it
  std::string acceptor;   ///< HostAcceptor::address() if all ranks share memory; empty: TCP
  HostTable hosts;        ///< for TCP: the ranks that share memory, by host
  bool loopback = false;  ///< all ranks reach each other through loopback
  std::string reason;     ///< why memory is not shared, as a sentence; empty: it is, or need not be
  SwitchPoints points;    ///< for TCP
  bool wire_mac = false;  ///< for TCP: some rank wants a MAC on all data

  /// The ranks by host; hosts are in the order of their first ranks.
  static HostTable HostsOf(const std::vector<Whereabouts>& ranks);
  /// A table in which each rank is a host of its own.
  static HostTable Apart(int ranks);

  std::string Encode() const;
  /// FailedPrecondition, DeadlineExceeded: `text` is a Refusal, whose reason is the message.
  /// FailedPrecondition: `text` is no plan for `ranks` ranks.
  static Result<MeetingPlan> Decode(const std::string& text, int ranks);
};

/// The text that a rank publishes instead of a value that it cannot provide, with the reason `why`.
std::string Refusal(const Status& why);
/// The reason in a Refusal: DeadlineExceeded if a rank has not come, else FailedPrecondition. Ok:
/// `text` is no refusal.
Status AsRefusal(const std::string& text);
/// Removes the first line from `text` and returns it without its end.
std::string TakeLine(std::string& text);

}  // namespace tony::collective
