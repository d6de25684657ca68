// Brings calls from other threads to the event loop.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "common/event_loop.h"

namespace tony {

/// Makes a callback for other threads, such as gRPC's: it runs `function` of `object` on the loop
/// if `*alive` is true there at that time. The loop must outlive the callback.
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
