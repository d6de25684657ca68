// A validated job with the settings of its backend, and the problems of its configuration.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/model/job_description.h"
#include "jobfile/job/image_settings.h"
#include "jobfile/job/yarn_settings.h"
#include "jobfile/values/user_shares.h"
#include "jobfile/xml/problem.h"

namespace tony::jobfile {

/// Limit on the tasks of a job.
inline constexpr int kMaxTasks = 10'000;

/// The settings of the local backend. A plain value.
struct LocalSettings {
  std::string dir;     ///< absolute; folder of jobs and of the private ledger
  std::string ledger;  ///< absolute; folder of all users' ledger. Empty: the private ledger
  /// Whether a job fails if the folder of all users' ledger is missing. Otherwise it then uses the
  /// private one.
  bool needs_ledger = false;
  UserShares user_gpus;       ///< what the jobs of one user may have together
  UserShares user_memory_mb;  ///< MiB
  UserShares user_vcores;
  int gpus = -1;                                    ///< -1: detect
  int vcores = 0;                                   ///< 0: vcores are shares
  int64_t memory_mb = 0;                            ///< MiB; 0: the machine's memory
  std::string gpu_program;                          ///< `nvidia-smi` or a path to it
  std::chrono::milliseconds gpu_timeout{10000};     ///< for one run of gpu_program
  std::chrono::milliseconds ledger_timeout{10000};  ///< for the ledger's lock
  int history_days = 30;  ///< days until an ended job is removed; 0 or less: never
  /// Whether each container sees the GPUs that it was granted and no others, numbered from 0, as
  /// those of an image do.
  bool hides_other_gpus = false;

  bool operator==(const LocalSettings&) const = default;
};

/// The contents of the job's archives, besides the `files` of the task types. A plain value.
struct Packaging {
  std::string src_dir;      ///< absolute path of a folder or archive; empty: none
  std::string python_venv;  ///< absolute path of a folder or archive; empty: none
  std::string
      python_binary_path;  ///< as given: absolute, or inside the virtual environment; empty: none

  bool operator==(const Packaging&) const = default;
};

/// Whether to check that the files named by a configuration exist. They exist on the submitting
/// machine only, so the ApplicationMaster turns the checks off.
enum class FileChecks { kOn, kOff };

/// The backend on which a job runs.
enum class Backend { kLocal, kYarn, kLauncher };

/// The result of BuildJob().
struct BuildResult {
  core::JobDescription
      job;  ///< complete if there is no problem; `program_archive` and `venv_archive` stay empty
  Backend backend = Backend::kLocal;
  LocalSettings local;
  YarnSettings yarn;
  ImageSettings images;
  Packaging packaging;
  std::vector<Problem> notes;     ///< remarks about accepted keys; without remedies
  std::vector<Problem> problems;  ///< those of single keys first, in the order of the configuration

  bool ok() const { return problems.empty(); }
};

/// The interpreter's path as seen from a task's working folder: `venv/<path>` if the path is
/// relative and there is a virtual environment, otherwise the path as given. Empty: no interpreter
/// is set.
std::string InterpreterInTask(const Packaging& packaging);

}  // namespace tony::jobfile
