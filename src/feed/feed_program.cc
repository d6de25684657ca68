// The program's side of a feed: it attaches, releases slots, and answers rows with results.
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "feed/feed.h"

namespace tony::feed {
namespace {

/// A producer that leaves so many slots of results unread makes the program wait.
constexpr size_t kMostUnreadSlots = 2;

}  // namespace

absl::Status Feed::Attach(FrameConnection& program) {
  if (program_ != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat(
        "another program of ", setting_.task, " is attached to the feed ", setting_.name,
        "; only one process reads a feed, and shares it with others by its own means"));
  }
  // A program that comes after another one gets memory of its own: the old one may still have the
  // old memory mapped.
  TONY_ASSIGN_OR_RETURN(memory_, SlotMemory::Create(kSlots, setting_.slot_bytes));
  program_ = &program;
  filled_.assign(kSlots, {});
  free_.clear();
  for (uint32_t slot = kSlots; slot-- > 0;) free_.push_back(slot);
  progress_at_ = clock_.Now();
  program.Send(FrameType::kAttached, kSlots,
               absl::StrCat("{\"slot_bytes\":", setting_.slot_bytes, "}"), 0, memory_->fd());
  if (terminated_ || ended_) program.Send(FrameType::kEnded, 0);
  LogInfo("a program is attached", {{"task", setting_.task}, {"feed", setting_.name}});
  Advance();
  return absl::OkStatus();
}

void Feed::Detach(const std::string& sentence) {
  if (program_ == nullptr) return;
  program_ = nullptr;
  LogInfo("the program is detached", {{"task", setting_.task}, {"feed", setting_.name}});
  // Producers without a lease wait for the next program.
  std::vector<uint64_t> begun;
  for (const auto& [number, producer] : producers_) {
    if (producer.wants_lease()) begun.push_back(number);
  }
  for (const uint64_t number : begun) {
    Close(producers_.at(number), FrameType::kAway, sentence, true);
  }
  memory_.reset();
  filled_.clear();
  free_.clear();
}

absl::Status Feed::OnProgramFrame(const FrameHeader& header, const std::string& payload) {
  progress_at_ = clock_.Now();
  switch (header.type) {
    case FrameType::kRelease:
      return OnRelease(header.argument);
    case FrameType::kProgramResult:
      return OnResult(header, payload);
    case FrameType::kNext:
      return OnNext(header.argument);
    case FrameType::kTerminate:
      if (!terminated_) setting_.report(core::feed_report::Terminate{setting_.name});
      Terminate();
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError("ATTACH comes only once");
  }
}

absl::Status Feed::OnRelease(uint64_t slot) {
  if (slot >= filled_.size() || !filled_[slot].shown) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program releases slot ", slot, ", which it does not have"));
  }
  const Filled released = std::exchange(filled_[slot], {});
  free_.push_back(static_cast<uint32_t>(slot));
  if (Producer* const producer = Find(released.producer); producer != nullptr) {
    --producer->filled;
    producer->consumed += released.rows;
    CheckConsumed(*producer);
  }
  Advance();
  return absl::OkStatus();
}

absl::Status Feed::OnResult(const FrameHeader& header, const std::string& payload) {
  if (payload.size() < sizeof(uint64_t)) {
    return absl::InvalidArgumentError("a RESULT begins with the 8 bytes of a connection");
  }
  Producer* const producer = Find(ReadLittleEndian64(payload.data()));
  // The producer may have gone meanwhile, and nobody else wants these results.
  if (producer == nullptr || producer->state != State::kOpen) return absl::OkStatus();
  if (!producer->hello.results) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program sends results for ", producer->hello.partition.ToString(),
                     ", which is fed without results (train(), not inference())"));
  }
  if (header.argument > producer->rows - producer->results) {
    producer->results += std::min<uint64_t>(header.argument, producer->rows + 1);
    return FailResults(*producer);
  }
  producer->results += header.argument;
  if (producer->connection != nullptr) {
    producer->connection->Send(FrameType::kResult, header.argument,
                               std::string_view(payload).substr(sizeof(uint64_t)), header.encoding);
  }
  UpdatePause();
  CheckConsumed(*producer);
  Advance();
  return absl::OkStatus();
}

absl::Status Feed::OnNext(uint64_t number) {
  Producer* const producer = Find(number);
  if (producer == nullptr || producer->state != State::kOpen || !producer->ended ||
      !producer->hello.results || producer->results == producer->rows) {
    return absl::OkStatus();
  }
  return FailResults(*producer);
}

absl::Status Feed::FailResults(Producer& producer) {
  const std::string sentence = absl::StrCat(
      "The program of ", setting_.task, " has sent ",
      producer.results > producer.rows ? "more than " : "",
      std::min(producer.results, producer.rows), " results for ", producer.rows, " rows of ",
      producer.hello.partition.ToString(), "; every row needs exactly one result");
  Close(producer, FrameType::kError, sentence, true);
  return absl::FailedPreconditionError(sentence);
}

void Feed::UpdatePause() {
  if (program_ == nullptr) return;
  const size_t most = kMostUnreadSlots * size_t{setting_.slot_bytes};
  for (const auto& [number, producer] : producers_) {
    if (producer.connection != nullptr && producer.connection->queued() > most) {
      return program_->Pause();
    }
  }
  program_->Resume();
}

}  // namespace tony::feed
