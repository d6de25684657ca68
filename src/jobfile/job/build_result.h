// A validated job with the settings of its backend, and all that is wrong with its configuration.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/model/job_description.h"
#include "jobfile/job/yarn_settings.h"
#include "jobfile/xml/problem.h"

namespace tony::jobfile {

/// The most tasks that a job may have.
inline constexpr int kMaxTasks = 10'000;

/// What the local backend is told about this machine.
struct LocalSettings {
  std::string dir;                                  ///< absolute; folder of jobs and ledger
  int gpus = -1;                                    ///< -1: detect
  int vcores = 0;                                   ///< 0: vcores are shares
  int64_t memory_mb = 0;                            ///< MiB; 0: all of the machine's
  std::string gpu_program;                          ///< `nvidia-smi` or a path to it
  std::chrono::milliseconds gpu_timeout{10000};     ///< for its answer
  std::chrono::milliseconds ledger_timeout{10000};  ///< for the ledger's lock
  int history_days = 30;  ///< after which ended jobs are removed; 0 or less: never

  bool operator==(const LocalSettings&) const = default;
};

/// What has to be packed into the job's archives, besides the `files` of the task types.
struct Packaging {
  std::string src_dir;      ///< absolute path of a folder or archive; empty: none
  std::string python_venv;  ///< absolute path of a folder or archive; empty: none
  std::string
      python_binary_path;  ///< as given: absolute, or inside the virtual environment; empty: none

  bool operator==(const Packaging&) const = default;
};

/// Whether the files that a configuration names are looked for. They are on the submitting machine
/// only.
enum class FileChecks { kOn, kOff };

/// Where a job runs.
enum class Backend { kLocal, kYarn };

struct BuildResult {
  core::JobDescription
      job;  ///< complete when there is no problem; `program_archive` and `venv_archive` stay empty
  Backend backend = Backend::kLocal;
  LocalSettings local;
  YarnSettings yarn;
  Packaging packaging;
  std::vector<Problem> notes;  ///< accepted, with a word about it; no remedies
  std::vector<Problem>
      problems;  ///< all of them, in the order of the configuration as far as they belong to a key

  bool ok() const { return problems.empty(); }
};

/// The interpreter as a task reaches it from its working folder: `venv/<path>` for a relative path
/// with a virtual environment, else as given; empty when there is none.
std::string InterpreterInTask(const Packaging& packaging);

}  // namespace tony::jobfile
