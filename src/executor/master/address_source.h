// Sources for the address of a job's next ApplicationMaster.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/lifetime.h"

namespace tony::executor {

/// Not thread safe: owned by the event loop.
class AddressSource {
 public:
  /// `address`: "host:port". NotFound – the job is over; any other error – the address is not known
  /// at the moment.
  using OnAnswer = std::function<void(const absl::StatusOr<std::string>& address)>;

  virtual ~AddressSource() = default;
  /// At most one look at a time. The answer comes on the event loop, from within the call or later;
  /// it does not come after this object is destroyed.
  virtual void LookUp(OnAnswer on_answer) = 0;
  /// The time between two looks.
  virtual Duration interval() const = 0;
};

/// Reads a file on this machine. Each ApplicationMaster replaces the file, and the last one removes
/// it. Not thread safe: owned by the event loop.
class AddressFile : public AddressSource {
 public:
  explicit AddressFile(std::string path) : path_(std::move(path)) {}

  void LookUp(OnAnswer on_answer) override;
  Duration interval() const override { return std::chrono::milliseconds(25); }

 private:
  const std::string path_;
};

/// Runs a program that prints the address and exits with 0, or exits with 1 if the job is over. The
/// program runs on a thread of its own, for at most ten seconds.
class AddressCommand : public AddressSource {
 public:
  /// `loop` must outlive this.
  AddressCommand(std::vector<std::string> arguments, EventLoop& loop)
      : arguments_(std::move(arguments)), loop_(loop) {}
  /// Waits for the program to end, if it is running.
  ~AddressCommand() override;

  void LookUp(OnAnswer on_answer) override;
  Duration interval() const override { return std::chrono::seconds(1); }

 private:
  const std::vector<std::string> arguments_;
  EventLoop& loop_;
  Lifetime lifetime_;
  std::thread thread_;
};

}  // namespace tony::executor
