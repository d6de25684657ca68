// Plans and whereabouts are lines of text, in a fixed order. A refusal begins with a character of
// its own.
#include "collective/meeting/meeting_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>

namespace tony::collective {
namespace {

constexpr char kRefusal = '!';
constexpr char kWireMac[] = "wire_mac";
constexpr char kLate = '?';  ///< a refusal because a rank has not come

Status NoPlan() {
  return {Code::kFailedPrecondition, "rank 0 says what this version does not know"};
}

}  // namespace

std::string Refusal(const Status& why) {
  return (why.code() == Code::kDeadlineExceeded ? kLate : kRefusal) + why.message();
}

Status AsRefusal(const std::string& text) {
  if (text.empty() || (text.front() != kRefusal && text.front() != kLate)) return {};
  return {text.front() == kLate ? Code::kDeadlineExceeded : Code::kFailedPrecondition,
          text.substr(1)};
}

std::string TakeLine(std::string& text) {
  const size_t end = text.find('\n');
  std::string line = text.substr(0, end);
  text.erase(0, end == std::string::npos ? end : end + 1);
  return line;
}

std::string Whereabouts::Encode() const {
  return host + "\n" + network + "\n" + number + "\n" + (wire_mac ? kWireMac : "");
}

Whereabouts Whereabouts::Decode(const std::string& text) {
  std::string rest = text;
  Whereabouts found;
  found.host = TakeLine(rest);
  found.network = TakeLine(rest);
  found.number = TakeLine(rest);
  found.wire_mac = TakeLine(rest) == kWireMac;
  return found;
}

HostTable MeetingPlan::HostsOf(const std::vector<Whereabouts>& ranks) {
  HostTable hosts;
  std::map<std::string, size_t> index;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto [at, is_new] = index.emplace(ranks[rank].host, hosts.size());
    if (is_new) hosts.emplace_back();
    hosts[at->second].push_back(static_cast<int>(rank));
  }
  return hosts;
}

HostTable MeetingPlan::Apart(int ranks) {
  HostTable hosts;
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back({rank});
  return hosts;
}

std::string MeetingPlan::Encode() const {
  std::string text = run + "\n";
  for (const std::string& number : numbers) text += number + " ";
  text += "\n" + acceptor + "\n" + (loopback ? "loopback" : "") + "\n" + reason + "\n" +
          (wire_mac ? kWireMac : "") + "\n";
  std::vector<std::string> host_of;
  for (size_t host = 0; host < hosts.size(); ++host) {
    for (const int rank : hosts[host]) {
      host_of.resize(std::max(host_of.size(), static_cast<size_t>(rank) + 1));
      host_of[static_cast<size_t>(rank)] = std::to_string(host);
    }
  }
  for (const std::string& host : host_of) text += host + " ";
  return text + "\n" + points.Encode();
}

Result<MeetingPlan> MeetingPlan::Decode(const std::string& text, int ranks) {
  if (Status refused = AsRefusal(text); !refused.ok()) return refused;
  std::string rest = text;
  MeetingPlan plan;
  plan.run = TakeLine(rest);
  std::istringstream numbers(TakeLine(rest));
  plan.numbers.assign(std::istream_iterator<std::string>(numbers), {});
  if (plan.numbers.size() != static_cast<size_t>(ranks)) return NoPlan();
  plan.acceptor = TakeLine(rest);
  plan.loopback = !TakeLine(rest).empty();
  plan.reason = TakeLine(rest);
  plan.wire_mac = TakeLine(rest) == kWireMac;
  // With an acceptor all ranks share memory, and the lines about TCP are not used.
  if (!plan.acceptor.empty()) return plan;
  std::istringstream words(TakeLine(rest));
  auto points = SwitchPoints::Decode(rest, "rank 0");
  if (!points.ok()) return NoPlan();
  plan.points = *points;
  // Hosts are numbered in the order of their first ranks, so a new host has the next number.
  size_t host = 0;
  int rank = 0;
  for (; words >> host; ++rank) {
    if (host > plan.hosts.size()) return NoPlan();
    if (host == plan.hosts.size()) plan.hosts.emplace_back();
    plan.hosts[host].push_back(rank);
  }
  if (rank != ranks) return NoPlan();
  return plan;
}

}  // namespace tony::collective
