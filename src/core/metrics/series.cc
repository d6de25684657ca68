// Reading takes the finest part that reaches back to the wanted time, and merges it into points.
// Times in the samples are absolute: 16 bytes a sample, which is a sixth of a series.
#include "core/metrics/series.h"

#include <algorithm>
#include <cmath>

namespace tony::core {
namespace {

constexpr SeriesSize kFullSize;
constexpr SeriesSize kLeastSize{8, 8, 16};

/// The point of the result to which a time belongs.
size_t PointAt(const MetricPoints& result, int64_t millis) {
  return static_cast<size_t>((millis - result.begin_millis) / result.step_millis);
}

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
int64_t RoundDown(int64_t value, int64_t unit) { return value / unit * unit; }

}  // namespace

void MetricBucket::Merge(const MetricBucket& other, double weight, double other_weight) {
  if (other.empty()) return;
  if (empty()) {
    *this = other;
    return;
  }
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  mean = static_cast<float>((mean * weight + other.mean * other_weight) / (weight + other_weight));
}

size_t SeriesSize::bytes() const {
  return sizeof(MetricSeries) + static_cast<size_t>(samples) * sizeof(MetricSeries::Image::Sample) +
         static_cast<size_t>(fine_buckets + coarse_buckets) * sizeof(MetricBucket);
}

SeriesSize SeriesSize::Within(size_t bytes) {
  const double share = static_cast<double>(bytes - std::min(bytes, sizeof(MetricSeries))) /
                       static_cast<double>(kFullSize.bytes() - sizeof(MetricSeries));
  const auto part = [share](int full, int least) {
    return std::clamp(static_cast<int>(full * share), least, full);
  };
  return {part(kFullSize.samples, kLeastSize.samples),
          part(kFullSize.fine_buckets, kLeastSize.fine_buckets),
          part(kFullSize.coarse_buckets, kLeastSize.coarse_buckets)};
}

void MetricSeries::Add(int64_t unix_millis, double value) {
  if (!std::isfinite(value)) return;
  const auto narrow = static_cast<float>(value);
  if (!std::isfinite(narrow)) return;
  const int64_t millis = empty() ? unix_millis : std::max(unix_millis, last_);
  if (empty()) begin_ = millis;
  last_ = millis;
  AddSample({millis, narrow});
  AddFine(millis, narrow);
  AddCoarse(millis, {narrow, narrow, narrow}, 1);
}

const MetricSeries::Sample& MetricSeries::Newest() const {
  return samples_[(next_sample_ + samples_.size() - 1) % samples_.size()];
}

void MetricSeries::AddSample(Sample sample) {
  ++count_;
  const auto most = static_cast<size_t>(size_.samples);
  if (samples_.size() < most) {
    samples_.push_back(sample);
    return;
  }
  samples_[next_sample_] = sample;
  next_sample_ = (next_sample_ + 1) % most;
}

void MetricSeries::AddFine(int64_t millis, float value) {
  const int64_t number = millis / kFineMillis;
  const int64_t size = size_.fine_buckets;
  if (newest_fine_ < 0) newest_fine_ = number - 1;
  if (fine_.size() < static_cast<size_t>(size)) fine_.resize(static_cast<size_t>(size));
  if (number > newest_fine_) {
    // Buckets in which nothing was measured are emptied; at most the whole ring.
    for (int64_t gap = std::max(newest_fine_ + 1, number - size + 1); gap <= number; ++gap) {
      fine_[static_cast<size_t>(gap % size)] = {};
    }
    fine_count_ = std::min(size, fine_count_ + number - newest_fine_);
    newest_fine_ = number;
    fine_weight_ = 0;
  }
  fine_[static_cast<size_t>(number % size)].Merge({value, value, value}, fine_weight_, 1);
  fine_weight_ += 1;
}

void MetricSeries::AddCoarse(int64_t millis, const MetricBucket& bucket, double weight) {
  if (coarse_.empty()) coarse_begin_ = RoundDown(millis, kFineMillis);
  while ((millis - coarse_begin_) / coarse_step_ >= size_.coarse_buckets) HalveCoarse();
  const auto position = static_cast<size_t>((millis - coarse_begin_) / coarse_step_);
  if (position >= coarse_.size()) {
    coarse_.resize(position + 1);
    coarse_weight_ = 0;
  }
  coarse_[position].Merge(bucket, coarse_weight_, weight);
  coarse_weight_ += weight;
}

// The means of two merged buckets count alike: executors measure at an even pace.
void MetricSeries::HalveCoarse() {
  const bool newest_is_alone = coarse_.size() % 2 == 1;
  for (size_t i = 0; i < coarse_.size(); ++i) {
    if (i % 2 == 0) {
      coarse_[i / 2] = coarse_[i];
    } else {
      coarse_[i / 2].Merge(coarse_[i]);
    }
  }
  coarse_.resize((coarse_.size() + 1) / 2);
  if (!newest_is_alone) coarse_weight_ *= 2;
  coarse_step_ *= 2;
}

int64_t MetricSeries::OldestSampleMillis() const {
  const bool full = samples_.size() == static_cast<size_t>(size_.samples);
  return samples_[full ? next_sample_ : 0].millis;
}

// Rounded to tenths of a second, so that small delays make no other steps.
int64_t MetricSeries::SampleDistance() const {
  constexpr int64_t kTenth = 100;
  if (samples_.size() < 2) return kTenth;
  const int64_t distance =
      (last_ - OldestSampleMillis()) / static_cast<int64_t>(samples_.size() - 1);
  return std::max(kTenth, (distance + kTenth / 2) / kTenth * kTenth);
}

int64_t MetricSeries::FineBeginMillis() const {
  return (newest_fine_ - fine_count_ + 1) * kFineMillis;
}

// What lies before the first value needs no part that reaches further back.
MetricSeries::Part MetricSeries::PartFrom(int64_t from) const {
  const int64_t wanted = std::max(from, begin_);
  if (wanted >= OldestSampleMillis()) return Part::kSamples;
  return wanted >= FineBeginMillis() ? Part::kFine : Part::kCoarse;
}

int64_t MetricSeries::Resolution(int64_t from) const {
  if (empty()) return 1;
  switch (PartFrom(from)) {
    case Part::kSamples:
      return SampleDistance();
    case Part::kFine:
      return kFineMillis;
    case Part::kCoarse:
      break;
  }
  return coarse_step_;
}

MetricPoints MetricSeries::Read(int64_t from, int64_t to, int points, int64_t unit) const {
  MetricPoints result;
  from = std::max<int64_t>(from, 0);
  if (empty() || from >= to || points < 1) return result;
  if (unit < 1) unit = Resolution(from);
  // Points begin at multiples of the step, so that a chart does not tremble from one request to the
  // next. So the first and the last one may be partly outside, which costs one point.
  result.step_millis = to - from;
  result.begin_millis = from;
  if (points > 1) {
    result.step_millis = RoundUp((to - from + points - 2) / (points - 1), unit);
    result.begin_millis = RoundDown(from, result.step_millis);
  }
  const int64_t length = std::min<int64_t>(
      points, (to - result.begin_millis + result.step_millis - 1) / result.step_millis);
  result.points.resize(static_cast<size_t>(length));
  const auto take = [&](int64_t millis, const MetricBucket& bucket) {
    if (millis < result.begin_millis || millis >= to) return;
    const size_t point = PointAt(result, millis);
    if (point < result.points.size()) result.points[point].Merge(bucket);
  };
  switch (PartFrom(from)) {
    case Part::kSamples:
      for (const Sample& sample : samples_) {
        take(sample.millis, {sample.value, sample.value, sample.value});
      }
      break;
    case Part::kFine:
      for (int64_t number = newest_fine_ - fine_count_ + 1; number <= newest_fine_; ++number) {
        take(number * kFineMillis, fine_[static_cast<size_t>(number % size_.fine_buckets)]);
      }
      break;
    case Part::kCoarse:
      for (size_t i = 0; i < coarse_.size(); ++i) {
        take(coarse_begin_ + static_cast<int64_t>(i) * coarse_step_, coarse_[i]);
      }
      break;
  }
  return result;
}

MetricSeries::Image MetricSeries::MakeImage() const {
  Image image;
  for (size_t i = 0; i < samples_.size(); ++i) {
    const Sample& sample = samples_[(next_sample_ + i) % samples_.size()];
    image.samples.push_back({sample.millis, sample.value});
  }
  image.fine_begin_millis = empty() ? 0 : FineBeginMillis();
  for (int64_t number = newest_fine_ - fine_count_ + 1; fine_count_ > 0 && number <= newest_fine_;
       ++number) {
    image.fine.push_back(fine_[static_cast<size_t>(number % size_.fine_buckets)]);
  }
  image.coarse_begin_millis = coarse_begin_;
  image.coarse_step_millis = coarse_step_;
  image.coarse = coarse_;
  return image;
}

void MetricSeries::Restore(const Image& image) {
  *this = MetricSeries(size_);
  // Widths are ten seconds, doubled some times; 40 times is longer than any clock goes.
  int64_t step = kFineMillis;
  for (int doubled = 0; doubled < 40 && step < image.coarse_step_millis; ++doubled) step *= 2;
  constexpr int64_t kMostMillis = int64_t{1} << 50;
  const auto is_time = [](int64_t millis) { return millis >= 0 && millis < kMostMillis; };
  if (step == image.coarse_step_millis && is_time(image.coarse_begin_millis)) {
    coarse_step_ = step;
    int64_t millis = image.coarse_begin_millis;
    for (size_t i = 0; i < image.coarse.size() && is_time(millis); ++i, millis += step) {
      if (image.coarse[i].empty()) continue;
      if (coarse_.empty()) begin_ = last_ = millis;
      last_ = millis;
      AddCoarse(millis, image.coarse[i], 1);
    }
  }
  int64_t millis = image.fine_begin_millis;
  for (size_t i = 0; i < image.fine.size() && is_time(millis); ++i, millis += kFineMillis) {
    const MetricBucket& bucket = image.fine[i];
    if (bucket.empty()) continue;
    AddFine(millis, bucket.mean);
    fine_[static_cast<size_t>(newest_fine_ % size_.fine_buckets)] = bucket;
  }
  int64_t newest = 0;
  for (const Image::Sample& sample : image.samples) {
    if (!is_time(sample.unix_millis) || !std::isfinite(sample.value)) continue;
    if (samples_.empty() && coarse_.empty()) begin_ = sample.unix_millis;
    newest = std::max(newest, sample.unix_millis);
    AddSample({newest, sample.value});
  }
  last_ = std::max(last_, newest);
  // The samples reach back less far than the buckets, each of which has had one value at least.
  count_ = std::max(count_, static_cast<int64_t>(coarse_.size()));
  if (samples_.empty() && !coarse_.empty()) AddSample({last_, coarse_.back().mean});
}

}  // namespace tony::core
