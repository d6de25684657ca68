// Finds the running job and its task that a verb's arguments name.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/verbs/verbs.h"
#include "core/model/task_id.h"
#include "rpc/services/job_client.h"

namespace tony::client {

/// A job whose ApplicationMaster can be asked.
struct RunningJob {
  std::unique_ptr<JobCatalog> catalog;
  StoredJob job;
  std::unique_ptr<rpc::JobClient> client;
};

/// Finds the job `wish`. NotFound – there is none, or it has ended; `what` begins the second half
/// of the message, as in "its page has gone with it". Otherwise the codes of OpenJobs() and
/// JobCatalog::Connect().
absl::StatusOr<RunningJob> FindRunningJob(const CommandLine& line, const VerbContext& context,
                                          const std::string& wish, const std::string& what);

/// The one task that `wish` means: TYPE:INDEX, or TYPE if there is one of that type. NotFound – the
/// job has no such task. InvalidArgument – it means several.
absl::StatusOr<core::TaskId> FindOneTask(const StoredJob& job, const std::string& wish);

/// The port in `text`, from 1; `option` and `example` are for the message. InvalidArgument – it is
/// none.
absl::StatusOr<int> ParsePort(const std::string& option, const std::string& text, int example);

}  // namespace tony::client
