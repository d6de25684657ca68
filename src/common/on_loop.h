// Brings calls from other threads to the event loop.
#pragma once

#include <functional>
#include <utility>

#include "common/event_loop.h"
#include "common/lifetime.h"

namespace tony {

/// Makes a callback for other threads, such as gRPC's: it posts a call of `function` of `object` to
/// the loop, where the call is dropped if `lifetime` has ended by then. The loop must outlive the
/// callback.
template <typename Object, typename... Arguments>
std::function<void(Arguments...)> OnLoop(EventLoop& loop, const Lifetime& lifetime, Object* object,
                                         void (Object::*function)(Arguments...)) {
  // std::invoke() takes a member function with its object as the first argument.
  return [&loop, guarded = lifetime.Guard(function), object](Arguments... arguments) {
    loop.Post([guarded, object, ... values = std::move(arguments)]() mutable {
      guarded(object, std::move(values)...);
    });
  };
}

}  // namespace tony
