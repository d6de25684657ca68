// Every check uses the code that a job would use, so that what is said here is what jobs meet.
#include "client/verbs/machine_checks.h"

#include <sys/resource.h>

#include <chrono>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "backend/local/ledger.h"
#include "backend/local/ledger_choice.h"
#include "client/jobs/local_folder.h"
#include "jobfile/job/job_builder.h"
#include "os/containment/containment_choice.h"
#include "os/machine/gpus.h"
#include "os/machine/machine.h"
#include "os/processes/run_program.h"

namespace tony::client {
namespace {

using Kind = Finding::Kind;

/// Each process of a job of 1,000 tasks on one machine needs a few descriptors.
constexpr rlim_t kManyFiles = 65'536;
constexpr rlim_t kManyProcesses = 4'096;
constexpr std::chrono::seconds kPythonPatience{20};
/// Prints the version and the path of the interpreter.
constexpr char kPythonCode[] =
    "import sys; print('.'.join(map(str, sys.version_info[:3])), sys.executable)";

Finding CheckFolder(const jobfile::LocalSettings& settings) {
  const auto folder = OpenLocalFolder(settings.dir);
  if (folder.ok()) return {Kind::kFine, "jobs' folder", settings.dir, ""};
  return {Kind::kWrong, "jobs' folder", std::string(folder.status().message()),
          "--conf tony.local.dir=FOLDER, or the key in the site file"};
}

Finding CheckLedger(const jobfile::LocalSettings& settings) {
  const backend::Ledger::Options options = backend::LedgerOfNewJobs(settings);
  const auto ledger = backend::Ledger::Open(options);
  const auto claims = ledger.ok() ? ledger->Claims() : ledger.status();
  if (!claims.ok()) {
    return {Kind::kWrong, "ledger", std::string(claims.status().message()), ""};
  }
  if (options.kind == backend::Ledger::Kind::kShared) {
    return {Kind::kFine, "ledger",
            absl::StrCat(options.folder, ": the jobs of all users see each other"), ""};
  }
  if (settings.ledger.empty()) {
    return {Kind::kFine, "ledger", "private, as tony.local.ledger says", ""};
  }
  return {Kind::kLess, "ledger",
          "jobs of other users of this machine are not seen, and may be given the same GPUs",
          absl::StrCat("sudo install -d -m 1777 ", settings.ledger)};
}

Finding CheckContainment() {
  for (const auto& way : os::ContainmentsFor("doctor", {})) {
    const absl::Status prepared = way->Prepare();
    way->CleanUp();
    if (!prepared.ok()) continue;
    const bool best = way->limits_memory();
    return {
        best ? Kind::kFine : Kind::kLess, "containment",
        absl::StrCat(
            "by ", way->name(),
            best ? "; the kernel enforces memory limits" : "; tony itself watches memory limits"),
        best ? "" : "a control group that you may write makes limits exact (docs/architecture.md)"};
  }
  return {Kind::kWrong, "containment", "no way of containment works", ""};
}

Finding CheckGpus(const jobfile::LocalSettings& settings) {
  if (settings.gpus >= 0) {
    return {Kind::kFine, "GPUs", absl::StrCat(settings.gpus, ", as tony.local.gpus says"), ""};
  }
  const os::GpuInventory inventory = os::DetectGpus(settings.gpu_program, settings.gpu_timeout);
  if (inventory.gpus.empty()) {
    return {Kind::kLess, "GPUs", absl::StrCat("none: ", inventory.reason), ""};
  }
  return {Kind::kFine, "GPUs",
          absl::StrCat(inventory.gpus.size(), ", the first one is ", inventory.gpus[0].name), ""};
}

Finding CheckPython() {
  const auto python = os::RunWithDeadline({"python3", "-c", kPythonCode}, kPythonPatience);
  if (!python.ok() || !python->status.ok()) {
    return {Kind::kLess, "Python",
            python.ok() ? "python3 does not start" : std::string(python.status().message()),
            "install python3, or give --python_binary_path"};
  }
  return {Kind::kFine, "Python", std::string(absl::StripAsciiWhitespace(python->standard_output)),
          ""};
}

Finding CheckLimit(const char* what, int resource, rlim_t enough, const char* remedy) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) {
    return {Kind::kLess, what, "the limit cannot be read", ""};
  }
  const std::string most =
      limit.rlim_max == RLIM_INFINITY ? "no limit" : absl::StrCat("at most ", limit.rlim_max);
  if (limit.rlim_max >= enough) return {Kind::kFine, what, most, ""};
  return {Kind::kLess, what, absl::StrCat(most, ", too few for large jobs"), remedy};
}

Finding CheckMemory(const jobfile::LocalSettings& settings) {
  const auto machine = os::ReadMachine();
  if (!machine.ok()) {
    return {Kind::kWrong, "memory", std::string(machine.status().message()), ""};
  }
  const int64_t memory_mb =
      settings.memory_mb > 0 ? settings.memory_mb : machine->memory_bytes / (1024 * 1024);
  return {Kind::kFine, "memory",
          absl::StrCat(memory_mb, " MiB for all jobs, ", machine->cores, " cores"), ""};
}

Finding CheckCluster(const CommandLine& line, const VerbContext& context) {
  CommandLine on_yarn = line;
  on_yarn.options["backend"] = {"yarn"};
  const auto jobs = OpenJobs(on_yarn, context, "application_0_0000");
  const auto list = jobs.ok() ? (*jobs)->List() : jobs.status();
  if (!list.ok()) {
    return {Kind::kLess, "Hadoop cluster", std::string(list.status().message()),
            "docs/yarn.md says what a cluster needs"};
  }
  return {Kind::kFine, "Hadoop cluster",
          absl::StrCat("it answers; it knows ", list->size(), " jobs of tony"), ""};
}

}  // namespace

std::vector<Finding> CheckMachine(const CommandLine& line, const VerbContext& context,
                                  const jobfile::Configuration& configuration) {
  const jobfile::LocalSettings settings = jobfile::BuildLocalSettings(configuration);
  std::vector<Finding> findings = {
      CheckFolder(settings),
      CheckLedger(settings),
      CheckMemory(settings),
      CheckGpus(settings),
      CheckContainment(),
      CheckPython(),
      CheckLimit("open files", RLIMIT_NOFILE, kManyFiles,
                 "raise the hard limit: ulimit -Hn, or LimitNOFILE= of the session's service"),
      CheckLimit("processes", RLIMIT_NPROC, kManyProcesses,
                 "raise the hard limit: ulimit -Hu, or TasksMax= of the session's service"),
  };
  if (!context.environment.hadoop_conf_dir.empty()) {
    findings.push_back(CheckCluster(line, context));
  }
  return findings;
}

}  // namespace tony::client
