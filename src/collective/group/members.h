// Ranks that have met: their group, and messages between them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "collective/base/deadline.h"
#include "collective/group/group.h"

namespace tony::collective {

/// Rank 0 has a connection to each other rank. When one of them is gone, the group fails, and who
/// waits in it hears so. The destructor says to the others that no more follows, and waits for none
/// of them. Thread safe but for group().
class Members {
 public:
  struct Callbacks {
    std::function<void(int rank, std::string message)> on_message;
    /// Nothing more will come from it: it has left, or, not `in_order`, is gone.
    std::function<void(int rank, bool in_order)> on_end;
  };

  Members() = default;
  virtual ~Members() = default;
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  virtual Group& group() = 0;
  /// Which way data goes, for people: "shared memory", "TCP, 2 streams", "shared memory of 2 hosts
  /// and TCP, 2 streams"; why it is TCP where that is not plain.
  virtual const std::string& transport() const = 0;
  /// Why ranks of one host speak TCP, as a sentence; empty: they share memory, or are not to.
  virtual const std::string& limitation() const = 0;
  /// Whom to call, from the links' thread. What comes before waits.
  virtual void Listen(Callbacks callbacks) = 0;
  /// Calls `work` from the links' thread.
  virtual void Post(std::function<void()> work) = 0;
  /// The same, at `when` or soon after it.
  virtual void PostAt(Deadline when, std::function<void()> work) = 0;
  /// No callback and no work follows; the others are told that no more comes.
  virtual void Leave() = 0;
  /// Rank 0 to each, each to rank 0.
  virtual void Send(int rank, std::string_view message) = 0;
};

}  // namespace tony::collective
