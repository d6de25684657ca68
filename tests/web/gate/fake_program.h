// A program behind the gate, which a test lets speak.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/common/loop_driver.h"
#include "web/gate/program_link.h"

namespace tony::web {

/// What the gate has opened, one per connection. Outlives the gate. Not thread safe: owned by the
/// driver's loop.
class FakeProgram : public ProgramLinks {
 public:
  /// One connection, as the program sees it.
  struct End {
    std::string received;
    bool gone = false;  ///< the gate has closed it
    bool slow = false;  ///< takes nothing
    ProgramLink::OnRead on_read;
    std::vector<absl::StatusOr<std::string>> said;  ///< waits for on_read
  };

  explicit FakeProgram(LoopDriver& driver) : driver_(driver) {}

  std::string program() override { return "worker:0"; }
  std::string authority() override { return "node1:6006"; }
  absl::StatusOr<std::unique_ptr<ProgramLink>> Open() override {
    if (!up) return absl::FailedPreconditionError("nothing listens there");
    ends.push_back(std::make_shared<End>());
    driver_.Changed();
    return std::make_unique<Link>(driver_, ends.back());
  }

  /// Empty bytes: the program's end.
  void Say(size_t end, absl::StatusOr<std::string> bytes) {
    ends.at(end)->said.push_back(std::move(bytes));
    Deliver(driver_, ends.at(end));
  }

  bool up = true;
  std::vector<std::shared_ptr<End>> ends;

 private:
  class Link : public ProgramLink {
   public:
    Link(LoopDriver& driver, std::shared_ptr<End> end) : driver_(driver), end_(std::move(end)) {}
    ~Link() override {
      end_->on_read = nullptr;
      end_->gone = true;
      driver_.Changed();
    }
    void Read(OnRead on_read) override {
      end_->on_read = std::move(on_read);
      Deliver(driver_, end_);
    }
    void Write(std::string bytes, std::function<void()> on_written) override {
      if (end_->slow) return;
      end_->received += bytes;
      driver_.Changed();
      driver_.loop().Post([end = end_, on_written = std::move(on_written)] {
        if (!end->gone) on_written();
      });
    }

   private:
    LoopDriver& driver_;
    const std::shared_ptr<End> end_;
  };

  static void Deliver(LoopDriver& driver, const std::shared_ptr<End>& end) {
    driver.loop().Post([end] {
      if (end->said.empty() || end->on_read == nullptr) return;
      absl::StatusOr<std::string> next = std::move(end->said.front());
      end->said.erase(end->said.begin());
      std::exchange(end->on_read, nullptr)(std::move(next));
    });
  }

  LoopDriver& driver_;
};

}  // namespace tony::web
