// EventLoop on Boost.Asio. A handle shares a lifetime or a state with its pending handler, so that
// a handler that is already queued does nothing once the handle is destroyed.
#include "common/event_loop.h"

#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "common/lifetime.h"

namespace tony {
namespace asio = boost::asio;

struct EventLoop::Impl {
  asio::io_context context{1};
};

namespace {

class TimerHandle : public EventLoop::Handle {
 public:
  TimerHandle(asio::io_context& context, Duration delay, std::function<void()> function)
      : timer_(context, std::chrono::duration_cast<std::chrono::steady_clock::duration>(delay)) {
    // The lifetime decides, not the error code: a timer that has fired and is queued can no longer
    // be cancelled.
    timer_.async_wait(
        lifetime_.Guard([function = std::move(function)](const auto&) { function(); }));
  }

 private:
  asio::steady_timer timer_;
  Lifetime lifetime_;
};

class DescriptorHandle : public EventLoop::Handle {
 public:
  using Descriptor = asio::posix::stream_descriptor;

  DescriptorHandle(asio::io_context& context, int fd, Descriptor::wait_type what,
                   std::function<void()> function)
      : state_(std::make_shared<State>(context, fd, std::move(function))), what_(what) {
    Wait();
  }
  // The caller owns `fd`: release() ends the wait without closing it.
  ~DescriptorHandle() override { state_->descriptor.release(); }

 private:
  struct State {
    State(asio::io_context& context, int fd, std::function<void()> f)
        : descriptor(context, fd), function(std::move(f)) {}
    Descriptor descriptor;
    std::function<void()> function;
  };

  // async_wait() reports one event, so each handler waits again unless `function` destroyed the
  // handle. The handler shares the state, so that `function` outlives its own call.
  void Wait() {
    const auto handler = [this, state = state_](const auto&) {
      const Lifetime::Observer handle = lifetime_.Observe();
      state->function();
      if (!handle.ended()) Wait();
    };
    state_->descriptor.async_wait(what_, lifetime_.Guard(handler));
  }

  const std::shared_ptr<State> state_;
  const Descriptor::wait_type what_;
  const Lifetime lifetime_;
};

bool IsIgnored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

class SignalHandle : public EventLoop::Handle {
 public:
  SignalHandle(asio::io_context& context, const std::vector<int>& signals,
               std::function<void(int)> function)
      : state_(std::make_shared<State>(context, std::move(function))) {
    for (const int number : signals) {
      if (number != SIGHUP || !IsIgnored(number)) state_->set.add(number);
    }
    Wait();
  }
  ~SignalHandle() override {
    // The pending handler keeps the set alive until the loop runs again, but the signals must get
    // their old disposition back now.
    boost::system::error_code ignored;
    state_->set.clear(ignored);
    state_->set.cancel(ignored);
  }

 private:
  struct State {
    State(asio::io_context& context, std::function<void(int)> f)
        : set(context), function(std::move(f)) {}
    asio::signal_set set;
    std::function<void(int)> function;
  };

  // As DescriptorHandle::Wait().
  void Wait() {
    const auto handler = [this, state = state_](const auto& error, int number) {
      if (error) return;
      const Lifetime::Observer handle = lifetime_.Observe();
      state->function(number);
      if (!handle.ended()) Wait();
    };
    state_->set.async_wait(lifetime_.Guard(handler));
  }

  const std::shared_ptr<State> state_;
  const Lifetime lifetime_;
};

}  // namespace

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {}
EventLoop::~EventLoop() = default;

void EventLoop::Post(std::function<void()> function) {
  asio::post(impl_->context, std::move(function));
}

std::unique_ptr<EventLoop::Handle> EventLoop::After(Duration delay,
                                                    std::function<void()> function) {
  return std::make_unique<TimerHandle>(impl_->context, delay, std::move(function));
}

std::unique_ptr<EventLoop::Handle> EventLoop::WatchReadable(int fd,
                                                            std::function<void()> function) {
  return std::make_unique<DescriptorHandle>(
      impl_->context, fd, asio::posix::stream_descriptor::wait_read, std::move(function));
}

std::unique_ptr<EventLoop::Handle> EventLoop::WatchWritable(int fd,
                                                            std::function<void()> function) {
  return std::make_unique<DescriptorHandle>(
      impl_->context, fd, asio::posix::stream_descriptor::wait_write, std::move(function));
}

std::unique_ptr<EventLoop::Handle> EventLoop::WatchSignals(const std::vector<int>& signals,
                                                           std::function<void(int)> function) {
  return std::make_unique<SignalHandle>(impl_->context, signals, std::move(function));
}

void EventLoop::Run() {
  // The work guard keeps run() from returning while nothing is pending. After Stop() the context
  // must be restarted before it can run again.
  auto keep_running = asio::make_work_guard(impl_->context);
  impl_->context.run();
  impl_->context.restart();
}

void EventLoop::Stop() { impl_->context.stop(); }

asio::io_context& EventLoop::context() { return impl_->context; }

}  // namespace tony
