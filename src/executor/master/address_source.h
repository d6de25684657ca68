// Where an executor looks up the next ApplicationMaster of its job.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"

namespace tony::executor {

/// Not thread safe: owned by the event loop.
class AddressSource {
 public:
  /// "host:port". NotFound – the job is over; anything else – nobody can say at the moment.
  using OnAnswer = std::function<void(const absl::StatusOr<std::string>& address)>;

  virtual ~AddressSource() = default;
  /// One look at a time. Answered on the event loop, from within the call or later, but not when
  /// this object is gone.
  virtual void Look(OnAnswer on_answer) = 0;
  /// Between two looks.
  virtual Duration interval() const = 0;
};

/// A file on this machine, which each ApplicationMaster replaces, and the last one removes.
class AddressFile : public AddressSource {
 public:
  explicit AddressFile(std::string path) : path_(std::move(path)) {}

  void Look(OnAnswer on_answer) override;
  Duration interval() const override { return std::chrono::milliseconds(25); }

 private:
  const std::string path_;
};

/// A program that prints the address and exits with 0, or with 1 where the job is over. It runs on
/// a thread of its own, for ten seconds at most.
class AddressCommand : public AddressSource {
 public:
  /// `loop` outlives this.
  AddressCommand(std::vector<std::string> arguments, EventLoop& loop)
      : arguments_(std::move(arguments)), loop_(loop) {}
  /// Waits for a program that runs.
  ~AddressCommand() override;

  void Look(OnAnswer on_answer) override;
  Duration interval() const override { return std::chrono::seconds(1); }

 private:
  const std::vector<std::string> arguments_;
  EventLoop& loop_;
  std::shared_ptr<bool> here_ = std::make_shared<bool>(true);  ///< the loop's
  std::thread thread_;
};

}  // namespace tony::executor
