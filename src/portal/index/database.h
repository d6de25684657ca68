// A connection to an SQLite file, and its statements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

// The codes of SQLite's errors: DataLoss – the file is damaged or no database. ResourceExhausted –
// the disk is full. Aborted – the file was locked for too long. Unavailable – any other.
namespace tony::portal {

/// One prepared statement. Parameters count from 1, columns from 0. Not thread safe.
class Statement {
 public:
  Statement& Bind(int parameter, int64_t value);
  Statement& Bind(int parameter, const std::string& value);
  /// The next row; false: there is none. An error of Bind() comes from here, too. SQLite's codes.
  absl::StatusOr<bool> Step();
  /// Step() for a statement without rows, and Reset(). SQLite's codes.
  absl::Status Run();
  /// For the next use, with other parameters.
  void Reset();

  int64_t Number(int column) const;
  std::string Text(int column) const;
  bool IsText(int column) const;

 private:
  friend class Database;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  int bound_ = 0;  ///< the first error of Bind()
};

/// Not thread safe. Statements must not outlive it.
class Database {
 public:
  enum class Mode { kRead, kWrite };

  /// Opens the file; kWrite makes it if it is missing (mode 0600). SQLite's codes.
  static absl::StatusOr<Database> Open(const std::string& path, Mode mode);

  /// Runs statements without rows, with ';' between them. SQLite's codes.
  absl::Status Execute(const std::string& sql);
  /// SQLite's codes.
  absl::StatusOr<Statement> Prepare(const std::string& sql);
  /// The single number that `sql` asks for; 0: it has no row. SQLite's codes.
  absl::StatusOr<int64_t> Ask(const std::string& sql);
  /// Id of the row that was inserted last.
  int64_t last_id() const;

 private:
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database) : database_(database) {}

  std::unique_ptr<sqlite3, Closer> database_;
};

}  // namespace tony::portal
