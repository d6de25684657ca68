// Texts are moved, since a block may have as many bytes as a message.
#include "rpc/convert/log_lines.h"

#include <string>
#include <utility>

#include "rpc/convert/utf8.h"

namespace tony::rpc {

v1::LogLines ToProto(const absl::Status& status) {
  v1::LogLines lines;
  lines.set_code(static_cast<int32_t>(status.code()));
  lines.set_trouble(ToUtf8(std::string(status.message())));
  return lines;
}

absl::Status StatusOf(const v1::LogLines& lines) {
  return {static_cast<absl::StatusCode>(lines.code()), lines.trouble()};
}

v1::LogLines ToProto(absl::StatusOr<logs::LogBlock> block) {
  if (!block.ok()) return ToProto(block.status());
  v1::LogLines lines;
  lines.set_offset(block->offset);
  lines.set_end(block->end);
  lines.set_size(block->size);
  lines.set_dropped_offset(block->dropped_offset);
  lines.set_dropped_bytes(block->dropped_bytes);
  for (logs::LogRow& row : block->rows) {
    v1::LogLines::Row& added = *lines.add_rows();
    added.set_offset(row.offset);
    added.set_text(std::move(row.text));
    added.set_hit(row.hit);
  }
  lines.set_partial(block->partial);
  if (block->next) lines.set_next(*block->next);
  lines.set_hits(static_cast<int64_t>(block->hits));
  return lines;
}

absl::StatusOr<logs::LogBlock> FromProto(v1::LogLines lines) {
  if (lines.code() != 0) return StatusOf(lines);
  logs::LogBlock block;
  block.offset = lines.offset();
  block.end = lines.end();
  block.size = lines.size();
  block.dropped_offset = lines.dropped_offset();
  block.dropped_bytes = lines.dropped_bytes();
  for (v1::LogLines::Row& row : *lines.mutable_rows()) {
    block.rows.push_back({row.offset(), std::move(*row.mutable_text()), row.hit()});
  }
  block.partial = lines.partial();
  if (lines.has_next()) block.next = lines.next();
  block.hits = static_cast<size_t>(lines.hits());
  return block;
}

}  // namespace tony::rpc
