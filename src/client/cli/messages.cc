// Notices and errors go to standard error, results to standard output. A failed write is ignored:
// the job goes on even when nobody reads.
#include "client/cli/messages.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "common/safe_text.h"
#include "os/files/files.h"

namespace tony::client {

void PrintError(const std::string& text) { PrintNotice(absl::StrCat("tony-submit: ", text)); }

int FailWith(const absl::Status& status, int exit_code) {
  PrintError(std::string(status.message()));
  return exit_code;
}

int ExitOf(const absl::Status& no_verdict) {
  return absl::IsCancelled(no_verdict) ? kKilled : kInfrastructure;
}

void WriteOut(const std::string& text) { (void)PrintForPeople(STDOUT_FILENO, text); }

void WriteBytes(const std::string& bytes) {
  (void)os::WriteAll(STDOUT_FILENO, bytes.data(), bytes.size(), "stdout");
}

void WriteJobId(const SubmitOptions& options, const std::string& job_id,
                const std::string& local_dir) {
  if (!options.json) return WriteOut(job_id + "\n");
  nlohmann::ordered_json json;
  json["version"] = kJsonVersion;
  json["job_id"] = job_id;
  json["backend"] = local_dir.empty() ? "yarn" : "local";
  json["local_dir"] =
      local_dir.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(local_dir);
  WriteBytes(SafeJson(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) +
             "\n");
}

}  // namespace tony::client
