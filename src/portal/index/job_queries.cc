// Pages by key, not by offset: the next page begins behind the last job of this one, so a page far
// behind costs what the first one costs, and a job that comes in between moves nothing.
#include <algorithm>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "portal/index/job_columns.h"
#include "portal/index/job_index.h"

namespace tony::portal {
namespace {

constexpr char kSubmitted[] = "submitted";
constexpr size_t kMostValues = 100;

/// The conditions of a question and their parameters.
class Question {
 public:
  void Where(const std::string& condition, std::vector<std::variant<int64_t, std::string>> values) {
    conditions_.push_back(condition);
    parameters_.insert(parameters_.end(), values.begin(), values.end());
  }

  std::string Text(const std::string& order, size_t limit) const {
    return absl::StrCat("SELECT ", ShownColumns(), " FROM job",
                        conditions_.empty() ? "" : " WHERE ", absl::StrJoin(conditions_, " AND "),
                        " ORDER BY ", order, " LIMIT ", limit);
  }

  void Bind(Statement& statement) const {
    int parameter = 0;
    for (const auto& value : parameters_) {
      ++parameter;
      std::visit([&](const auto& each) { statement.Bind(parameter, each); }, value);
    }
  }

 private:
  std::vector<std::string> conditions_;
  std::vector<std::variant<int64_t, std::string>> parameters_;
};

/// An order as the table has it: "-duration" is duration_ms, descending. Jobs with equal values are
/// ordered as the index of the column has them, or the other way round.
struct Order {
  std::string name;
  std::string column;
  bool descending = false;

  bool by_time() const { return name == kSubmitted; }
  bool is_text() const { return !by_time() && name != "duration" && name != "gpus"; }
  /// Whether a later submission comes first.
  bool newest_first() const { return by_time() == descending; }
  std::string Sql() const {
    const char* const ties = newest_first() ? " DESC" : "";
    const std::string behind = absl::StrCat("submitted_ms", ties, ", id", ties);
    return by_time() ? behind : absl::StrCat(column, descending ? " DESC, " : ", ", behind);
  }
};

Order OrderOf(const std::string& sort) {
  Order order;
  order.descending = absl::StartsWith(sort, "-");
  order.name = sort.substr(order.descending ? 1 : 0);
  const bool time = order.by_time() || order.name == "duration";
  order.column = time ? absl::StrCat(order.name, "_ms") : order.name;
  return order;
}

absl::Status AddCursor(const JobWish& wish, const Order& order, Question& question) {
  if (wish.cursor.empty()) return absl::OkStatus();
  TONY_ASSIGN_OR_RETURN(const Cursor cursor, CursorFromText(wish.cursor));
  if (cursor.sort != wish.sort || cursor.is_text != order.is_text()) {
    return absl::InvalidArgumentError("The cursor is of another order.");
  }
  const std::string behind =
      absl::StrCat("(submitted_ms, id) ", order.newest_first() ? "<" : ">", " (?, ?)");
  if (order.by_time()) {
    question.Where(behind, {cursor.submitted_millis, cursor.id});
    return absl::OkStatus();
  }
  // The first condition lets SQLite begin in the middle of the column's index.
  const char* const after = order.descending ? "<" : ">";
  const std::variant<int64_t, std::string> value =
      cursor.is_text ? std::variant<int64_t, std::string>(cursor.text) : cursor.number;
  question.Where(absl::StrCat(order.column, " ", after, "= ? AND (", order.column, " ", after,
                              " ? OR ", behind, ")"),
                 {value, value, cursor.submitted_millis, cursor.id});
  return absl::OkStatus();
}

void AddFilters(const JobWish& wish, Question& question) {
  if (wish.states.size() == 1) question.Where("state = ?", {wish.states[0]});
  // Several states are not looked up one by one: what was found would have to be sorted.
  if (wish.states.size() > 1) {
    std::vector<std::variant<int64_t, std::string>> states(wish.states.begin(), wish.states.end());
    const std::vector<std::string> marks(states.size(), "?");
    question.Where(absl::StrCat("+state IN (", absl::StrJoin(marks, ", "), ")"), std::move(states));
  }
  const std::pair<const char*, const std::string&> equal[] = {{"user", wish.user},
                                                              {"queue", wish.queue},
                                                              {"framework", wish.framework},
                                                              {"name", wish.name}};
  for (const auto& [column, value] : equal) {
    if (!value.empty()) question.Where(absl::StrCat(column, " = ?"), {value});
  }
  if (wish.alive) question.Where(*wish.alive ? "alive = 1" : "alive = 0", {});
  if (wish.since_millis > 0) question.Where("submitted_ms >= ?", {wish.since_millis});
  if (wish.until_millis > 0) question.Where("submitted_ms < ?", {wish.until_millis});
}

/// Words are looked for in an index that has them. If that is not the index of the order, it is
/// searched first, and what was found is sorted.
void AddWords(const JobWish& wish, const Order& order, Question& question) {
  std::vector<std::string> conditions;
  std::vector<std::variant<int64_t, std::string>> words;
  for (const absl::string_view word :
       absl::StrSplit(wish.text, absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty())) {
    conditions.emplace_back("instr(search, ?) > 0");
    words.emplace_back(absl::AsciiStrToLower(word));
  }
  if (words.empty()) return;
  const std::string all = absl::StrJoin(conditions, " AND ");
  question.Where(
      order.by_time()
          ? all
          : absl::StrCat("id IN (SELECT id FROM job INDEXED BY by_submitted_ms WHERE ", all, ")"),
      std::move(words));
}

std::string CursorBehind(const IndexedJob& job, const JobWish& wish, const Order& order) {
  Cursor cursor{.sort = wish.sort, .is_text = order.is_text()};
  cursor.submitted_millis = job.entry.submitted_millis;
  cursor.id = job.id;
  if (order.name == "duration") cursor.number = job.duration_millis;
  if (order.name == "gpus") cursor.number = job.entry.gpus;
  if (order.name == "name") cursor.text = job.entry.name;
  if (order.name == "user") cursor.text = job.entry.user;
  if (order.name == "state") cursor.text = job.entry.state;
  if (order.name == "queue") cursor.text = job.entry.queue;
  if (order.name == "framework") cursor.text = job.entry.framework;
  return CursorToText(cursor);
}

absl::Status NotOpen() {
  return absl::UnavailableError("the portal's index could not be opened again; is the disk full?");
}

absl::StatusOr<JobCounts::Values> CountBy(Database& database, const std::string& column) {
  TONY_ASSIGN_OR_RETURN(
      Statement statement,
      database.Prepare(absl::StrCat("SELECT ", column, ", count(*) FROM job GROUP BY ", column,
                                    " ORDER BY 2 DESC, 1 LIMIT ", kMostValues)));
  JobCounts::Values values;
  for (;;) {
    TONY_ASSIGN_OR_RETURN(const bool any, statement.Step());
    if (!any) return values;
    values.emplace_back(statement.Text(0), statement.Number(1));
  }
}

absl::StatusOr<JobPage> ReadPage(const JobWish& wish, const Order& order, const Question& question,
                                 Database& database) {
  // One job more tells whether there is another page.
  TONY_ASSIGN_OR_RETURN(Statement statement,
                        database.Prepare(question.Text(order.Sql(), wish.limit + 1)));
  question.Bind(statement);
  JobPage page;
  for (;;) {
    TONY_ASSIGN_OR_RETURN(const bool any, statement.Step());
    if (!any) return page;
    if (page.jobs.size() == wish.limit) {
      page.next = CursorBehind(page.jobs.back(), wish, order);
      return page;
    }
    page.jobs.push_back(JobOf(statement));
  }
}

absl::StatusOr<std::optional<IndexedJob>> FindJob(const std::string& location,
                                                  const std::string& job_id, Database& database) {
  TONY_ASSIGN_OR_RETURN(Statement statement,
                        database.Prepare(absl::StrCat("SELECT ", ShownColumns(),
                                                      " FROM job WHERE location = ? "
                                                      "AND job_id = ?")));
  TONY_ASSIGN_OR_RETURN(const bool any, statement.Bind(1, location).Bind(2, job_id).Step());
  return any ? std::optional(JobOf(statement)) : std::nullopt;
}

absl::StatusOr<JobCounts> CountJobs(Database& database) {
  JobCounts counts;
  TONY_ASSIGN_OR_RETURN(counts.states, CountBy(database, "state"));
  TONY_ASSIGN_OR_RETURN(counts.users, CountBy(database, "user"));
  TONY_ASSIGN_OR_RETURN(counts.queues, CountBy(database, "queue"));
  TONY_ASSIGN_OR_RETURN(counts.frameworks, CountBy(database, "framework"));
  TONY_ASSIGN_OR_RETURN(counts.jobs, database.Ask("SELECT count(*) FROM job"));
  TONY_ASSIGN_OR_RETURN(counts.alive, database.Ask("SELECT count(*) FROM job WHERE alive = 1"));
  return counts;
}

}  // namespace

absl::StatusOr<JobPage> JobIndex::List(const JobWish& wish) {
  const Order order = OrderOf(wish.sort);
  Question question;
  AddFilters(wish, question);
  AddWords(wish, order, question);
  TONY_RETURN_IF_ERROR(AddCursor(wish, order, question));
  std::lock_guard lock(reader_mutex_);
  return reader_ ? Noted(ReadPage(wish, order, question, *reader_)) : NotOpen();
}

absl::StatusOr<std::optional<IndexedJob>> JobIndex::Find(const std::string& location,
                                                         const std::string& job_id) {
  std::lock_guard lock(reader_mutex_);
  return reader_ ? Noted(FindJob(location, job_id, *reader_)) : NotOpen();
}

absl::StatusOr<JobCounts> JobIndex::Count() {
  std::lock_guard lock(reader_mutex_);
  return reader_ ? Noted(CountJobs(*reader_)) : NotOpen();
}

}  // namespace tony::portal
