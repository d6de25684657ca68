// The columns of the index's table, and how a job becomes a row and a row a job.
#pragma once

#include <string>
#include <vector>

#include "portal/index/database.h"
#include "portal/index/indexed_job.h"

namespace tony::portal {

/// Plain data.
struct Column {
  std::string name;
  bool is_text = false;
};

/// All but `id`, in the order of BindJob(). Never changes. Thread safe.
const std::vector<Column>& AllColumns();

/// Binds a parameter for each of AllColumns().
void BindJob(const ReadJob& job, Statement& statement);

/// "id, location, …": what JobOf() reads, from column 0 on.
std::string ShownColumns();
IndexedJob JobOf(const Statement& statement);

/// The text in which the words of JobWish::text are looked for: ASCII letters in lower case.
std::string SearchText(const history::JobEntry& entry);

}  // namespace tony::portal
