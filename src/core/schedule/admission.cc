// A pure function over all claims; every refusal and wait comes with the sentence that explains it.
#include "core/schedule/admission.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/schedule/amount.h"
#include "core/schedule/user_limits.h"

namespace tony::core {
namespace {

/// The most jobs that a sentence names.
constexpr size_t kMaxNamedJobs = 3;

std::vector<Dimension> HardDimensions(const Capacity& capacity) {
  if (capacity.vcores_hard) return {kGpus, kMemory, kVcores};
  return {kGpus, kMemory};
}

Amount TotalOf(const Capacity& capacity) {
  return {.memory_mb = capacity.memory_mb,
          .vcores = capacity.vcores,
          .gpus = static_cast<int64_t>(capacity.gpus.size())};
}

Amount AmountOf(const ContainerRequest& request) {
  Amount sum;
  sum.Add(request.resources, request.count);
  return sum;
}

std::set<int> FreeGpus(const Capacity& capacity, const Claim& own,
                       const std::vector<Claim>& others) {
  std::set<int> free(capacity.gpus.begin(), capacity.gpus.end());
  const auto take = [&free](const Claim& claim) {
    for (const Grant& grant : claim.held) {
      for (int gpu : grant.gpus) free.erase(gpu);
    }
  };
  take(own);
  for (const Claim& claim : others) take(claim);
  return free;
}

/// The amount that no job holds. At least zero: jobs with other settings may have taken more than
/// `capacity`.
Amount FreeOf(const Capacity& capacity, const Claim& own, const std::vector<Claim>& others) {
  Amount held = HeldBy(own);
  for (const Claim& claim : others) {
    for (const Grant& grant : claim.held) held.Add(grant.resources, 1);
  }
  return {.memory_mb = std::max<int64_t>(0, capacity.memory_mb - held.memory_mb),
          .vcores = std::max<int64_t>(0, capacity.vcores - held.vcores),
          .gpus = static_cast<int64_t>(FreeGpus(capacity, own, others).size())};
}

std::string NameOf(const Claim& claim) {
  return absl::StrCat("job ", claim.job_id, claim.user.empty() ? "" : " of " + claim.user, " (pid ",
                      claim.pid, ")");
}

/// The requests that ask for some of `dimension`: "2 x worker with 4096, 1 x ps with 2048".
std::string Breakdown(const Dimension& dimension, const std::vector<ContainerRequest>& requests) {
  std::vector<std::string> parts;
  for (const ContainerRequest& request : requests) {
    if (dimension.Of(AmountOf(request)) == 0) continue;
    Amount each;
    each.Add(request.resources, 1);
    parts.push_back(absl::StrCat(request.count, " x ", request.type, " with ", dimension.Of(each)));
  }
  return absl::StrJoin(parts, ", ");
}

std::optional<NeverFits> CheckTotal(const Capacity& capacity, const Amount& held,
                                    const std::vector<ContainerRequest>& requests) {
  for (const Dimension& dimension : HardDimensions(capacity)) {
    const int64_t wants = dimension.Of(WantedIn(requests));
    const int64_t holds = dimension.Of(held);
    const int64_t has = dimension.Of(TotalOf(capacity));
    if (wants == 0 || holds + wants <= has) continue;
    // The type with the largest request is the best one to lower.
    const auto largest = std::max_element(
        requests.begin(), requests.end(), [&](const auto& left, const auto& right) {
          return dimension.Of(AmountOf(left)) < dimension.Of(AmountOf(right));
        });
    return NeverFits{absl::StrCat(
        "the job needs ", dimension.Show(wants), " (", Breakdown(dimension, requests), ")",
        holds > 0 ? absl::StrCat(" besides the ", holds, " that it holds") : "", ", but ",
        capacity.host, " has ", dimension.Show(has), " in total",
        dimension.member == &Amount::gpus && !capacity.gpu_note.empty()
            ? absl::StrCat(" (", capacity.gpu_note, ")")
            : "",
        ": lower tony.", largest->type, ".", dimension.type_key, " or tony.", largest->type,
        ".instances, or correct ", dimension.total_key, " if the machine has more")};
  }
  return std::nullopt;
}

/// The list cut to kMaxNamedJobs entries: ["a", "b", "c", "2 more"].
std::vector<std::string> Shortened(std::vector<std::string> list) {
  if (list.size() <= kMaxNamedJobs) return list;
  const size_t more = list.size() - kMaxNamedJobs;
  list.resize(kMaxNamedJobs);
  list.push_back(absl::StrCat(more, " more"));
  return list;
}

/// The sentence "needs 2 GPUs, 1 of 4 is free; job X (pid 7) holds 3".
std::string Shortage(const Dimension& dimension, int64_t wants, int64_t free, int64_t has,
                     const std::vector<Claim>& others) {
  std::vector<std::string> holders;
  for (const Claim& claim : others) {
    const int64_t part = dimension.Of(HeldBy(claim));
    if (part > 0) holders.push_back(absl::StrCat(NameOf(claim), " holds ", part));
  }
  std::string sentence = absl::StrCat("needs ", dimension.Show(wants), ", ", free, " of ", has,
                                      free == 1 ? " is free" : " are free");
  if (holders.empty()) return sentence;
  return absl::StrCat(sentence, "; ", absl::StrJoin(Shortened(std::move(holders)), ", "));
}

std::string Unblock(const std::vector<Dimension>& short_of, const std::vector<Claim>& others,
                    const std::vector<const Claim*>& ahead) {
  std::vector<std::string> holders;
  bool is_own = false;
  for (const Claim& claim : others) {
    const Amount held = HeldBy(claim);
    if (std::any_of(short_of.begin(), short_of.end(),
                    [&](const Dimension& dimension) { return dimension.Of(held) > 0; })) {
      holders.push_back(NameOf(claim));
      is_own = is_own || claim.user.empty();
    }
  }
  // The request fits into the total, so a shortage means that another job holds something; without
  // holders the job only waits for its turn.
  if (holders.empty()) return absl::StrCat("the start of ", NameOf(*ahead.front()));
  return absl::StrCat("the end of ", absl::StrJoin(Shortened(std::move(holders)), " or "),
                      is_own ? "; `tony kill JOB` ends one" : "");
}

/// The claims that are served before `own`, the next one first. A job of another user that never
/// fits is not among them.
std::vector<const Claim*> AheadOf(const Claim& own, const std::vector<Claim>& others,
                                  const Capacity& capacity) {
  std::vector<const Claim*> ahead;
  for (const Claim& claim : others) {
    const bool is_earlier = !claim.wanted.empty() && claim.ticket < own.ticket;
    const bool may_start =
        claim.user.empty() || !CheckTotal(capacity, HeldBy(claim), claim.wanted).has_value();
    if (is_earlier && may_start) ahead.push_back(&claim);
  }
  std::sort(ahead.begin(), ahead.end(),
            [](const Claim* left, const Claim* right) { return left->ticket < right->ticket; });
  return ahead;
}

/// Whether a job that wants `wanted` delays none of the jobs ahead of it, whenever others end. What
/// is free only grows until the jobs ahead have started, since whoever comes later is behind them.
bool DelaysNobody(const Capacity& capacity, const Amount& wanted, const Amount& free,
                  const std::vector<const Claim*>& ahead) {
  const std::vector<Dimension> dimensions = HardDimensions(capacity);
  return std::all_of(dimensions.begin(), dimensions.end(), [&](const Dimension& dimension) {
    int64_t together = dimension.Of(wanted);
    if (together == 0) return true;
    for (const Claim* claim : ahead) {
      together = std::min(together + dimension.Of(WantedIn(claim->wanted)), kMostSum);
    }
    return together <= dimension.Of(free);
  });
}

MustWait Wait(const std::vector<Dimension>& short_of, std::vector<std::string> sentences,
              const std::vector<Claim>& others, const std::vector<const Claim*>& ahead) {
  if (ahead.size() == 1) {
    sentences.push_back(absl::StrCat(NameOf(*ahead.front()), " asked earlier and is ahead",
                                     short_of.empty() ? ", and this one could delay it" : ""));
  } else if (!ahead.empty()) {
    sentences.push_back(absl::StrCat(ahead.size(), " jobs are ahead, next ", NameOf(*ahead.front()),
                                     short_of.empty() ? ", and this one could delay them" : ""));
  }
  return {.sentence = absl::StrJoin(sentences, "; "), .unblock = Unblock(short_of, others, ahead)};
}

Admitted Assign(const std::vector<ContainerRequest>& requests, std::set<int> free_gpus) {
  Admitted admitted;
  for (const ContainerRequest& request : requests) {
    for (int i = 0; i < request.count; ++i) {
      Grant grant{.resources = request.resources};
      for (int n = 0; n < request.resources.gpus; ++n) {
        grant.gpus.push_back(free_gpus.extract(free_gpus.begin()).value());
      }
      admitted.containers.push_back(std::move(grant));
    }
  }
  return admitted;
}

}  // namespace

std::optional<NeverFits> CheckFits(const Capacity& capacity,
                                   const std::vector<ContainerRequest>& requests) {
  return CheckTotal(capacity, Amount{}, requests);
}

Admission Admit(const Capacity& capacity, const Claim& own, const std::vector<Claim>& all_others) {
  if (auto never = CheckTotal(capacity, HeldBy(own), own.wanted)) return *never;
  if (auto never = CheckUserLimits(own)) return *never;
  const std::vector<Claim> others = WithinLimits(all_others);

  std::vector<const Claim*> ahead = AheadOf(own, others, capacity);
  const Amount wanted = WantedIn(own.wanted);
  const Amount free = FreeOf(capacity, own, others);
  std::vector<Dimension> short_of;
  std::vector<std::string> sentences;
  for (const Dimension& dimension : HardDimensions(capacity)) {
    if (dimension.Of(wanted) <= dimension.Of(free)) continue;
    short_of.push_back(dimension);
    sentences.push_back(Shortage(dimension, dimension.Of(wanted), dimension.Of(free),
                                 dimension.Of(TotalOf(capacity)), others));
  }
  if (short_of.empty() && DelaysNobody(capacity, wanted, free, ahead)) ahead.clear();
  if (auto wait = AwaitUsersShare(own, others); wait && ahead.empty()) return *wait;
  if (!ahead.empty() || !short_of.empty()) {
    return Wait(short_of, std::move(sentences), others, ahead);
  }
  return Assign(own.wanted, FreeGpus(capacity, own, others));
}

}  // namespace tony::core
