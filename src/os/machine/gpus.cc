// Runs nvidia-smi once and parses its comma-separated answer.
#include "os/machine/gpus.h"

#include <chrono>
#include <cstdlib>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/logging.h"
#include "os/processes/run_program.h"

namespace tony::os {
namespace {

constexpr int64_t kMebibyte = 1 << 20;

// The field as a number times `factor`; -1 for "[N/A]", "[Not Supported]" and the like.
int64_t NumberOr(const std::string& field, int64_t factor) {
  double number = 0;
  if (!absl::SimpleAtod(field, &number) || number < 0) return -1;
  return static_cast<int64_t>(number * static_cast<double>(factor));
}

std::optional<Gpu> ParseLine(const std::string& line) {
  std::vector<std::string> fields = absl::StrSplit(line, ',');
  for (std::string& field : fields) absl::StripAsciiWhitespace(&field);
  // A GPU's name may hold commas; the fields around it do not.
  if (fields.size() < 6) return std::nullopt;
  const size_t count = fields.size();
  Gpu gpu;
  if (!absl::SimpleAtoi(fields[0], &gpu.index) || gpu.index < 0) return std::nullopt;
  gpu.uuid = fields[1];
  gpu.name = fields[2];
  for (size_t i = 3; i + 3 < count; ++i) gpu.name += ", " + fields[i];
  gpu.memory_total_bytes = NumberOr(fields[count - 3], kMebibyte);
  gpu.utilization_percent = static_cast<int>(NumberOr(fields[count - 2], 1));
  gpu.memory_used_bytes = NumberOr(fields[count - 1], kMebibyte);
  if (!gpu.uuid.starts_with("GPU-")) return std::nullopt;
  return gpu;
}

// nvidia-smi prints some errors on standard output.
std::string FirstWords(const FinishedProgram& program) {
  const std::string& text =
      program.standard_error.empty() ? program.standard_output : program.standard_error;
  return text.substr(0, std::min<size_t>(text.find('\n'), 200));
}

}  // namespace

std::vector<std::string> GpuQueryArguments() {
  return {"--query-gpu=index,uuid,name,memory.total,utilization.gpu,memory.used",
          "--format=csv,noheader,nounits"};
}

// A line that cannot be parsed does not hide the GPUs of the other lines.
GpuInventory ParseGpuQuery(const std::string& output) {
  GpuInventory inventory;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(output, '\n'))) {
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    if (std::optional<Gpu> gpu = ParseLine(line)) {
      inventory.gpus.push_back(*std::move(gpu));
    } else if (inventory.reason.empty()) {
      inventory.reason = absl::StrCat("nvidia-smi answered a line that is no GPU: ", line);
    }
  }
  return inventory;
}

std::vector<std::string> GpuProcessQueryArguments() {
  return {"--query-compute-apps=pid,gpu_uuid", "--format=csv,noheader"};
}

std::vector<GpuProcess> ParseGpuProcessQuery(const std::string& output) {
  std::vector<GpuProcess> processes;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(output, '\n'))) {
    std::vector<std::string> fields = absl::StrSplit(line, ',');
    for (std::string& field : fields) absl::StripAsciiWhitespace(&field);
    GpuProcess process;
    if (fields.size() != 2 || !absl::SimpleAtoi(fields[0], &process.pid) || process.pid <= 0) {
      continue;
    }
    process.gpu_uuid = std::move(fields[1]);
    processes.push_back(std::move(process));
  }
  return processes;
}

std::vector<GpuProcess> FindGpuProcesses(const std::string& nvidia_smi, Duration limit) {
  std::vector<std::string> command = {nvidia_smi};
  for (std::string& argument : GpuProcessQueryArguments()) command.push_back(std::move(argument));
  const absl::StatusOr<FinishedProgram> program = RunWithDeadline(command, limit);
  if (!program.ok() || !program->status.ok()) {
    LogDebug("the GPUs' processes are not known", {{"program", nvidia_smi}});
    return {};
  }
  return ParseGpuProcessQuery(program->standard_output);
}

GpuInventory DetectGpus(const std::string& nvidia_smi, Duration limit) {
  std::vector<std::string> command = {nvidia_smi};
  for (std::string& argument : GpuQueryArguments()) command.push_back(std::move(argument));
  const absl::StatusOr<FinishedProgram> program = RunWithDeadline(command, limit);
  if (!program.ok()) {
    LogDebug("no GPUs are known", {{"why", program.status().message()}});
    return {.reason = std::string(program.status().message())};
  }
  if (!program->status.ok()) {
    const ExitStatus& status = program->status;
    const std::string how = status.signal != 0 ? absl::StrCat("was ended by signal ", status.signal)
                                               : absl::StrCat("failed with code ", status.code);
    return {.reason = absl::StrCat("'", nvidia_smi, "' ", how, ": ", FirstWords(*program))};
  }
  return ParseGpuQuery(program->standard_output);
}

}  // namespace tony::os
