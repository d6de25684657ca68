// Translates between the file of members, the store's requests and core::ElasticRounds, which
// decides; here its effects are carried out one by one.
#include "driver/elastic_session.h"

#include <utility>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "core/rendezvous/plan_text.h"
#include "driver/elastic_messages.h"
#include "os/files/files.h"

namespace tony::driver {
namespace {

/// Interval at which a notification is repeated. A worker that is about to begin a round answers
/// that it has heard, and then forgets it. A worker that has not forgotten it recognizes the
/// repetition by its timestamp.
constexpr std::chrono::seconds kNotifyPause{5};

/// Parses "HOST:LOCAL-RANK", where the last colon separates the two; the rank is -1 if the key has
/// another form.
std::pair<std::string, int> ParseSlotKey(const std::string& key) {
  const size_t colon = key.rfind(':');
  int local_rank = -1;
  if (colon == std::string::npos || !absl::SimpleAtoi(key.substr(colon + 1), &local_rank)) {
    return {"", -1};
  }
  return {key.substr(0, colon), local_rank};
}

std::string KeyOf(const core::Slot& slot) { return absl::StrCat(slot.host, ":", slot.local_rank); }

/// The form that Horovod's workers read: they take the first six numbers. tony.collective also
/// takes the round, under which its ranks meet.
std::string SlotText(const core::Slot& slot, int round) {
  return absl::StrJoin({slot.rank, slot.size, slot.local_rank, slot.local_size, slot.cross_rank,
                        slot.cross_size, round},
                       ",");
}

}  // namespace

absl::StatusOr<std::unique_ptr<ElasticSession>> ElasticSession::Begin(EventLoop& loop,
                                                                      const Clock& clock,
                                                                      const Options& options,
                                                                      rendezvous::LocalStore& store,
                                                                      Callbacks callbacks) {
  TONY_ASSIGN_OR_RETURN(auto watcher, os::FolderWatcher::Create());
  TONY_RETURN_IF_ERROR(watcher->Watch(options.output_folder));
  std::unique_ptr<ElasticSession> session(
      new ElasticSession(loop, clock, options, store, std::move(watcher), std::move(callbacks)));
  // The watcher does not report a file that was there before, so it is read once.
  loop.Post(session->lifetime_.Guard([session = session.get()] { session->ReadMembers(); }));
  return session;
}

ElasticSession::ElasticSession(EventLoop& loop, const Clock& clock, const Options& options,
                               rendezvous::LocalStore& store,
                               std::unique_ptr<os::FolderWatcher> watcher, Callbacks callbacks)
    : loop_(loop),
      clock_(clock),
      folder_(options.output_folder),
      host_(options.host),
      store_(store),
      callbacks_(std::move(callbacks)),
      rounds_(*options.elastic),
      notifier_(loop, {}),
      watcher_(std::move(watcher)) {
  watch_ = loop_.WatchReadable(watcher_->fd(), [this] {
    (void)watcher_->Wait(std::chrono::milliseconds(0));
    ReadMembers();
  });
}

void ElasticSession::ReadMembers() {
  const absl::StatusOr<std::string> text =
      os::ReadFile(absl::StrCat(folder_, "/", core::kMembersFileName));
  // The file may not be there yet.
  if (!text.ok()) return LogDebug("there are no members yet", {{"why", text.status().message()}});
  if (*text == members_) return;
  members_ = *text;
  const absl::StatusOr<core::MemberList> list = core::ParseMembers(*text);
  if (!list.ok()) return LogError(std::string(list.status().message()));
  LogInfo("the members have changed",
          {{"members", list->members.size()}, {"finished", list->finished ? "yes" : "no"}});
  CarryOut(rounds_.OnMembers(list->members, list->finished, clock_.Now()));
  callbacks_.on_change();
}

void ElasticSession::OnAsked(const std::string& scope, const std::string& key) {
  if (scope != core::kRankScope) return;
  const auto [host, local_rank] = ParseSlotKey(key);
  LogDebug("a process asks for its place", {{"host", host}, {"local_rank", local_rank}});
  CarryOut(rounds_.OnAsked(host, local_rank, clock_.Now()));
  callbacks_.on_change();
}

// Called by the store's watcher, in the middle of a change; so a worker's address may only have
// effects that do not call the store.
void ElasticSession::OnChange(const core::StoreOperation& operation) {
  const auto* put = std::get_if<core::PutValue>(&operation);
  // Places are handed out by this session.
  if (put == nullptr || put->scope == core::kRankScope) return;
  rounds_.OnCame();
  if (put->scope != core::kWorkerAddressScope) return;
  const auto [host, local_rank] = ParseSlotKey(put->key);
  CarryOut(rounds_.OnAddress(host, local_rank, put->value));
}

void ElasticSession::OnTick() { CarryOut(rounds_.OnTick(clock_.Now())); }

void ElasticSession::CarryOut(const core::ElasticEffects& effects) {
  for (const core::ElasticEffect& effect : effects) {
    if (const auto* begin = std::get_if<core::elastic::Begin>(&effect)) {
      BeginRound(*begin);
    } else if (const auto* notify = std::get_if<core::elastic::Notify>(&effect)) {
      Notify(*notify);
    } else {
      const auto& fail = std::get<core::elastic::Fail>(effect);
      LogWarning("no further round can begin",
                 {{"round", rounds_.round()}, {"why", fail.sentence}});
      callbacks_.on_failed({fail.sentence, fail.missing});
    }
  }
}

// The store begins the round before any place is handed out, so no worker can read a value of the
// old round with its new place. Members without a previous place are new; they learn their place
// from the environment in which they are started.
void ElasticSession::BeginRound(const core::elastic::Begin& begin) {
  core::RendezvousPlan plan;
  plan.round = begin.round;
  for (const core::ElasticAssignment& place : begin.places) {
    plan.slots.push_back(place.slot);
    plan.members.push_back(place.member);
  }
  store_.Begin(plan.slots);
  for (const core::ElasticAssignment& place : begin.places) {
    if (!place.previous) continue;
    const absl::Status handed =
        store_.HandOut(core::kRankScope, KeyOf(*place.previous),
                       std::make_shared<const std::string>(SlotText(place.slot, begin.round)));
    if (!handed.ok()) LogError(std::string(handed.message()));
  }
  callbacks_.on_round(plan);
}

void ElasticSession::Notify(const core::elastic::Notify& notify) {
  const absl::StatusOr<WorkerAddress> address = ParseWorkerAddresses(*notify.address);
  if (!address.ok()) return LogError(std::string(address.status().message()));
  // The first process is notified. The host of a slot may be the machine's name with devices as a
  // suffix, so only its beginning is compared.
  const bool here = rounds_.places().front().slot.host.rfind(host_, 0) == 0;
  LogInfo("a process is told that others have come or gone",
          {{"task", core::TaskOfMember(notify.member)}, {"round", rounds_.round()}});
  notifier_.Notify(*address, here ? WorkerMachine::kThis : WorkerMachine::kAnother,
                   notify.timestamp, HostChange::kMixed, [](const absl::Status& status) {
                     if (!status.ok()) {
                       LogWarning("a process is not told", {{"why", status.message()}});
                     }
                   });
  notify_again_ = loop_.After(kNotifyPause, [this, notify, round = rounds_.round()] {
    if (rounds_.round() == round) Notify(notify);
  });
}

}  // namespace tony::driver
