// A version is given to every change, since measurements have no sequence number.
#include "web/api/job_changes.h"

#include <variant>

namespace tony::web {

// Every event changes the job: at least the number of its newest event.
void JobChanges::OnEvent(const core::JobEvent& event) {
  job_version = ++version;
  if (const auto* submitted = std::get_if<core::JobSubmitted>(&event.body)) {
    for (const core::JobSubmitted::Type& type : submitted->types) {
      for (int index = 0; index < type.instances; ++index) {
        tasks[{type.name, index}] = {version, event.sequence};
      }
    }
  } else if (const auto* change = std::get_if<core::TaskChanged>(&event.body)) {
    tasks[change->task] = {version, event.sequence};
  } else if (const auto* measured = std::get_if<core::TaskMeasured>(&event.body)) {
    tasks[measured->task] = {version, event.sequence};
  }
}

void JobChanges::OnMeasurement(const core::TaskId& task) { tasks[task].version = ++version; }

}  // namespace tony::web
