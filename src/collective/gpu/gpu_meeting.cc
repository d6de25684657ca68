// The meeting is a sequence of allgathers of fixed-size records. All ranks see the same records, so
// all of them come to the same verdict.
#include "collective/gpu/gpu_meeting.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "collective/gpu/transport.h"

namespace tony::collective {
namespace {

/// All records have the same size, so no rank has to announce its size first.
constexpr size_t kFaultBytes = 895;
constexpr size_t kIdBytes = sizeof(NcclUniqueId::bytes);
struct Record {
  uint8_t has_id = 0;
  char fault[kFaultBytes] = {};
  char id[kIdBytes] = {};
};
static_assert(sizeof(Record) == 1024);

/// Extra time for the rounds after NCCL's connecting: a rank that fails at once waits for ranks
/// that try until the deadline.
constexpr auto kAfterNccl = std::chrono::seconds(10);

// Cuts a text so that it fits into a Record with its terminating zero.
std::string Bounded(std::string text) {
  if (text.size() >= kFaultBytes) text = text.substr(0, kFaultBytes - 4) + "...";
  return text;
}

}  // namespace

Result<std::vector<GpuMeeting::Word>> GpuMeeting::Exchange(const Word& mine, Deadline deadline) {
  Record own;
  const std::string fault = Bounded(mine.fault);
  std::memcpy(own.fault, fault.data(), fault.size());
  if (mine.id.size() == kIdBytes) {
    own.has_id = 1;
    std::memcpy(own.id, mine.id.data(), kIdBytes);
  }
  const auto ranks = static_cast<size_t>(host_.ranks());
  std::vector<Record> records(ranks);
  Status told =
      host_.AllGather(&own, records.data(), std::vector<size_t>(ranks, sizeof(Record)), deadline);
  if (!told.ok()) return told;
  std::vector<Word> words;
  for (const Record& record : records) {
    words.push_back(
        {.fault = record.fault, .id = record.has_id != 0 ? std::string(record.id, kIdBytes) : ""});
  }
  return words;
}

Status GpuMeeting::Verdict(const std::vector<Word>& words) const {
  const auto faulty = std::find_if(words.begin(), words.end(),
                                   [](const Word& word) { return !word.fault.empty(); });
  if (faulty == words.end()) return {};
  const auto rank = static_cast<size_t>(faulty - words.begin());
  return {Code::kFailedPrecondition, "no operation on GPUs, since rank " +
                                         std::to_string(names_[rank]) +
                                         " cannot take part: " + faulty->fault};
}

Result<GpuMeeting::Met> GpuMeeting::Meet(
    RankGpu& gpu, const NcclGroup::Options& options,
    const std::function<void(std::shared_ptr<NcclGroup>)>& made, Deadline deadline) {
  Word mine;
  // A rank that cannot take part goes on to the exchange: the others wait for its record.
  auto opened = gpu.Open();
  if (!opened.ok()) mine.fault = opened.status().message();
  if (opened.ok() && host_.rank() == 0) {
    auto id = opened->nccl->CreateUniqueId();
    if (id.ok()) mine.id = *id;
    if (!id.ok()) mine.fault = id.status().message();
  }
  auto words = Exchange(mine, deadline);
  if (!words.ok()) return words.status();
  if (Status able = Verdict(*words); !able.ok()) return able;

  auto created = NcclGroup::Create(
      opened->nccl, opened->device,
      {.ranks = names_, .position = host_.rank(), .unique_id = words->front().id}, options);
  auto all = Exchange({.fault = created.status().message(), .id = ""}, deadline);
  if (!all.ok()) return all.status();
  if (Status able = Verdict(*all); !able.ok()) return able;

  const std::shared_ptr<NcclGroup> group = std::move(*created);
  // From here on Fail() can abort the group, also while Connect() waits.
  made(group);
  const Status connected = group->Connect(deadline);
  const Deadline later = deadline + kAfterNccl;
  all = Exchange({.fault = connected.message(), .id = ""}, later);
  if (!all.ok()) return all.status();
  if (Status able = Verdict(*all); !able.ok()) return able;

  // A limitation is no fault, so this round needs no verdict.
  auto limitations = Exchange({.fault = group->limitation(), .id = ""}, later);
  if (!limitations.ok()) return limitations.status();
  Met met = {.group = group,
             .device = opened->device,
             .transport = Describe(DetectTransport(*opened->nccl, *opened->device, sys_)),
             .limitation = ""};
  for (const Word& word : *limitations) {
    if (met.limitation.empty()) met.limitation = word.fault;
  }
  return met;
}

}  // namespace tony::collective
