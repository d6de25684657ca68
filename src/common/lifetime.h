// Lets a callback that is called later find out whether the object that it uses still lives.
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace tony {

/// A member of an object whose callbacks may outlive it, because they were posted to the event loop
/// or given to a timer, a socket or another thread:
///
///   loop.Post(lifetime_.Guard([this] { OnAnswer(); }));
///
/// The lifetime ends with its destruction, or with End(). There is no lock. One thread, which is
/// the thread of the owner's event loop, calls guarded functions, End() and the destructor, because
/// otherwise the owner could end in the middle of a call. Guard() is thread safe while the owner
/// lives, and a guarded function may be copied, moved and destroyed by any thread. So another
/// thread never calls a guarded function, but posts it to the loop; OnLoop() makes callbacks that
/// do so.
class Lifetime {
 public:
  /// Tells whether the lifetime has ended, and may outlive it. For code that calls a callback which
  /// may destroy the caller. Copies may be made on any thread; ended() belongs to the event loop.
  class Observer {
   public:
    bool ended() const { return !*alive_; }

   private:
    friend class Lifetime;
    explicit Observer(std::shared_ptr<const bool> alive) : alive_(std::move(alive)) {}

    std::shared_ptr<const bool> alive_;
  };

  Lifetime() = default;
  ~Lifetime() { End(); }
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;

  /// Ends the lifetime before its destruction, for an owner that is done but not destroyed yet.
  /// Calling again does nothing.
  void End() { *alive_ = false; }

  /// Makes a function that passes its arguments to `function`, and drops the result, unless the
  /// lifetime has ended by then. `function` may destroy the owner. Its captures live as long as the
  /// guarded function, also when the lifetime has ended.
  template <typename Function>
  [[nodiscard]] auto Guard(Function function) const {
    return [observer = Observe(), function = std::move(function)](auto&&... arguments) {
      if (observer.ended()) return;
      static_cast<void>(std::invoke(function, std::forward<decltype(arguments)>(arguments)...));
    };
  }

  Observer Observe() const { return Observer(alive_); }

 private:
  // The pointer never changes, so other threads may copy it while the loop changes the value.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tony
