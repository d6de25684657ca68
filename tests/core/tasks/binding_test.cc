// The one table of bindings between tasks and containers.
#include "core/tasks/binding.h"

#include <gtest/gtest.h>

#include <set>

namespace tony::core {
namespace {

constexpr int kTriggers = static_cast<int>(BindingTrigger::kGone) + 1;

/// Calls `check` for each pair of a binding and a trigger.
template <typename Function>
void ForEachPair(Function check) {
  for (int binding = 0; binding < kBindings; ++binding) {
    for (int trigger = 0; trigger < kTriggers; ++trigger) {
      check(static_cast<Binding>(binding), static_cast<BindingTrigger>(trigger));
    }
  }
}

TEST(BindingTest, EveryBindingCanBeReached) {
  std::set<Binding> reached = {Binding::kFree};
  for (int round = 0; round < kBindings; ++round) {
    for (const Binding binding : std::set<Binding>(reached)) {
      for (int trigger = 0; trigger < kTriggers; ++trigger) {
        const auto next = NextBinding(binding, static_cast<BindingTrigger>(trigger));
        if (next) reached.insert(*next);
      }
    }
  }
  EXPECT_EQ(reached.size(), static_cast<size_t>(kBindings));
}

TEST(BindingTest, OnlyAGrantBindsAndOnlyTheEndOfTheContainerUnbinds) {
  ForEachPair([](Binding binding, BindingTrigger trigger) {
    const std::optional<Binding> next = NextBinding(binding, trigger);
    if (!next) return;
    EXPECT_EQ(!IsBound(binding) && IsBound(*next), trigger == BindingTrigger::kGrant)
        << BindingName(binding) << " " << BindingTriggerName(trigger);
    EXPECT_EQ(IsBound(binding) && !IsBound(*next), trigger == BindingTrigger::kGone)
        << BindingName(binding) << " " << BindingTriggerName(trigger);
  });
}

TEST(BindingTest, EveryContainerCanBeKilledAndCanBeGone) {
  for (int value = 0; value < kBindings; ++value) {
    const auto binding = static_cast<Binding>(value);
    EXPECT_EQ(NextBinding(binding, BindingTrigger::kKill) == Binding::kKilled, IsBound(binding));
    EXPECT_EQ(NextBinding(binding, BindingTrigger::kGone) == Binding::kFree, IsBound(binding));
  }
}

TEST(BindingTest, AKilledContainerOnlyGoes) {
  for (int trigger = 0; trigger < kTriggers; ++trigger) {
    const auto next = NextBinding(Binding::kKilled, static_cast<BindingTrigger>(trigger));
    if (next) EXPECT_TRUE(*next == Binding::kKilled || *next == Binding::kFree);
  }
}

TEST(BindingTest, AStreamOpensOnlyByAttaching) {
  ForEachPair([](Binding binding, BindingTrigger trigger) {
    const std::optional<Binding> next = NextBinding(binding, trigger);
    if (!next || IsAttached(binding) || !IsAttached(*next)) return;
    EXPECT_EQ(trigger, BindingTrigger::kAttach) << BindingName(binding);
  });
}

TEST(BindingTest, WhoIsAwaitedMayAttach) {
  for (int value = 0; value < kBindings; ++value) {
    const auto binding = static_cast<Binding>(value);
    if (!IsAwaited(binding)) continue;
    EXPECT_EQ(NextBinding(binding, BindingTrigger::kAttach), Binding::kAttached)
        << BindingName(binding);
  }
}

TEST(BindingTest, NamesAreDistinct) {
  std::set<std::string> names;
  ForEachPair([&names](Binding binding, BindingTrigger trigger) {
    names.insert(BindingName(binding));
    names.insert(BindingTriggerName(trigger));
  });
  EXPECT_EQ(names.size(), static_cast<size_t>(kBindings + kTriggers));
}

}  // namespace
}  // namespace tony::core
