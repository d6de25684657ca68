// Limits apply to every resource that has one, also to vcores where they are mere shares: a limit
// is a rule, not a measure of what the machine can carry.
#include "core/schedule/user_limits.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/schedule/amount.h"

namespace tony::core {
namespace {

constexpr Dimension kDimensions[] = {kGpus, kMemory, kVcores};

/// The first resource of which `amount` is more than the limits allow; nullptr: there is none.
const Dimension* FindExcess(const Amount& amount, const Limits& limits) {
  const auto* const found =
      std::find_if(std::begin(kDimensions), std::end(kDimensions), [&](const Dimension& dimension) {
        const std::optional<int64_t>& limit = limits.*dimension.limit;
        return limit && dimension.Of(amount) > *limit;
      });
  return found == std::end(kDimensions) ? nullptr : found;
}

Amount Sum(const Amount& left, const Amount& right) {
  return {.memory_mb = std::min(left.memory_mb + right.memory_mb, kMostSum),
          .vcores = std::min(left.vcores + right.vcores, kMostSum),
          .gpus = std::min(left.gpus + right.gpus, kMostSum)};
}

/// Removes from `claim` what exceeds its user's limits together with `held`, what the user's claims
/// before it hold, and adds the rest to `held`.
void Trim(Claim& claim, Amount& held) {
  std::vector<Grant> counted;
  for (Grant& grant : claim.held) {
    Amount with = held;
    with.Add(grant.resources, 1);
    if (FindExcess(with, claim.limits) != nullptr) continue;
    held = with;
    counted.push_back(std::move(grant));
  }
  claim.held = std::move(counted);
  if (FindExcess(Sum(held, WantedIn(claim.wanted)), claim.limits) != nullptr) claim.wanted.clear();
}

}  // namespace

std::optional<NeverFits> CheckUserLimits(const Claim& own) {
  const Amount alone = Sum(HeldBy(own), WantedIn(own.wanted));
  const Dimension* const excess = FindExcess(alone, own.limits);
  if (excess == nullptr || own.wanted.empty()) return std::nullopt;
  return NeverFits{absl::StrCat("the job needs ", excess->Show(excess->Of(alone)),
                                ", but all jobs of this user together may have at most ",
                                *(own.limits.*excess->limit), " (", excess->limit_key,
                                "): lower tony.", own.wanted.front().type, ".", excess->type_key,
                                " or tony.", own.wanted.front().type,
                                ".instances, or ask the machine's administrator for more")};
}

std::optional<MustWait> AwaitUsersShare(const Claim& own, const std::vector<Claim>& others) {
  Amount held = HeldBy(own);
  for (const Claim& claim : others) {
    if (claim.user.empty()) held = Sum(held, HeldBy(claim));
  }
  const Dimension* const excess = FindExcess(Sum(held, WantedIn(own.wanted)), own.limits);
  if (excess == nullptr || own.wanted.empty()) return std::nullopt;
  std::vector<std::string> holders;
  for (const Claim& claim : others) {
    const int64_t part = excess->Of(HeldBy(claim));
    if (claim.user.empty() && part > 0) {
      holders.push_back(absl::StrCat("job ", claim.job_id, " (pid ", claim.pid, ") holds ", part));
    }
  }
  return MustWait{.sentence = absl::StrCat("needs ", excess->Show(excess->Of(WantedIn(own.wanted))),
                                           ", and your jobs may have at most ",
                                           *(own.limits.*excess->limit), " together (",
                                           excess->limit_key, "); ", absl::StrJoin(holders, ", ")),
                  .unblock = "the end of another job of yours; `tony kill JOB` ends one"};
}

std::vector<Claim> WithinLimits(const std::vector<Claim>& claims) {
  std::vector<Claim> counted = claims;
  std::map<std::string, Amount> held;
  for (Claim& claim : counted) {
    if (!claim.user.empty()) Trim(claim, held[claim.user]);
  }
  return counted;
}

}  // namespace tony::core
