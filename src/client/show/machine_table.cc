// Columns are as wide as their widest value. GPUs are shown by their indices, which is what their
// users see in nvidia-smi.
#include "client/show/machine_table.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/terminal.h"
#include "core/schedule/amount.h"

namespace tony::client {
namespace {

constexpr size_t kColumns = 7;
using Row = std::array<std::string, kColumns>;

std::string MemoryText(int64_t memory_mb) {
  return memory_mb % 1024 == 0 && memory_mb > 0 ? absl::StrCat(memory_mb / 1024, " GiB")
                                                : absl::StrCat(memory_mb, " MiB");
}

std::string GpusOf(const core::Claim& claim) {
  std::vector<int> gpus;
  for (const core::Grant& grant : claim.held) {
    gpus.insert(gpus.end(), grant.gpus.begin(), grant.gpus.end());
  }
  std::sort(gpus.begin(), gpus.end());
  return gpus.empty() ? "-" : absl::StrJoin(gpus, ",");
}

std::string WantsOf(const core::Claim& claim) {
  if (claim.wanted.empty()) return "-";
  const core::Amount wanted = core::WantedIn(claim.wanted);
  const std::string gpus = wanted.gpus > 0 ? absl::StrCat(core::kGpus.Show(wanted.gpus), ", ") : "";
  return absl::StrCat(gpus, MemoryText(wanted.memory_mb));
}

Row RowOf(const core::Claim& claim, const std::string& own_user) {
  const core::Amount held = core::HeldBy(claim);
  return {SafeText(claim.user.empty() ? own_user : claim.user),
          SafeText(claim.job_id),
          absl::StrCat(claim.pid),
          GpusOf(claim),
          claim.held.empty() ? "-" : MemoryText(held.memory_mb),
          claim.held.empty() ? "-" : absl::StrCat(held.vcores),
          WantsOf(claim)};
}

std::string Summary(const core::Capacity& capacity, const std::vector<core::Claim>& claims) {
  core::Amount held;
  for (const core::Claim& claim : claims) {
    for (const core::Grant& grant : claim.held) held.Add(grant.resources, 1);
  }
  const std::string gpus =
      capacity.gpus.empty()
          ? ""
          : absl::StrCat(held.gpus, " of ",
                         core::kGpus.Show(static_cast<int64_t>(capacity.gpus.size())), " and ");
  return absl::StrCat(SafeText(capacity.host), ": ", gpus, MemoryText(held.memory_mb), " of ",
                      MemoryText(capacity.memory_mb), " of memory are held");
}

}  // namespace

std::string RenderMachine(const core::Capacity& capacity, const std::vector<core::Claim>& claims,
                          const std::string& own_user, int width) {
  std::string text = CutToWidth(Summary(capacity, claims), width) + "\n";
  if (claims.empty()) return text + "No job holds or wants anything.\n";
  std::vector<Row> rows = {{"USER", "JOB", "PID", "GPUS", "MEMORY", "VCORES", "WAITS FOR"}};
  for (const core::Claim& claim : claims) rows.push_back(RowOf(claim, own_user));
  for (const Row& row : rows) {
    std::string line;
    for (size_t column = 0; column < kColumns; ++column) {
      int widest = 0;
      for (const Row& other : rows) widest = std::max(widest, DisplayWidth(other[column]));
      const bool last = column + 1 == kColumns;
      absl::StrAppend(&line, last ? row[column] : PadToWidth(row[column], widest + 2));
    }
    text += CutToWidth(line, width) + "\n";
  }
  return text;
}

}  // namespace tony::client
