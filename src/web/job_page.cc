// One function per part of the page, from top to bottom. Every text from outside passes Escape(),
// so no name or message can add markup.
#include "web/job_page.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "core/record/duration_text.h"
#include "core/record/job_wait.h"
#include "web/http/html.h"
#include "web/page_files.h"

namespace tony::web {
namespace {

using core::TaskState;

std::string TimeText(int64_t unix_millis) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixMillis(unix_millis),
                          absl::UTCTimeZone());
}

/// The style class that gives a state its color.
std::string StateClass(const core::ObservedJob& job) {
  if (job.view.verdict) {
    switch (job.view.verdict->outcome) {
      case core::Outcome::kSucceeded:
        return "good";
      case core::Outcome::kFailed:
        return "bad";
      case core::Outcome::kKilled:
        return "stopped";
    }
  }
  if (job.lost || job.view.state == core::JobState::kRestarting) return "bad";
  return job.view.state == core::JobState::kRunning ? "running" : "waiting";
}

std::string StateClass(TaskState state) {
  switch (state) {
    case TaskState::kRunning:
      return "running";
    case TaskState::kSucceeded:
      return "good";
    case TaskState::kFailed:
      return "bad";
    case TaskState::kStopped:
      return "stopped";
    default:
      return "waiting";
  }
}

std::string Badge(const std::string& state_class, const std::string& text) {
  return absl::StrCat("<span class=\"badge ", state_class, "\">", Escape(text), "</span>");
}

// Helpers for markup: Badge(), Link() and Code() escape their texts; Fact() and Cell() take HTML
// that is already escaped.
std::string Link(const std::string& target, const std::string& text) {
  return absl::StrCat("<a href=\"", Escape(target), "\">", Escape(text), "</a>");
}

/// A link named `text` to a page of another server. The URL comes from a job's events, so another
/// scheme, "javascript:" for one, is shown as text: a browser would run it as part of this page.
std::string WebLink(const std::string& url, const std::string& text) {
  const bool web = absl::StartsWith(url, "http://") || absl::StartsWith(url, "https://");
  return web ? Link(url, text) : Escape(url);
}

std::string Code(const std::string& command) {
  return absl::StrCat("<code>", Escape(command), "</code>");
}

std::string Fact(const std::string& name, const std::string& html) {
  return absl::StrCat("<div><dt>", name, "</dt><dd>", html, "</dd></div>\n");
}

std::string Head(const core::ObservedJob& job) {
  const bool alive = !job.view.verdict && !job.lost;
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
      alive ? absl::StrCat("<noscript><meta http-equiv=\"refresh\" content=\"", kRefreshSeconds,
                           "\"></noscript>\n")
            : "",
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
      "<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"", PageStyle().name,
      "\">\n<script src=\"", PageScript().name, "\" defer></script>\n<title>",
      Escape(absl::StrCat(job.StateName(), " – ", job.view.job.name)), "</title>\n</head>\n");
}

std::string Headline(const core::ObservedJob& job, int64_t now_millis) {
  const core::JobView& view = job.view;
  std::string html =
      absl::StrCat("<header>\n<h1>", Escape(view.job.name.empty() ? "Job" : view.job.name), " ",
                   Badge(StateClass(job), job.StateName()), "</h1>\n<dl>\n");
  html += Fact("Job", Code(view.job.job_id));
  html += Fact("User", Escape(view.job.user));
  html += Fact("Framework", Escape(view.job.framework));
  html += Fact("Backend", Escape(view.job.backend));
  if (view.submitted_millis != 0) html += Fact("Submitted", TimeText(view.submitted_millis));
  html += Fact(view.ended_millis != 0 ? "Ran for" : "Age",
               Escape(core::FormatDuration(job.RunningMillis(now_millis))));
  if (view.epoch > 0) html += Fact("Attempt", absl::StrCat(view.epoch + 1));
  return html + "</dl>\n</header>\n";
}

std::string LogLinks(const core::TaskChanged& task) {
  if (task.attempt <= 0) return "";
  // The one link leads to all logs, on the page of the service that keeps them.
  if (!task.log_url.empty()) return WebLink(task.log_url, "all");
  return absl::StrCat(Link(LogLink(task.task, task.attempt, "stdout"), "stdout"), " ",
                      Link(LogLink(task.task, task.attempt, "stderr"), "stderr"));
}

std::string VerdictCard(const core::ObservedJob& job) {
  if (!job.view.verdict) return "";
  const core::Verdict& verdict = *job.view.verdict;
  std::string html =
      absl::StrCat("<section class=\"card ", StateClass(job), "\">\n<h2>",
                   core::OutcomeName(verdict.outcome), " <small>", core::ReasonName(verdict.reason),
                   "</small></h2>\n<p>", Escape(verdict.sentence), "</p>\n");
  if (verdict.guilty) {
    const core::JobView::Task* const task = job.view.FindTask(*verdict.guilty);
    absl::StrAppend(&html, "<p>Because of <b>", Escape(verdict.guilty->ToString()), "</b>",
                    verdict.exit ? absl::StrCat(", which ", Escape(verdict.exit->Describe())) : "",
                    task != nullptr ? absl::StrCat(" · ", LogLinks(task->last)) : "", "</p>\n");
  }
  if (verdict.exit && !verdict.exit->tail.empty()) {
    absl::StrAppend(&html, "<pre>", Escape(absl::StrJoin(verdict.exit->tail, "\n")), "</pre>\n");
  }
  return html + "</section>\n";
}

std::string WaitCard(const core::ObservedJob& job, int64_t now_millis) {
  const core::JobView& view = job.view;
  if (view.verdict || job.lost) return "";
  // If no wait is on record, the wait that belongs to the state is shown.
  const std::optional<core::JobWaiting> waiting = view.waiting ? view.waiting : core::WaitOf(view);
  if (!waiting) return "";
  const int64_t since = view.waiting ? view.waiting_since_millis : view.state_since_millis;
  std::string html =
      absl::StrCat("<section class=\"card waiting\">\n<p><b>",
                   Escape(core::TitleOfWait(
                       *waiting, since != 0 ? core::FormatDuration(now_millis - since) : "")),
                   ":</b> ", Escape(core::DescribeWait(*waiting)), "</p>\n");
  if (!waiting->unblock.empty()) {
    absl::StrAppend(&html, "<p class=\"quiet\">", Escape(waiting->unblock), "</p>\n");
  }
  return html + "</section>\n";
}

// Where the page has a gate, that works wherever the page does; the address itself may be that of
// a node which the browser cannot reach.
std::string VisualizationCard(const core::ObservedJob& job, bool has_gate) {
  const core::JobView& view = job.view;
  if (!view.visualization || view.verdict || job.lost) return "";
  const std::string& url = view.visualization->url;
  const std::string link = has_gate
                               ? absl::StrCat("<a href=\"", kProgramLink,
                                              "\" target=\"_blank\" rel=\"noreferrer\">open it</a>")
                               : WebLink(url, url);
  return absl::StrCat("<section class=\"card\">\n<p><b>TensorBoard</b> (or what else ",
                      Escape(view.visualization->task.ToString()), " shows): ", link,
                      "</p>\n<p class=\"quiet\">From another machine, ",
                      "or if that address cannot be reached: ",
                      Code(absl::StrCat("tony open ", view.job.job_id, " --tensorboard")),
                      " brings it to you through the job's own connection.</p>\n</section>\n");
}

std::string Counts(const core::JobView& view) {
  constexpr TaskState kOrder[] = {TaskState::kFailed,   TaskState::kRunning, TaskState::kReady,
                                  TaskState::kStarting, TaskState::kNew,     TaskState::kSucceeded,
                                  TaskState::kStopped};
  std::string html;
  for (const TaskState state : kOrder) {
    const auto count = std::count_if(
        view.tasks.begin(), view.tasks.end(),
        [state](const core::JobView::Task& task) { return task.last.state == state; });
    if (count == 0) continue;
    absl::StrAppend(
        &html, Badge(StateClass(state), absl::StrCat(count, " ", core::TaskStateName(state))), " ");
  }
  return html;
}

/// "1.3 GB"; "–" if the number is unknown.
std::string BytesText(int64_t bytes) {
  if (bytes <= 0) return "–";
  if (bytes < 1'000'000'000) return absl::StrCat((bytes + 500'000) / 1'000'000, " MB");
  const int64_t tenths = (bytes + 50'000'000) / 100'000'000;
  return absl::StrCat(tenths / 10, ".", tenths % 10, " GB");
}

/// A table cell. A narrow screen shows it with the name of its column, and only if it is not empty.
std::string Cell(const std::string& column, const std::string& html) {
  if (html.empty()) return absl::StrCat("<td class=\"none\" data-column=\"", column, "\">–</td>");
  return absl::StrCat("<td data-column=\"", column, "\">", html, "</td>");
}

/// Whether any task has counted collective operations.
bool HasCollectives(const std::vector<const core::JobView::Task*>& tasks) {
  return std::any_of(tasks.begin(), tasks.end(), [](const core::JobView::Task* task) {
    return task->usage && task->usage->collective;
  });
}

/// "1.3 GB in 4.1 s; waited 12.0 s for others, they 3.0 s for it", with the counts behind it.
std::string CollectivesText(const core::CollectiveUsage& usage) {
  const auto seconds = [](double value) { return absl::StrFormat("%.1f s", value); };
  return absl::StrCat(
      "<span title=\"", usage.tensors, " tensors in ", usage.operations,
      " operations; cache hits: ", usage.by_number, " of ", usage.by_number + usage.by_request,
      "\">", usage.bytes < 500'000 ? absl::StrCat(usage.bytes, " B") : BytesText(usage.bytes),
      " in ", seconds(usage.operation_seconds), "; waited ", seconds(usage.negotiation_seconds),
      " for others, they ", seconds(usage.waited_for_seconds), " for it</span>");
}

std::string TaskRow(const core::ObservedJob& job, const core::JobView::Task& task,
                    bool has_collectives, int64_t now_millis) {
  const core::TaskChanged& last = task.last;
  std::string note = last.exit && IsOver(last.state) ? last.exit->Describe() : "";
  if (!last.sentence.empty()) note = last.sentence;
  std::string html = absl::StrCat("<tr class=\"", StateClass(last.state), "\">");
  html += Cell("Task", absl::StrCat("<b>", Escape(last.task.ToString()), "</b>"));
  html += Cell("State", Badge(StateClass(last.state), core::TaskStateName(last.state)));
  html += Cell("Host", Escape(last.host));
  html += Cell("Attempt", last.attempt > 0 ? absl::StrCat(last.attempt) : "");
  html += Cell("Ran", Escape(core::FormatDuration(job.RunningMillis(last.task, now_millis))));
  html += Cell("Memory", task.usage ? BytesText(task.usage->memory_bytes) : "");
  if (has_collectives) {
    const bool counted = task.usage && task.usage->collective;
    html += Cell("Collectives", counted ? CollectivesText(*task.usage->collective) : "");
  }
  html += Cell("Logs", LogLinks(last));
  html += Cell("End", Escape(note));
  return html + "</tr>\n";
}

/// Returns all tasks, or the failed ones and as many others as fit.
std::vector<const core::JobView::Task*> ShownTasks(const core::JobView& view) {
  std::vector<const core::JobView::Task*> shown;
  for (const core::JobView::Task& task : view.tasks) shown.push_back(&task);
  if (shown.size() <= kMostTaskRows) return shown;
  std::stable_partition(shown.begin(), shown.end(), [](const core::JobView::Task* task) {
    return task->last.state == TaskState::kFailed;
  });
  shown.resize(kMostTaskRows);
  return shown;
}

std::string TaskTable(const core::ObservedJob& job, int64_t now_millis) {
  const core::JobView& view = job.view;
  const std::vector<const core::JobView::Task*> shown = ShownTasks(view);
  const bool has_collectives = HasCollectives(shown);
  std::string html = absl::StrCat("<section>\n<h2>Tasks ", Counts(view),
                                  "</h2>\n<table>\n<thead><tr><th>Task</th><th>State</th>"
                                  "<th>Host</th><th>Attempt</th><th>Ran</th><th>Memory</th>",
                                  has_collectives ? "<th>Collectives</th>" : "",
                                  "<th>Logs</th><th>End</th></tr></thead>\n<tbody>\n");
  for (const core::JobView::Task* task : shown) {
    html += TaskRow(job, *task, has_collectives, now_millis);
  }
  html += "</tbody>\n</table>\n";
  if (shown.size() < view.tasks.size()) {
    absl::StrAppend(&html, "<p>and ", view.tasks.size() - shown.size(), " more; ",
                    Code(absl::StrCat("tony status ", view.job.job_id)), " shows all.</p>\n");
  }
  return html + "</section>\n";
}

std::string Notes(const core::JobView& view) {
  if (view.notes.empty()) return "";
  std::string html = "<section>\n<h2>Notes</h2>\n<ul>\n";
  for (const std::string& note : view.notes) {
    absl::StrAppend(&html, "<li>", Escape(note), "</li>\n");
  }
  return html + "</ul>\n</section>\n";
}

std::string Attempts(const core::JobView& view) {
  if (view.attempts.empty()) return "";
  std::string html = "<section class=\"card\">\n<h2>Earlier attempts</h2>\n<ul>\n";
  for (const core::JobView::Attempt& attempt : view.attempts) {
    absl::StrAppend(&html, "<li>", Escape(attempt.Describe()), "</li>\n");
  }
  return html + "</ul>\n</section>\n";
}

// The foot says how fresh the page is, since a page of a living job reloads itself and one of an
// ended job does not.
std::string Foot(const core::ObservedJob& job, int64_t now_millis) {
  const std::string& id = job.view.job.job_id;
  const std::string freshness = job.view.verdict
                                    ? "The job has ended, and this page will not change."
                                    : absl::StrCat("It renews itself every ", kRefreshSeconds,
                                                   " seconds, and is there as long as the job.");
  return absl::StrCat("<footer>As of ", TimeText(now_millis), ". ", freshness,
                      " In a terminal, also later: ", Code("tony status " + id), ", ",
                      Code("tony logs " + id), ".</footer>\n");
}

}  // namespace

std::string RenderJobPage(const core::ObservedJob& job, int64_t now_millis, bool has_gate) {
  return absl::StrCat(Head(job), "<body class=\"plain\">\n", Headline(job, now_millis), "<main>\n",
                      VerdictCard(job), WaitCard(job, now_millis), VisualizationCard(job, has_gate),
                      TaskTable(job, now_millis), Attempts(job.view), Notes(job.view), "</main>\n",
                      Foot(job, now_millis), "</body>\n</html>\n");
}

std::string LogLink(const core::TaskId& task, int attempt, const std::string& stream) {
  return absl::StrCat("logs/", EncodePathPart(task.ToPath()), "/attempt-", attempt, "/", stream);
}

}  // namespace tony::web
