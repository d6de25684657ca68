// The portal's terminal: prints addresses, one at the start and one for each Enter.
#pragma once

#include <memory>
#include <string>

#include "common/event_loop.h"
#include "portal/portal.h"

namespace tony::portal {

/// Not thread safe: owned by the event loop.
class Terminal {
 public:
  /// Both references must outlive this. Listens to standard input if that is a terminal. `shared`:
  /// the portal is one of several users, whose address stays the same.
  Terminal(EventLoop& loop, Portal& portal, bool json, bool shared);

  /// Prints a new address.
  void PrintAddress();

 private:
  void OnInput();

  Portal& portal_;
  const bool json_;
  std::unique_ptr<EventLoop::Handle> input_;
};

}  // namespace tony::portal
