// The producers' side and the slots. What the program sends is in feed_program.cc.
//
// A connection's Send() never calls back from within, so loops over the producers need not fear
// that one of them vanishes.
#include "feed/feed.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"

namespace tony::feed {
namespace {

/// Producers whose partitions are open at once. With fewer than there are slots, each of them gets
/// a credit in its turn.
constexpr uint32_t kMostOpen = kSlots / 2;
/// Partitions with results are shown one after the other; the next one already asks for its lease.
constexpr uint32_t kMostLeasedWithResults = 2;
/// While more bytes than this wait for the program, no further partition is opened.
constexpr size_t kMostForProgram = 256 * 1024;

}  // namespace

Feed::Feed(const Clock& clock, Setting setting)
    : clock_(clock), setting_(std::move(setting)), progress_at_(clock.Now()) {}

Producer* Feed::Find(uint64_t number) {
  const auto found = producers_.find(number);
  return found == producers_.end() ? nullptr : &found->second;
}

uint32_t Feed::Count(State state) const {
  return static_cast<uint32_t>(
      std::count_if(producers_.begin(), producers_.end(),
                    [state](const auto& entry) { return entry.second.state == state; }));
}

void Feed::Add(uint64_t number, Hello hello, FrameConnection& connection) {
  Producer producer;
  producer.number = number;
  producer.hello = std::move(hello);
  producer.connection = &connection;
  producer.waits_since = clock_.Now();
  LogDebug("a producer comes", {{"task", setting_.task},
                                {"partition", producer.hello.partition.ToString()},
                                {"attempt", producer.hello.attempt},
                                {"connection", number}});
  Producer& added = producers_.emplace(number, std::move(producer)).first->second;
  if (terminated_ || ended_) return Close(added, FrameType::kStop, "", false);
  Advance();
}

void Feed::Advance() {
  if (program_ == nullptr || terminated_ || ended_) return;
  AskForLeases();
  OpenGranted();
  HandOutCredits();
}

// Leases are asked for ahead of the room that they need, so that the answer is there when a
// partition ends. Producers of the state BUSY do not count: another attempt may last for long.
void Feed::AskForLeases() {
  uint32_t leased = Count(State::kAsking) + Count(State::kGranted) + Count(State::kOpen);
  for (auto& [number, producer] : producers_) {
    if (producer.state != State::kQueued) continue;
    if (leased >= (producer.hello.results ? kMostLeasedWithResults : kMostOpen)) return;
    producer.state = State::kAsking;
    producer.asked_at = clock_.Now();
    ++leased;
    setting_.report(core::feed_report::Ask{producer.lease()});
  }
}

bool Feed::MayOpen(const Producer& producer) const {
  if (program_->queued() > kMostForProgram) return false;
  const uint32_t open = Count(State::kOpen);
  if (producer.hello.results) return open == 0;
  return open < kMostOpen &&
         std::none_of(producers_.begin(), producers_.end(), [](const auto& entry) {
           return entry.second.state == State::kOpen && entry.second.hello.results;
         });
}

void Feed::OpenGranted() {
  for (auto& [number, producer] : producers_) {
    if (producer.state != State::kGranted) continue;
    if (!MayOpen(producer)) return;
    Open(producer);
  }
}

void Feed::Open(Producer& producer) {
  producer.state = State::kOpen;
  producer.waits_since = clock_.Now();
  const core::FeedPartition& partition = producer.hello.partition;
  program_->Send(FrameType::kOpen, producer.number,
                 absl::StrCat("{\"epoch\":", partition.epoch, ",\"partition\":",
                              partition.partition, ",\"attempt\":", producer.hello.attempt,
                              ",\"results\":", producer.hello.results ? "true" : "false",
                              ",\"schema\":", producer.hello.schema, "}"));
  producer.hello.schema.clear();
}

// One credit at a time goes to the open producer that has the fewest slots, until there is no free
// slot, or everybody has a share. The share leaves room for one more producer. Whoever has more
// than half of a share left gets nothing yet, so that a frame carries several credits.
void Feed::HandOutCredits() {
  std::vector<Producer*> open;
  auto room = static_cast<uint32_t>(free_.size());
  for (auto& [number, producer] : producers_) {
    room -= producer.credits;
    if (producer.state == State::kOpen && !producer.ended) open.push_back(&producer);
  }
  const uint32_t share = std::max<uint32_t>(1, kSlots / static_cast<uint32_t>(open.size() + 1));
  std::erase_if(open, [share](const Producer* one) { return one->credits > share / 2; });
  std::map<Producer*, uint32_t> given;
  for (; room > 0 && !open.empty(); --room) {
    const auto poorest =
        std::min_element(open.begin(), open.end(), [](const Producer* one, const Producer* other) {
          return one->credits + one->filled < other->credits + other->filled;
        });
    ++given[*poorest];
    if (++(*poorest)->credits >= share) open.erase(poorest);
  }
  for (const auto& [producer, credits] : given) SendCredits(*producer, credits);
}

void Feed::SendCredits(Producer& producer, uint32_t credits) const {
  producer.credited_at = clock_.Now();
  const std::string greeting = std::exchange(producer.greeted, true)
                                   ? ""
                                   : absl::StrCat("{\"slot_bytes\":", setting_.slot_bytes,
                                                  ",\"task\":\"", setting_.task, "\"}");
  producer.connection->Send(FrameType::kCredit, credits, greeting);
}

absl::StatusOr<char*> Feed::OnBatchHeader(uint64_t number, const FrameHeader& header) {
  Producer* const producer = Find(number);
  if (producer == nullptr || producer->credits == 0 || producer->ended) {
    return absl::InvalidArgumentError("a batch without a credit");
  }
  if (header.argument == 0 || header.argument > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError("a batch has 1 to 4294967295 rows");
  }
  --producer->credits;
  producer->slot = free_.back();
  free_.pop_back();
  return memory_->slot(*producer->slot);
}

absl::Status Feed::OnProducerFrame(uint64_t number, const FrameHeader& header) {
  Producer* const producer = Find(number);
  if (producer == nullptr || producer->state != State::kOpen || producer->ended) {
    return absl::InvalidArgumentError(
        "a frame that does not belong here: before the first "
        "CREDIT, or after END");
  }
  if (header.type == FrameType::kEnd) return OnEnd(*producer, header.argument);
  if (!producer->slot) return absl::InvalidArgumentError("HELLO comes only once");
  ShowSlot(*producer, header);
  return absl::OkStatus();
}

void Feed::ShowSlot(Producer& producer, const FrameHeader& header) {
  const uint32_t slot = *std::exchange(producer.slot, std::nullopt);
  const auto rows = static_cast<uint32_t>(header.argument);
  filled_[slot] = {producer.number, rows, true};
  if (producer.filled++ == 0) producer.waits_since = clock_.Now();
  producer.rows += rows;
  program_->Send(FrameType::kSlot, slot,
                 absl::StrCat(LittleEndian64(producer.number), LittleEndian32(header.length),
                              LittleEndian32(rows)),
                 header.encoding);
  HandOutCredits();
}

absl::Status Feed::OnEnd(Producer& producer, uint64_t rows) {
  if (rows != producer.rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("END speaks of ", rows, " rows, but ", producer.rows, " have come"));
  }
  producer.ended = true;
  producer.credits = 0;
  producer.waits_since = clock_.Now();
  program_->Send(FrameType::kClosed, producer.number);
  CheckConsumed(producer);
  Advance();
  return absl::OkStatus();
}

void Feed::CheckConsumed(Producer& producer) {
  if (producer.state != State::kOpen || !producer.ended || producer.filled > 0) return;
  if (producer.hello.results && (producer.results < producer.rows || IsBehind(producer))) return;
  producer.state = State::kConsumed;
  setting_.report(
      core::feed_report::Consumed{producer.lease(), static_cast<int64_t>(producer.rows)});
}

// A partition whose results are not read yet would make room for the next one, and so on.
bool Feed::IsBehind(const Producer& producer) const {
  return producer.connection != nullptr && producer.connection->queued() >= setting_.slot_bytes;
}

void Feed::OnDrained() {
  UpdatePause();
  for (auto& [number, producer] : producers_) CheckConsumed(producer);
}

// A producer that has sent END may go: its partition is consumed, and acknowledged, without it.
void Feed::OnProducerGone(uint64_t number) {
  Producer* const producer = Find(number);
  if (producer == nullptr) return;
  producer->connection = nullptr;
  if (producer->state == State::kConsumed) return;
  if (producer->state == State::kOpen && producer->ended && !producer->hello.results) return;
  LogDebug("a producer is gone", {{"task", setting_.task},
                                  {"partition", producer->hello.partition.ToString()},
                                  {"connection", number}});
  if (producer->wants_lease()) setting_.report(core::feed_report::GivenBack{producer->lease()});
  BreakOff(*producer);
  producers_.erase(number);
  UpdatePause();
  Advance();
}

void Feed::BreakOff(Producer& producer) {
  producer.credits = 0;
  if (producer.slot) free_.push_back(*std::exchange(producer.slot, std::nullopt));
  if (program_ != nullptr && producer.state == State::kOpen && !producer.ended) {
    program_->Send(FrameType::kClosed, producer.number, "", kBrokenOff);
  }
}

void Feed::Close(Producer& producer, FrameType type, const std::string& text, bool gives_back) {
  if (gives_back && producer.wants_lease()) {
    setting_.report(core::feed_report::GivenBack{producer.lease()});
  }
  if (producer.connection != nullptr) {
    producer.connection->Send(type, type == FrameType::kAck ? producer.rows : 0, text);
    producer.connection->Finish();
  }
  BreakOff(producer);
  producers_.erase(producer.number);
  // It may be the one for whose reading the program was paused.
  UpdatePause();
}

// Partitions that are consumed are still to be acknowledged.
void Feed::CloseAll(FrameType type, const std::string& text) {
  while (true) {
    const auto found = std::find_if(producers_.begin(), producers_.end(), [](const auto& entry) {
      return entry.second.state != State::kConsumed;
    });
    if (found == producers_.end()) return;
    Close(found->second, type, text, true);
  }
}

void Feed::Refuse(const std::string& sentence) { CloseAll(FrameType::kAway, sentence); }

void Feed::OnAnswer(const core::feed_order::Answer& answer) {
  using Verdict = core::feed_order::Answer::Verdict;
  Producer* const producer = Find(answer.connection);
  // The producer may have gone, and the answer may be another feed's.
  if (producer == nullptr ||
      (producer->state != State::kAsking && producer->state != State::kBusy)) {
    return;
  }
  switch (answer.verdict) {
    case Verdict::kGranted:
      producer->state = State::kGranted;
      producer->waits_since = clock_.Now();
      break;
    case Verdict::kBusy:
      producer->state = State::kBusy;
      break;
    case Verdict::kSkip:
      Close(*producer, FrameType::kSkip, "", false);
      break;
    case Verdict::kStopped:
      Close(*producer, FrameType::kStop, "", false);
      break;
    case Verdict::kRefused:
      Close(*producer, FrameType::kError, answer.sentence, false);
      break;
  }
  Advance();
}

void Feed::OnRecorded(uint64_t number) {
  Producer* const producer = Find(number);
  if (producer == nullptr || producer->state != State::kConsumed) return;
  const core::FeedPartition& partition = producer->hello.partition;
  acknowledged_.Add(partition.epoch, partition.partition, partition.partition);
  Close(*producer, FrameType::kAck, "", false);
  Advance();
}

void Feed::OnAwaited(uint64_t number) {
  if (Producer* const producer = Find(number); producer != nullptr) producer->awaited = true;
}

void Feed::Terminate() {
  if (std::exchange(terminated_, true)) return;
  LogInfo("nobody wants more of the feed", {{"task", setting_.task}, {"feed", setting_.name}});
  StopAll();
}

void Feed::End() {
  if (std::exchange(ended_, true)) return;
  LogInfo("the feed has ended", {{"task", setting_.task}, {"feed", setting_.name}});
  StopAll();
}

void Feed::StopAll() {
  CloseAll(FrameType::kStop, "");
  if (program_ != nullptr) program_->Send(FrameType::kEnded, 0);
}

void Feed::Describe(core::feed_report::Endpoint& endpoint) const {
  for (const auto& [number, producer] : producers_) {
    if (producer.has_lease()) endpoint.leases.push_back(producer.lease());
  }
  const std::vector<core::FeedRange> ranges = acknowledged_.Ranges(setting_.name);
  endpoint.acknowledged.insert(endpoint.acknowledged.end(), ranges.begin(), ranges.end());
  if (terminated_) endpoint.terminated.push_back(setting_.name);
  if (ended_ || ending_) endpoint.ended.push_back(setting_.name);
}

void Feed::AskAgain() const {
  for (const auto& [number, producer] : producers_) {
    if (producer.state == State::kAsking || producer.state == State::kBusy) {
      setting_.report(core::feed_report::Ask{producer.lease()});
    } else if (producer.state == State::kConsumed) {
      setting_.report(
          core::feed_report::Consumed{producer.lease(), static_cast<int64_t>(producer.rows)});
    }
  }
}

uint64_t Feed::consumed(uint64_t number) const {
  const auto found = producers_.find(number);
  return found == producers_.end() ? 0 : found->second.consumed;
}

bool Feed::KeepsProgramWaiting(const Producer& producer) {
  return producer.state == State::kOpen && !producer.ended && producer.connection != nullptr &&
         producer.filled == 0 && (producer.credits > 0 || producer.slot);
}

// One that waits for an ApplicationMaster, or for another attempt, does not wait for this program;
// neither does one whose place is taken by a producer for which the program waits.
bool Feed::WaitsForProgram(const Producer& producer, bool program_waits) const {
  switch (producer.state) {
    case State::kQueued:
    case State::kGranted:
      return !program_waits;
    case State::kOpen:
      return !IsBehind(producer) &&
             (producer.filled > 0 || producer.ended || producer.credits == 0);
    default:
      return false;
  }
}

// A producer may think as long as it likes unless it is in somebody's way: its partition is wanted
// by another attempt, as for a host that hangs with its connections open, or its place in this
// worker, or the feed's end waits for it. So whoever waits as BUSY waits for one that gets on, or
// soon loses its lease.
bool Feed::IsStalled(const Producer& producer, TimePoint now) const {
  if (!KeepsProgramWaiting(producer) ||
      now - std::max(producer.credited_at, producer.connection->received_at()) <
          producer.hello.timeout) {
    return false;
  }
  return producer.awaited || ending_ || Count(State::kQueued) + Count(State::kGranted) > 0;
}

std::string Feed::WhyLate(Producer& producer, bool program_waits, TimePoint now) const {
  const auto seconds = absl::StrCat(
      " for ", std::chrono::duration_cast<std::chrono::seconds>(producer.hello.timeout).count(),
      " s");
  if (!WaitsForProgram(producer, program_waits) || producer.slot) {
    producer.waits_since = now;
  } else if (now - std::max(producer.waits_since, progress_at_) >= producer.hello.timeout) {
    return absl::StrCat("The program of ", setting_.task, " has taken no data of the feed ",
                        setting_.name, seconds,
                        ". See its output (tony logs) for what it does meanwhile; if it needs "
                        "longer, raise the producer's time-out (feed_timeout)");
  }
  if (IsStalled(producer, now)) {
    return absl::StrCat("The producer of ", producer.hello.partition.ToString(),
                        " has sent nothing to ", setting_.task, seconds,
                        ", and others wait for it. See what it does meanwhile; if it needs longer, "
                        "raise its time-out (feed_timeout)");
  }
  if (producer.state == State::kAsking && now - producer.asked_at >= producer.hello.timeout) {
    return absl::StrCat("The ApplicationMaster has not answered ", setting_.task,
                        ", which asks it for ", producer.hello.partition.ToString(), ",", seconds,
                        ". See whether the job has one (tony status), and feed again");
  }
  return "";
}

void Feed::Tick() {
  const TimePoint now = clock_.Now();
  const bool program_waits =
      std::any_of(producers_.begin(), producers_.end(),
                  [](const auto& entry) { return KeepsProgramWaiting(entry.second); });
  std::vector<std::pair<uint64_t, std::string>> late;
  for (auto& [number, producer] : producers_) {
    std::string why = WhyLate(producer, program_waits, now);
    if (!why.empty()) late.emplace_back(number, std::move(why));
  }
  for (const auto& [number, why] : late) {
    LogInfo("a producer is given up",
            {{"task", setting_.task}, {"connection", number}, {"why", why}});
    Close(producers_.at(number), FrameType::kError, why, true);
  }
  if (!late.empty()) Advance();
}

bool Feed::idle() const {
  return program_ == nullptr && producers_.empty() && !terminated_ && !ending_ && !ended_ &&
         acknowledged_.ranges() == 0;
}

}  // namespace tony::feed
