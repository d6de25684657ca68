// Tensors that wait for the same ranks, and were submitted by the same ones, share a line: a
// stalled step has hundreds of tensors and one cause. Names, ranks and answers are cut to a limit.
#include "collective/watch/stall_report.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string_view>
#include <utility>

namespace tony::collective {
namespace {

constexpr size_t kMostNames = 5;
constexpr size_t kMostRanks = 16;
/// Most bytes of one rank's answer, which may be anything.
constexpr size_t kMostAnswerBytes = 8192;
/// Most operations in a summary.
constexpr size_t kMostOperations = 3;
/// How the line of a thread, and the place of the main one, ends in an answer when the thread waits
/// in an operation (python/tony/collective/_stacks.py).
constexpr std::string_view kInOperation = "tony.collective's ";
constexpr std::string_view kAndWaits = ", and waits in ";

std::string Numbers(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < std::min(ranks.size(), kMostRanks); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > kMostRanks) {
    text += " and " + std::to_string(ranks.size() - kMostRanks) + " more";
  }
  return text;
}

/// "61 s"; below ten seconds with one decimal: "0.5 s".
std::string Seconds(std::chrono::nanoseconds time) {
  const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
  const std::string seconds = std::to_string(tenths / 10);
  return (tenths < 100 ? seconds + "." + std::to_string(tenths % 10) : seconds) + " s";
}

std::string Names(const std::vector<std::string>& names) {
  std::string text = names.size() == 1 ? "tensor " : "tensors ";
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    text += (i == 0 ? "'" : ", '") + names[i] + "'";
  }
  if (names.size() > kMostNames) {
    text += " and " + std::to_string(names.size() - kMostNames) + " more";
  }
  return text;
}

/// "hv.py:12" of "hv.py:12 in <module>, and waits in tony.collective's allgather()".
std::string PlainPlace(const std::string& place) {
  const std::string where = place.substr(0, place.find(kAndWaits));
  return where.substr(0, where.find(" in "));
}

}  // namespace

StallReport::StallReport(std::vector<Arrivals::Waiting> waiting) : waiting_(std::move(waiting)) {
  for (const Arrivals::Waiting& one : waiting_) {
    for (const int rank : one.missing) ranks_[rank];
  }
}

std::vector<int> StallReport::missing() const {
  std::vector<int> all;
  for (const auto& [rank, state] : ranks_) all.push_back(rank);
  return all;
}

std::set<std::string> StallReport::names() const {
  std::set<std::string> names;
  for (const Arrivals::Waiting& one : waiting_) names.insert(one.name);
  return names;
}

void StallReport::OnHeard(int rank) {
  const auto found = ranks_.find(rank);
  if (found != ranks_.end() && found->second.state == State::kAsked) {
    found->second.state = State::kHeard;
  }
}

void StallReport::OnMute(int rank) {
  const auto found = ranks_.find(rank);
  if (found != ranks_.end()) found->second.state = State::kMute;
}

void StallReport::OnAnswer(int rank, const std::string& answer) {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end()) return;
  const std::string cut = answer.substr(0, kMostAnswerBytes);
  const size_t line = std::min(cut.find('\n'), cut.size());
  found->second = {.state = State::kAnswered, .place = cut.substr(0, line)};
  if (line < cut.size()) found->second.stacks = cut.substr(line + 1);
}

bool StallReport::complete() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& one) {
    return one.second.state == State::kAnswered || one.second.state == State::kMute;
  });
}

void StallReport::Keep(const std::vector<Arrivals::Waiting>& waiting) {
  std::vector<Arrivals::Waiting> kept;
  std::map<int, Rank> asked;
  for (const Arrivals::Waiting& one : waiting) {
    // The same name may have come, gone and come again meanwhile; then its `since` differs, and it
    // has not stalled.
    const bool is_old = std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& old) {
      return old.name == one.name && old.since == one.since;
    });
    if (!is_old) continue;
    kept.push_back(one);
    for (const int rank : one.missing) asked[rank] = ranks_[rank];
  }
  waiting_ = std::move(kept);
  ranks_ = std::move(asked);
}

std::string StallReport::Where(int rank) const {
  const Rank& asked = ranks_.at(rank);
  switch (asked.state) {
    // The links' thread answers at once, so its silence says more than that of the program's
    // thread.
    case State::kAsked:
      return ", which does not answer: its process is stopped, or cannot be reached";
    case State::kHeard:
      return ", which does not answer: it is in code that holds Python's lock";
    case State::kMute:
      return ", whose program does not say where it stands";
    case State::kAnswered:
      return ", which stands at " + asked.place;
  }
  return "";
}

std::string StallReport::Sentence(const std::vector<std::string>& names,
                                  const Arrivals::Waiting& waiting, Deadline now) const {
  std::string text = Names(names) + ": " + Numbers(waiting.arrived) +
                     (waiting.arrived.size() == 1 ? " waits" : " wait") + " since " +
                     Seconds(now - waiting.since) + " for " + Numbers(waiting.missing);
  return waiting.missing.size() == 1 ? text + Where(waiting.missing[0]) : text;
}

std::string StallReport::Sentence(Deadline now) const {
  return Sentence({waiting_.front().name}, waiting_.front(), now);
}

bool StallReport::Waits(int rank) const {
  return std::any_of(waiting_.begin(), waiting_.end(), [rank](const Arrivals::Waiting& one) {
    return std::find(one.arrived.begin(), one.arrived.end(), rank) != one.arrived.end();
  });
}

std::string StallReport::CommonPlace() const {
  const std::string& place = ranks_.begin()->second.place;
  const bool common = std::all_of(ranks_.begin(), ranks_.end(), [&](const auto& one) {
    return one.second.state == State::kAnswered && Waits(one.first) &&
           PlainPlace(one.second.place) == PlainPlace(place);
  });
  if (!common || ranks_.size() < 2) return "";
  return (ranks_.size() == 2 ? ", both at " : ", all at ") + PlainPlace(place);
}

std::string StallReport::Summary() const {
  std::string text;
  size_t operations = 0;
  std::vector<std::vector<int>> said;
  for (const Arrivals::Waiting& one : waiting_) {
    // A step has hundreds of tensors; the first of those that the same ranks wait for is enough.
    if (std::find(said.begin(), said.end(), one.arrived) != said.end()) continue;
    said.push_back(one.arrived);
    if (++operations > kMostOperations) break;
    text += (text.empty() ? "" : ", ") + Numbers(one.arrived) + " in " + one.name;
  }
  if (const std::string place = CommonPlace(); !place.empty()) return text + place;
  size_t ranks = 0;
  for (const auto& [rank, asked] : ranks_) {
    if (++ranks > kMostOperations) break;
    text += "; rank " + std::to_string(rank);
    text += asked.state == State::kAnswered ? " at " + asked.place : " does not say where it is";
  }
  return text;
}

bool StallReport::IsDeadlock() const {
  return !ranks_.empty() && std::all_of(ranks_.begin(), ranks_.end(), [this](const auto& one) {
    const Rank& rank = one.second;
    if (rank.state != State::kAnswered || !Waits(one.first)) return false;
    if (rank.place.find(kAndWaits) == std::string::npos) return false;
    // Another thread that does something may be about to submit what the others wait for.
    std::istringstream lines(rank.stacks);
    for (std::string line; std::getline(lines, line);) {
      if (line.find(kInOperation) == std::string::npos) return false;
    }
    return true;
  });
}

std::string StallReport::Text(Deadline now) const {
  std::string text = "tony.collective: tensors wait for ranks that have not submitted them\n";
  std::vector<bool> said(waiting_.size());
  for (size_t i = 0; i < waiting_.size(); ++i) {
    if (said[i]) continue;
    std::vector<std::string> names;
    for (size_t j = i; j < waiting_.size(); ++j) {
      if (waiting_[j].arrived != waiting_[i].arrived ||
          waiting_[j].missing != waiting_[i].missing) {
        continue;
      }
      said[j] = true;
      names.push_back(waiting_[j].name);
    }
    text += "  " + Sentence(names, waiting_[i], now) + "\n";
    // The sentence says itself where a single missing rank stands.
    if (waiting_[i].missing.size() == 1) continue;
    size_t ranks = 0;
    for (const int rank : waiting_[i].missing) {
      if (++ranks <= kMostRanks) text += "    rank " + std::to_string(rank) + Where(rank) + "\n";
    }
  }
  size_t ranks = 0;
  for (const auto& [rank, asked] : ranks_) {
    if (asked.stacks.empty() || ++ranks > kMostRanks) continue;
    text += "  threads of rank " + std::to_string(rank) + ":\n";
    std::istringstream lines(asked.stacks);
    for (std::string line; std::getline(lines, line);) text += "    " + line + "\n";
  }
  return text;
}

}  // namespace tony::collective
