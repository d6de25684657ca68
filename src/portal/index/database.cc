// SQLite's own interface behind two small classes, so that nothing else has to free handles or to
// translate codes.
#include "portal/index/database.h"

#include <fcntl.h>
#include <sqlite3.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/files.h"

namespace tony::portal {
namespace {

/// How long a connection waits for another one's lock. With WAL, readers wait for nobody.
constexpr int kBusyMillis = 5'000;

absl::Status ErrorOf(sqlite3* database, int code) {
  const std::string message = absl::StrCat(
      "SQLite: ", database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code));
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(message);
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::AbortedError(message);
    default:
      return absl::UnavailableError(message);
  }
}

}  // namespace

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement& Statement::Bind(int parameter, int64_t value) {
  const int code = sqlite3_bind_int64(statement_.get(), parameter, value);
  if (bound_ == SQLITE_OK) bound_ = code;
  return *this;
}

Statement& Statement::Bind(int parameter, const std::string& value) {
  const int code = sqlite3_bind_text(statement_.get(), parameter, value.data(),
                                     static_cast<int>(value.size()), SQLITE_TRANSIENT);
  if (bound_ == SQLITE_OK) bound_ = code;
  return *this;
}

absl::StatusOr<bool> Statement::Step() {
  sqlite3* const database = sqlite3_db_handle(statement_.get());
  if (bound_ != SQLITE_OK) return ErrorOf(database, bound_);
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return ErrorOf(database, code);
}

absl::Status Statement::Run() {
  absl::Status status = Step().status();
  Reset();
  return status;
}

void Statement::Reset() {
  (void)sqlite3_reset(statement_.get());
  bound_ = SQLITE_OK;
}

int64_t Statement::Number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::Text(int column) const {
  const auto* const text =
      reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return "";
  return {text, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

bool Statement::IsText(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_TEXT;
}

void Database::Closer::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

// SQLite would make the file with the umask's mode; its WAL gets the mode of the file.
absl::StatusOr<Database> Database::Open(const std::string& path, Mode mode) {
  if (mode == Mode::kWrite && !os::OpenOrMakeFile(path, O_RDWR | O_CLOEXEC).valid()) {
    return os::ErrnoError(errno, path);
  }
  sqlite3* handle = nullptr;
  const int flags = (mode == Mode::kWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) |
                    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  Database database(handle);
  if (code != SQLITE_OK) return ErrorOf(handle, code);
  sqlite3_busy_timeout(handle, kBusyMillis);
  return database;
}

absl::Status Database::Execute(const std::string& sql) {
  const int code = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : ErrorOf(database_.get(), code);
}

absl::StatusOr<Statement> Database::Prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(database_.get(), sql.c_str(), static_cast<int>(sql.size()) + 1,
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return ErrorOf(database_.get(), code);
  return Statement(statement);
}

absl::StatusOr<int64_t> Database::Ask(const std::string& sql) {
  TONY_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  TONY_ASSIGN_OR_RETURN(const bool any, statement.Step());
  return any ? statement.Number(0) : 0;
}

int64_t Database::last_id() const { return sqlite3_last_insert_rowid(database_.get()); }

}  // namespace tony::portal
