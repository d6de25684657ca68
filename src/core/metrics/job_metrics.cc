// How the memory is shared out, when the job begins: a quarter for bands, the rest for tasks in
// equal parts. A task's part is divided by the number of metrics that a task usually has; when that
// would make a series smaller than the least useful size, tasks get fewer series instead.
#include "core/metrics/job_metrics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tony::core {
namespace {

/// Metrics of a task with GPUs that reports a loss.
constexpr size_t kUsualMetrics = 24;
/// More than these come from programs that invent names all the time.
constexpr size_t kMostMetrics = 64;
/// More names than these of all programs of a job are not kept.
constexpr size_t kMostReported = 64;
/// What a series costs beside itself: its owner's name and its place in the lists.
constexpr size_t kPlaceBytes = 64;

struct Share {
  SeriesSize size;
  size_t count = 0;
};

Share ShareOut(size_t bytes, size_t owners) {
  static const size_t least = SeriesSize::Within(0).bytes() + kPlaceBytes;
  const size_t each = bytes / std::max<size_t>(owners, 1);
  Share share;
  share.size = SeriesSize::Within(std::max(least, each / kUsualMetrics) - kPlaceBytes);
  share.count = std::min(kMostMetrics, each / (share.size.bytes() + kPlaceBytes));
  return share;
}

/// The value at quantile `q` of sorted values, by the nearest rank.
float AtQuantile(const std::vector<float>& sorted, double q) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<size_t>(std::lround(q * last))];
}

}  // namespace

JobMetrics::JobMetrics(Options options) : options_(std::move(options)) {
  size_t tasks = 0;
  for (const Type& type : options_.types) {
    tasks += static_cast<size_t>(std::max(0, type.instances));
    instances_[type.name] = type.instances;
    if (type.instances >= kLeastForBands) bands_[type.name];
  }
  const size_t for_bands = bands_.empty() ? 0 : options_.bytes / 4;
  const Share task = ShareOut(options_.bytes - for_bands, tasks);
  const Share band = ShareOut(for_bands / kBandQuantiles.size(), bands_.size());
  task_size_ = task.size;
  metrics_per_task_ = task.count;
  band_size_ = band.size;
  metrics_per_type_ = band.count;
  for (const MetricMeaning& meaning : MetricMeanings()) names_.emplace_back(meaning.name);
}

std::optional<int> JobMetrics::FindNumber(const std::string& metric) const {
  const auto found = std::find(names_.begin(), names_.end(), metric);
  if (found == names_.end()) return std::nullopt;
  return static_cast<int>(found - names_.begin());
}

int JobMetrics::NumberOf(const MetricValue& value) {
  if (value.meaning != MetricValue::kNone) return value.meaning;
  const std::string reported(value.reported);
  const auto found = reported_.find(reported);
  if (found != reported_.end()) return found->second;
  if (reported_.size() >= kMostReported) return kNoMetric;
  const int number = static_cast<int>(names_.size());
  names_.push_back(absl::StrCat(kReported, reported));
  reported_[reported] = number;
  return number;
}

int JobMetrics::FindEntry(const Owner& owner, int metric) {
  const auto position = static_cast<size_t>(metric);
  return position < owner.entries.size() ? owner.entries[position] : kNoEntry;
}

int JobMetrics::FindOrMakeEntries(const Place& place, Owner& owner, int metric) {
  const int found = FindEntry(owner, metric);
  if (found != kNoEntry) return found;
  if (owner.metrics >= place.most_metrics) return kNoEntry;
  ++owner.metrics;
  const auto position = static_cast<size_t>(metric);
  if (position >= owner.entries.size()) owner.entries.resize(position + 1, kNoEntry);
  owner.entries[position] = static_cast<int>(entries_.size());
  for (int line = 0; line < place.lines; ++line) {
    entries_.push_back(
        {place.task, place.lines == 1 ? kNoQuantile : line, metric, MetricSeries(place.size)});
  }
  return owner.entries[position];
}

bool JobMetrics::Counts(const TaskId& task) const {
  const auto found = instances_.find(task.type);
  return found != instances_.end() && task.index >= 0 && task.index < found->second;
}

JobMetrics::Place JobMetrics::PlaceOf(const TaskId& task) const {
  return {task, task_size_, metrics_per_task_, 1};
}

JobMetrics::Place JobMetrics::PlaceOfBands(const std::string& type) const {
  return {{type, kBandIndex}, band_size_, metrics_per_type_, kBandQuantiles.size()};
}

void JobMetrics::Take(const TaskId& id, int attempt, const TaskUsage& usage, int64_t unix_millis) {
  if (!Counts(id)) return;
  Task& task = tasks_[id];
  if (attempt != task.attempt) task.last.reset();
  const Place place = PlaceOf(id);
  for (const MetricValue& value : MetricValues(task.last ? &*task.last : nullptr, usage)) {
    const int metric = NumberOf(value);
    const int entry = metric == kNoMetric ? kNoEntry : FindOrMakeEntries(place, task, metric);
    if (entry == kNoEntry) {
      ++left_out_;
    } else {
      entries_[static_cast<size_t>(entry)].series.Add(unix_millis, value.value);
    }
  }
  task.attempt = attempt;
  task.last = usage;
  task.last_millis = unix_millis;
}

void JobMetrics::AddBands(int64_t unix_millis) {
  for (auto& [type, bands] : bands_) {
    std::vector<std::vector<float>> values(names_.size());
    for (auto at = tasks_.lower_bound({type, 0}); at != tasks_.end() && at->first.type == type;
         ++at) {
      const Task& task = at->second;
      if (unix_millis - task.last_millis > options_.stale_millis) continue;
      for (size_t metric = 0; metric < task.entries.size(); ++metric) {
        if (task.entries[metric] == kNoEntry) continue;
        const MetricSeries& series = entries_[static_cast<size_t>(task.entries[metric])].series;
        // A metric that the newest sample lacks, such as a rate after a restart, is not taken.
        if (series.last_millis() == task.last_millis) values[metric].push_back(series.last());
      }
    }
    for (size_t metric = 0; metric < values.size(); ++metric) {
      AddBand(type, bands, static_cast<int>(metric), values[metric], unix_millis);
    }
  }
}

void JobMetrics::AddBand(const std::string& type, Owner& bands, int metric,
                         std::vector<float>& values, int64_t unix_millis) {
  if (values.empty()) return;
  const int entry = FindOrMakeEntries(PlaceOfBands(type), bands, metric);
  if (entry == kNoEntry) return;
  std::sort(values.begin(), values.end());
  for (size_t line = 0; line < kBandQuantiles.size(); ++line) {
    entries_[static_cast<size_t>(entry) + line].series.Add(
        unix_millis, AtQuantile(values, kBandQuantiles[line]));
  }
}

std::vector<std::string> JobMetrics::Names() const {
  std::vector<bool> known(names_.size());
  for (const Entry& entry : entries_) known[static_cast<size_t>(entry.metric)] = true;
  std::vector<std::string> names;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (known[i]) names.push_back(names_[i]);
  }
  return names;
}

const MetricSeries* JobMetrics::Find(const TaskId& task, const std::string& metric) const {
  const auto found = tasks_.find(task);
  const std::optional<int> number = FindNumber(metric);
  if (found == tasks_.end() || !number) return nullptr;
  const int entry = FindEntry(found->second, *number);
  return entry == kNoEntry ? nullptr : &entries_[static_cast<size_t>(entry)].series;
}

std::optional<MetricBand> JobMetrics::FindBand(const std::string& type,
                                               const std::string& metric) const {
  const auto found = bands_.find(type);
  const std::optional<int> number = FindNumber(metric);
  if (found == bands_.end() || !number) return std::nullopt;
  const int entry = FindEntry(found->second, *number);
  if (entry == kNoEntry) return std::nullopt;
  MetricBand band;
  for (size_t line = 0; line < band.size(); ++line) {
    band[line] = &entries_[static_cast<size_t>(entry) + line].series;
  }
  return band;
}

JobMetrics::Image JobMetrics::MakeImage(size_t position) const {
  const Entry& entry = entries_[position];
  Image image{entry.task, std::nullopt, names_[static_cast<size_t>(entry.metric)],
              entry.series.MakeImage()};
  if (entry.quantile != kNoQuantile) {
    image.quantile = kBandQuantiles[static_cast<size_t>(entry.quantile)];
  }
  return image;
}

void JobMetrics::Restore(const Image& image) {
  MetricValue value;
  const std::optional<int> known = FindNumber(image.metric);
  if (known) {
    value.meaning = *known;
  } else {
    value.reported = absl::StripPrefix(image.metric, kReported);
  }
  const int metric = NumberOf(value);
  if (metric == kNoMetric) return;
  if (!image.quantile) {
    if (!Counts(image.task)) return;
    const int entry = FindOrMakeEntries(PlaceOf(image.task), tasks_[image.task], metric);
    if (entry != kNoEntry) entries_[static_cast<size_t>(entry)].series.Restore(image.series);
    return;
  }
  const auto bands = bands_.find(image.task.type);
  const auto* const line = std::find(kBandQuantiles.begin(), kBandQuantiles.end(), *image.quantile);
  if (bands == bands_.end() || line == kBandQuantiles.end()) return;
  const int entry = FindOrMakeEntries(PlaceOfBands(image.task.type), bands->second, metric);
  if (entry == kNoEntry) return;
  entries_[static_cast<size_t>(entry + (line - kBandQuantiles.begin()))].series.Restore(
      image.series);
}

}  // namespace tony::core
