// Cuts the steps into samples, gives their speeds to the search, and writes the table and the
// sentence about the choice.
#include "collective/tune/autotune.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace tony::collective {
namespace {

std::string Short(double number) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.6g", number);
  return text.data();
}

std::string Milliseconds(size_t microseconds) {
  return Short(static_cast<double>(microseconds) / 1000);
}

/// The table's header. Columns that Horovod's autotune log has as well have the same names.
std::string Head(const Settings& settings) {
  return std::string("cycle_time_ms,tensor_fusion_threshold,") +
         (settings.points ? "whole_bytes,rails_bytes,window_bytes," : "") + "score,chosen";
}

std::string Choice(const Settings& settings, double speed, int samples) {
  std::string text =
      "autotune has chosen HOROVOD_FUSION_THRESHOLD=" + std::to_string(settings.fusion_bytes) +
      " HOROVOD_CYCLE_TIME=" + Milliseconds(settings.window_us);
  if (settings.points) {
    const SwitchPoints& points = *settings.points;
    text += " and, as TONY_COLLECTIVE_SWITCH_POINTS takes them, whole_bytes " +
            std::to_string(points.whole_bytes) + ", rails_bytes " +
            std::to_string(points.rails_bytes) + ", window_bytes " +
            std::to_string(points.window_bytes);
  }
  return text + ", after " + std::to_string(samples) + " samples: " + Short(speed) +
         " MB of tensors a second";
}

}  // namespace

Autotune::Autotune(const Settings& present, std::vector<Parameter> parameters, Options options,
                   Callbacks callbacks)
    : options_(options),
      callbacks_(std::move(callbacks)),
      search_(present, std::move(parameters), options.most_tries) {
  callbacks_.log(Head(present));
}

std::optional<Settings> Autotune::Take(const Decision& decision, Deadline now) {
  const auto step = pace_.Take(decision, now);
  if (!step || done()) return std::nullopt;
  steps_.push_back(*step);
  time_ += step->time;
  const bool enough = steps_.size() >= static_cast<size_t>(options_.steps_per_sample) &&
                      time_ >= options_.least_time;
  if (!enough) return std::nullopt;
  const double speed = TakeSpeed();
  if (samples_++ < options_.warmup_samples) return std::nullopt;
  const Settings before = search_.settings();
  Log(before, speed, /*chosen=*/false);
  search_.Measured(speed);
  if (done()) {
    Log(search_.settings(), search_.speed(), /*chosen=*/true);
    callbacks_.say(Choice(search_.settings(), search_.speed(), samples_));
  }
  if (search_.settings() == before) return std::nullopt;
  // The step that is under way mixes both settings, so it does not count.
  pace_.Restart();
  return search_.settings();
}

double Autotune::TakeSpeed() {
  std::vector<double> bytes;
  std::vector<double> times;
  for (const Pace::Step& step : std::exchange(steps_, {})) {
    bytes.push_back(static_cast<double>(step.bytes));
    times.push_back(std::chrono::duration<double, std::micro>(step.time).count());
  }
  time_ = {};
  // The lower limit avoids a division by 0, if two decisions come within one tick of the clock.
  return Median(std::move(bytes)) / std::max(Median(std::move(times)), 1e-3);
}

void Autotune::Log(const Settings& settings, double speed, bool chosen) const {
  std::string line =
      Milliseconds(settings.window_us) + "," + std::to_string(settings.fusion_bytes) + ",";
  if (settings.points) {
    line += std::to_string(settings.points->whole_bytes) + "," +
            std::to_string(settings.points->rails_bytes) + "," +
            std::to_string(settings.points->window_bytes) + ",";
  }
  callbacks_.log(line + Short(speed) + (chosen ? ",1" : ",0"));
}

}  // namespace tony::collective
