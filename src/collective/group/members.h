// The interface to ranks that have met: their group, and messages between them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "collective/base/deadline.h"
#include "collective/group/group.h"

namespace tony::collective {

/// Rank 0 has a connection to each other rank. When a rank is gone, the group fails, and ranks that
/// wait in it get an error. The destructor tells the other ranks that this rank sends nothing more,
/// and waits for none of them. Thread safe but for group().
class Members {
 public:
  struct Callbacks {
    std::function<void(int rank, std::string message)> on_message;
    /// The rank sends nothing more. `in_order`: it has left; otherwise it is gone without a word.
    std::function<void(int rank, bool in_order)> on_end;
  };

  Members() = default;
  virtual ~Members() = default;
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  virtual Group& group() = 0;
  /// The way that data takes, for messages: "shared memory", "TCP, 2 streams", "shared memory of 2
  /// hosts and TCP, 2 streams"; with the reason for TCP if that is not obvious.
  virtual const std::string& transport() const = 0;
  /// A sentence about why ranks of one host use TCP. Empty: they share memory, or are told not to.
  virtual const std::string& limitation() const = 0;
  /// Sets the callbacks, which the links' thread calls. Messages that came before are kept until
  /// then.
  virtual void Listen(Callbacks callbacks) = 0;
  /// Calls `work` from the links' thread.
  virtual void Post(std::function<void()> work) = 0;
  /// Calls `work` from the links' thread at `when` or soon after.
  virtual void PostAt(Deadline when, std::function<void()> work) = 0;
  /// Leaves: no callback and no work is called afterwards, and the other ranks are told that this
  /// rank sends nothing more.
  virtual void Leave() = 0;
  /// Sends a message: from rank 0 to any rank, from any other rank to rank 0.
  virtual void Send(int rank, std::string_view message) = 0;
};

}  // namespace tony::collective
