// Brings calls from other threads to the event loop.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "common/event_loop.h"

namespace tony {

/// A callback for other threads, gRPC's say: runs `function` of `object` on the loop, while
/// `*alive` is true there. The loop outlives it.
template <typename Object, typename... Arguments>
std::function<void(Arguments...)> OnLoop(EventLoop& loop, const std::shared_ptr<bool>& alive,
                                         Object* object, void (Object::*function)(Arguments...)) {
  return [&loop, alive, object, function](Arguments... arguments) {
    loop.Post([alive, object, function, ... values = std::move(arguments)]() mutable {
      if (*alive) (object->*function)(std::move(values)...);
    });
  };
}

}  // namespace tony
