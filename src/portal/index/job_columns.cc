// Each column stands once, in VisitColumns(), which gives the table, the row and the job.
#include "portal/index/job_columns.h"

#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tony::portal {
namespace {

/// Calls `visit(name, member)` for every column of which a job consists.
template <typename Job, typename Visit>
void VisitColumns(Job& job, const Visit& visit) {
  auto& entry = job.entry;
  visit("location", job.location);
  visit("job_id", entry.job_id);
  visit("name", entry.name);
  visit("user", entry.user);
  visit("queue", entry.queue);
  visit("framework", entry.framework);
  visit("backend", entry.backend);
  visit("tags", entry.tags);
  visit("state", entry.state);
  visit("reason", entry.reason);
  visit("sentence", entry.sentence);
  visit("guilty", entry.guilty);
  visit("exit_code", entry.exit_code);
  visit("submitted_ms", entry.submitted_millis);
  visit("started_ms", entry.started_millis);
  visit("ended_ms", entry.ended_millis);
  visit("duration_ms", job.duration_millis);
  visit("tasks", entry.tasks);
  visit("gpus", entry.gpus);
  visit("memory_mb", entry.memory_mb);
  visit("epochs", entry.epochs);
  visit("conf_digest", entry.conf_digest);
  visit("advice", entry.advice);
  visit("alive", job.alive);
  visit("trouble", job.trouble);
  visit("schema_version", entry.schema_version);
}

template <typename Member>
constexpr bool kIsText = std::is_same_v<std::remove_cvref_t<Member>, std::string>;

}  // namespace

const std::vector<Column>& AllColumns() {
  static const std::vector<Column>* const columns = [] {
    auto* const all = new std::vector<Column>;
    IndexedJob job;
    VisitColumns(job, [all](const char* name, auto& member) {
      all->push_back({name, kIsText<decltype(member)>});
    });
    all->push_back({"search", true});
    for (const char* const name :
         {"file_size", "file_mtime_ns", "file_inode", "summary_mtime_ns"}) {
      all->push_back({name, false});
    }
    return all;
  }();
  return *columns;
}

void BindJob(const ReadJob& read, Statement& statement) {
  int parameter = 0;
  VisitColumns(read.job, [&](const char*, const auto& member) {
    if constexpr (kIsText<decltype(member)>) {
      statement.Bind(++parameter, member);
    } else {
      statement.Bind(++parameter, int64_t{member});
    }
  });
  statement.Bind(++parameter, SearchText(read.job.entry));
  for (const int64_t number : {read.mark.events_bytes, read.mark.events_time,
                               read.mark.events_inode, read.mark.summary_time}) {
    statement.Bind(++parameter, number);
  }
}

std::string ShownColumns() {
  std::vector<std::string> names = {"id"};
  IndexedJob job;
  VisitColumns(job, [&names](const char* name, const auto&) { names.emplace_back(name); });
  return absl::StrJoin(names, ", ");
}

IndexedJob JobOf(const Statement& statement) {
  IndexedJob job;
  int column = 0;
  job.id = statement.Number(column);
  VisitColumns(job, [&](const char*, auto& member) {
    if constexpr (kIsText<decltype(member)>) {
      member = statement.Text(++column);
    } else {
      member = static_cast<std::remove_reference_t<decltype(member)>>(statement.Number(++column));
    }
  });
  return job;
}

std::string SearchText(const history::JobEntry& entry) {
  return absl::AsciiStrToLower(
      absl::StrJoin({entry.job_id, entry.name, entry.user, entry.queue, entry.framework, entry.tags,
                     entry.state, entry.reason, entry.guilty, entry.sentence},
                    "\n"));
}

}  // namespace tony::portal
