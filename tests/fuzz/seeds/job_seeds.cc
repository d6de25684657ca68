// Seeds as the parts of one job tell each other, and write down.
#include <memory>

#include "appmaster/record/journal.h"
#include "collective/group/switch_points.h"
#include "collective/request/wire.h"
#include "common/fake_clock.h"
#include "core/rendezvous/slot_plan.h"
#include "driver/elastic_messages.h"
#include "feed/frame.h"
#include "rpc/convert/convert_rendezvous.h"
#include "rpc/convert/event_json.h"
#include "tests/driver/worker_pickle.h"
#include "tests/fuzz/seeds/seeds.h"
#include "tests/fuzz/support/memory_job_files.h"
#include "tests/rpc/every_event.h"

namespace tony::fuzz {
namespace {

namespace decision = core::decision;
using collective::Operation;

void AddEvents(Seeds& seeds) {
  std::string lines;
  int64_t number = 0;
  for (const core::JobEventBody& body : rpc::FullBodies("text ü")) {
    ++number;
    lines += rpc::EventToJsonLine({number, 1'700'000'000'000 + number, body}) + "\n";
  }
  seeds.push_back({"history", "every-event", lines});
  seeds.push_back({"history", "cut-off", lines.substr(0, lines.size() - 20)});
  seeds.push_back(
      {"history", "summary", R"({"schema_version":1,"job_id":"a","gpus":4,"events_bytes":9})"});
  seeds.push_back({"history", "gap",
                   rpc::EventToJsonLine({7, 1, core::JobNote{"a"}}) + "\nnothing\n" +
                       rpc::EventToJsonLine({9, 2, core::JobNote{"b"}}) + "\n"});
}

core::Decisions EveryDecision() {
  auto spec = std::make_shared<core::ClusterSpec>();
  spec->endpoints = {{{"worker", 0}, "h", 2222, "id", "0,1", false},
                     {{"ps", 0}, "::1", 1, "id", "", true}};
  const core::TaskExit exit{core::TaskExit::Cause::kSignaled, 0, 9, "why", {"a", "b"}};
  core::Verdict verdict;
  verdict.outcome = core::Outcome::kFailed;
  verdict.reason = core::Reason::kTaskLost;
  verdict.guilty = core::TaskId{"worker", 1};
  verdict.exit = exit;
  const core::Container container{"j-c0001", "worker", "h", "id", {2, 3}, {64, 1, 2}};
  return {decision::ContainerBound{container, {"worker", 0}},
          decision::GangReleased{0, spec},
          decision::PlanAccepted{0, {5000, true, core::PlanSlots({{"a", 3}}, 3).value()}},
          decision::TaskConcluded{{"worker", 0}, exit},
          decision::TasksRestarted{
              1, {}, "it failed", core::TaskId{"worker", 0}, {1, 2, 3, 4}, std::chrono::seconds(2)},
          decision::TasksRestarted{1, {{"worker", 1}}, "", std::nullopt, {}, {}},
          decision::TrackingStopped{"ps"},
          decision::VerdictReached{verdict}};
}

void AddDecisions(Seeds& seeds) {
  const FakeClock clock;
  const auto files = std::make_shared<FilesByName>();
  for (const core::Decision& one : EveryDecision()) {
    auto journal = appmaster::Journal::Open(std::make_unique<MemoryJobFiles>(files), clock, "boot");
    if (journal.ok()) (void)journal->Write({one});
  }
  std::string bytes;
  for (const auto& [name, contents] : *files) bytes += contents + '\0';
  for (char kind = 0; kind < 3; ++kind) {
    seeds.push_back({"journal", std::string("job-") + static_cast<char>('0' + kind), kind + bytes});
  }
}

void AddReplicas(Seeds& seeds) {
  const auto value = std::make_shared<const std::string>("value");
  const std::string requests =
      rpc::ToFrame(core::ChangeRequest{7, core::PutValue{"global", "0", value}}) +
      rpc::SignOfLife() + rpc::ToFrame(core::ChangeRequest{8, core::RemoveValue{"global", "0"}}) +
      rpc::ToFrame(core::AskedFor{core::kRankScope, "host:0"});
  seeds.push_back({"replica_frames", "requests", '\4' + requests});
  std::string messages;
  const core::BeginRound begin{core::PlanSlots({{"host", 2}}, 2).value()};
  for (const core::ReplicaMessage& message : std::initializer_list<core::ReplicaMessage>{
           core::SnapshotMark::kBegin, core::StoreOperation(begin),
           core::StoreOperation(core::PutValue{"global", "1", value}), core::SnapshotMark::kEnd,
           core::StoreOperation(core::RemoveValue{"global", "1"}),
           core::ChangeDone{7, absl::ResourceExhaustedError("full")}}) {
    const rpc::ReplicaFrame frame = rpc::ToFrame(message);
    messages += frame.head + (frame.value ? *frame.value : "");
  }
  seeds.push_back({"replica_frames", "messages", '\1' + messages});
}

void AddFeeds(Seeds& seeds) {
  using feed::FormatFrame;
  using feed::FrameType;
  const std::string producer =
      FormatFrame({.type = FrameType::kHello, .argument = feed::kVersion},
                  R"({"token":"00","feed":"train","epoch":0,"partition":3,"schema":{"x":[1]}})") +
      FormatFrame({.type = FrameType::kBatch, .encoding = 1, .argument = 2}, "two rows") +
      FormatFrame({.type = FrameType::kEnd, .argument = 2}, "");
  seeds.push_back({"feed_frames", "producer", std::string("\3\0", 2) + producer});
  const std::string program =
      FormatFrame({.type = FrameType::kAttach, .argument = feed::kVersion}, R"({"feed":"train"})") +
      FormatFrame({.type = FrameType::kRelease, .argument = 4}, "") +
      FormatFrame({.type = FrameType::kProgramResult, .argument = 1},
                  feed::LittleEndian64(1) + "result") +
      FormatFrame({.type = FrameType::kNext, .argument = 1}, "") +
      FormatFrame({.type = FrameType::kTerminate}, "");
  seeds.push_back({"feed_frames", "program", std::string("\1\1", 2) + program});
}

void AddElastic(Seeds& seeds) {
  const driver::WorkerAddress one{{{"lo", "127.0.0.1", 41234}}, driver::TestSecret()};
  const driver::WorkerAddress several{
      {{"eth0", "10.0.0.1", 2000}, {"eth0", "10.0.0.2", 2001}, {"lo", "127.0.0.1", 65535}},
      driver::TestSecret()};
  seeds.push_back({"elastic_messages", "one", driver::PickleOf(one)});
  seeds.push_back({"elastic_messages", "several", driver::PickleOf(several)});
  seeds.push_back(
      {"elastic_messages", "request",
       driver::HostsUpdatedRequest(driver::TestSecret(), 1'700'000'000, driver::HostChange::kMixed)
           .value()});
}

void AddRanks(Seeds& seeds) {
  collective::Request request{.name = "w", .shape = {3, 4}};
  collective::Request gather = request;
  gather.name = "g";
  gather.kind.operation = Operation::kAllToAll;
  gather.splits = {3};
  gather.group = "group";
  gather.group_size = 1;
  collective::Request add{.name = "set"};
  add.kind.operation = Operation::kAddSet;
  add.members = {0};
  const collective::Submission submission{.requests = {request, gather, add}, .joined = false};
  seeds.push_back({"collective_wire", "submission", collective::Encode(submission)});
  seeds.push_back({"collective_wire", "known", collective::Encode({.known = {1, 2}})});
  collective::Decision decided;
  decided.tensors = {{.name = "w", .id = 1, .elements = 12, .lengths = {3}}};
  decided.points = collective::SwitchPoints{}.Encode();
  seeds.push_back({"collective_wire", "decision", collective::Encode(decided)});
  seeds.push_back({"collective_wire", "points", decided.points});
  // A step of each rank for the same tensor, an allreduce of two numbers.
  std::string steps;
  for (const char what : {0, 1, 2, 0, 1, 2}) steps += {what, 1, 32, 0, 2, 1, 0};
  seeds.push_back({"collective_coordinator", "allreduce", steps});
  std::string sets;
  for (const char what : {0, 1, 2}) sets += {what, 2, 6, 0, char(128)};
  for (const char what : {0, 1, 2}) sets += {what, 3, 7, 0, 16};
  seeds.push_back({"collective_coordinator", "sets", sets});
  seeds.push_back({"collective_coordinator", "join", "\xfa\xfb\xfc" + steps});
}

}  // namespace

void AddJobSeeds(Seeds& seeds) {
  AddEvents(seeds);
  AddDecisions(seeds);
  AddReplicas(seeds);
  AddFeeds(seeds);
  AddElastic(seeds);
  AddRanks(seeds);
}

}  // namespace tony::fuzz
