// Each tensor is a small state machine (none, negotiating, waiting, running). An event that does
// not fit the state writes nothing; only a new submission first ends the slice that is open, as
// lost.
#include "collective/watch/trace_text.h"

#include <array>
#include <bit>
#include <cstdio>

namespace tony::collective {
namespace {

constexpr size_t kMostNames = 16;

std::string_view NameOf(Operation operation) {
  static constexpr std::array<std::string_view, kOperations> kNames = {
      "ALLREDUCE", "ALLGATHER", "BROADCAST",       "REDUCESCATTER",
      "ALLTOALL",  "BARRIER",   "ADD_PROCESS_SET", "REMOVE_PROCESS_SET"};
  return kNames[static_cast<size_t>(operation)];
}

/// Length in bytes of the UTF-8 character at the beginning of `text`, whose first byte is above
/// 127; 0: it is not UTF-8. (RFC 3629; overlong forms, surrogates and code points above U+10FFFF
/// are refused.)
size_t CharacterBytes(std::string_view text) {
  // By length: the smallest code point that needs so many bytes. A smaller one is overlong.
  static constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  // The first byte has as many leading ones as the character has bytes.
  const auto size = static_cast<size_t>(std::countl_one(byte(0)));
  if (size < 2 || size >= kLeast.size() || text.size() < size) return 0;
  uint32_t code_point = byte(0) & (0x7Fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code_point = code_point << 6 | (byte(i) & 0x3Fu);
  }
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  return code_point < kLeast[size] || surrogate || code_point > 0x10FFFF ? 0 : size;
}

/// Nanoseconds as microseconds with three decimals: "12.345".
std::string Microseconds(int64_t nanoseconds) {
  std::array<char, 40> text;
  const bool negative = nanoseconds < 0;
  const int64_t positive = negative ? -nanoseconds : nanoseconds;
  std::snprintf(text.data(), text.size(), "%s%lld.%03lld", negative ? "-" : "",
                static_cast<long long>(positive / 1000), static_cast<long long>(positive % 1000));
  return text.data();
}

std::string FusedWith(const TraceStep& step, size_t own) {
  std::string names;
  size_t shown = 0;
  // At most kMostNames: with all names a decision about n tensors would write n * n of them.
  for (size_t i = 0; i < step.tensors.size() && shown < kMostNames; ++i) {
    if (i == own) continue;
    names += (shown++ == 0 ? "" : ",") + JsonText(step.tensors[i].name);
  }
  return "\"fused\":" + std::to_string(step.tensors.size()) + ",\"fused_with\":[" + names + "]";
}

std::string Arguments(const TraceStep& step, size_t own) {
  int64_t all = 0;
  for (const TraceStep::Tensor& tensor : step.tensors) all += tensor.bytes;
  return "\"bytes\":" + std::to_string(step.tensors[own].bytes) +
         ",\"decision\":" + std::to_string(step.number) +
         ",\"decision_bytes\":" + std::to_string(all) + "," + FusedWith(step, own);
}

}  // namespace

std::string JsonText(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    size_t size = 1;
    if (first == '"' || first == '\\') {
      json += {'\\', text[0]};
    } else if (first < 0x20) {
      std::array<char, 8> code;
      std::snprintf(code.data(), code.size(), "\\u%04x", first);
      json += code.data();
    } else if (first < 0x80) {
      json += text[0];
    } else if (const size_t bytes = CharacterBytes(text); bytes > 0) {
      json += text.substr(0, bytes);
      size = bytes;
    } else {
      json += "\\ufffd";
    }
    text.remove_prefix(size);
  }
  return json + "\"";
}

std::string TraceText::Event(char phase, int line, Deadline at) const {
  return std::string("{\"ph\":\"") + phase + "\",\"pid\":" + std::to_string(rank_) +
         ",\"tid\":" + std::to_string(line) +
         ",\"ts\":" + Microseconds(at.time_since_epoch().count() + clock_.offset);
}

std::string TraceText::Instant(int line, std::string_view name, Deadline at,
                               const std::string& arguments) const {
  return Event('i', line, at) + ",\"s\":\"t\",\"name\":" + JsonText(name) + ",\"args\":{" +
         arguments + "}},\n";
}

std::string TraceText::Begin(const std::string& host, Deadline now) const {
  const std::string pid = "\"pid\":" + std::to_string(rank_);
  const std::string name = "rank " + std::to_string(rank_) + " on " + host;
  std::string text = "[\n{\"ph\":\"M\"," + pid +
                     R"(,"tid":0,"name":"process_name","args":{"name":)" + JsonText(name) + "}},\n";
  text += "{\"ph\":\"M\"," + pid + R"(,"tid":0,"name":"process_sort_index","args":{"sort_index":)" +
          std::to_string(rank_) + "}},\n";
  text += "{\"ph\":\"M\"," + pid +
          R"(,"tid":0,"name":"thread_name","args":{"name":"this rank"}},)" + "\n";
  // Unix time at 0 of the trace's clock, which is this rank's clock plus the offset.
  const int64_t zero = clock_.unix_nanoseconds - clock_.offset;
  std::string clock = "\"unix_microseconds_at_0\":" + Microseconds(zero);
  clock += clock_.error < 0
               ? ",\"clock\":\"this rank's own: rank 0 has not said its time\""
               : ",\"clock\":\"rank 0's\",\"offset_microseconds\":" + Microseconds(clock_.offset) +
                     ",\"error_microseconds\":" + Microseconds(clock_.error);
  return text + Instant(0, "CLOCK", now, clock);
}

TraceText::Line& TraceText::LineOf(const std::string& tensor, std::string& text) {
  const auto [found, fresh] = lines_.try_emplace(tensor);
  Line& line = found->second;
  if (!fresh) return line;
  // Frameworks invent names that come once. Without the limit each of them would leave an empty
  // line in the viewer, and an entry here for ever.
  line.named = named_ < kNamed;
  if (line.named || free_lines_.empty()) {
    line.number = ++last_line_;
    named_ += line.named ? 1 : 0;
    text += "{\"ph\":\"M\",\"pid\":" + std::to_string(rank_) +
            ",\"tid\":" + std::to_string(line.number) + R"(,"name":"thread_name","args":{"name":)" +
            JsonText(line.named ? tensor : "more tensors") + "}},\n";
  } else {
    line.number = free_lines_.extract(free_lines_.begin()).value();
  }
  return line;
}

void TraceText::Forget(const std::string& tensor) {
  const auto line = lines_.find(tensor);
  if (line == lines_.end() || line->second.named) return;
  free_lines_.insert(line->second.number);
  lines_.erase(line);
}

void TraceText::BeginSlice(const Line& line, std::string_view name, Deadline at,
                           const std::string& arguments, std::string& text) const {
  text += Event('B', line.number, at) + ",\"name\":" + JsonText(name);
  text += arguments.empty() ? "},\n" : ",\"args\":{" + arguments + "}},\n";
}

void TraceText::EndSlice(Line& line, Deadline at, const std::string& arguments,
                         std::string& text) const {
  line.state = State::kNone;
  text += Event('E', line.number, at);
  text += arguments.empty() ? "},\n" : ",\"args\":{" + arguments + "}},\n";
}

void TraceText::Submitted(const TraceEvent& event, std::string& text) {
  Line& line = LineOf(event.name, text);
  if (line.state != State::kNone) EndSlice(line, event.at, "\"lost\":true", text);
  // Horovod's name for this slice, which other programs that read its timelines expect.
  const std::string name = "NEGOTIATE_" + std::string(NameOf(event.operation));
  BeginSlice(line, name, event.at, "\"tensor\":" + JsonText(event.name), text);
  line.state = State::kNegotiating;
}

void TraceText::Add(const TraceEvent& event, std::string& text) {
  using Kind = TraceEvent::Kind;
  switch (event.kind) {
    case Kind::kSubmitted:
      return Submitted(event, text);
    case Kind::kArrived: {
      // Another rank may submit the tensor before rank 0 does. Rank 0 then has no slice yet, but
      // the tensor gets its line.
      const Line& line = LineOf(event.name, text);
      text += Instant(line.number, "rank " + std::to_string(event.rank), event.at,
                      "\"tensor\":" + JsonText(event.name));
      return;
    }
    case Kind::kFailed: {
      const auto line = lines_.find(event.name);
      if (line == lines_.end()) return;
      if (line->second.state != State::kNone) {
        EndSlice(line->second, event.at, "\"error\":true", text);
      }
      return Forget(event.name);
    }
    case Kind::kCycle:
      text += Instant(0, "CYCLE_START", event.at, "");
      return;
    case Kind::kDecided:
    case Kind::kStarted:
    case Kind::kDone:
      return Step(event, text);
  }
}

void TraceText::Step(const TraceEvent& event, std::string& text) {
  for (size_t i = 0; i < event.step->tensors.size(); ++i) {
    const std::string& tensor = event.step->tensors[i].name;
    const auto line = lines_.find(tensor);
    // Not this rank's tensor, or submitted before the timeline began.
    if (line == lines_.end()) continue;
    StepOf(i, event, line->second, text);
    if (event.kind == TraceEvent::Kind::kDone) Forget(tensor);
  }
}

void TraceText::StepOf(size_t index, const TraceEvent& event, Line& line, std::string& text) {
  const TraceStep& step = *event.step;
  switch (event.kind) {
    case TraceEvent::Kind::kDecided:
      if (line.state != State::kNegotiating) return;
      EndSlice(line, event.at, "", text);
      BeginSlice(line, "WAIT", event.at, "", text);
      line.state = State::kWaiting;
      return;
    case TraceEvent::Kind::kStarted:
      if (line.state != State::kWaiting) return;
      EndSlice(line, event.at, "", text);
      BeginSlice(line, NameOf(step.kind.operation), event.at, Arguments(step, index), text);
      line.state = State::kRunning;
      return;
    default:
      if (line.state == State::kNone) return;
      EndSlice(line, event.at, event.name.empty() ? "" : "\"error\":" + JsonText(event.name), text);
  }
}

std::string TraceText::Dropped(int64_t events, Deadline now) const {
  return Instant(0, "EVENTS_DROPPED", now, "\"events\":" + std::to_string(events));
}

std::string TraceText::End(Deadline now) {
  std::string text;
  for (auto& [tensor, line] : lines_) {
    if (line.state != State::kNone) EndSlice(line, now, "\"unfinished\":true", text);
  }
  text += Instant(0, "END", now, "");
  // The array's last element has no comma.
  return text.substr(0, text.size() - 2) + "\n]\n";
}

}  // namespace tony::collective
