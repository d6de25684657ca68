// Inputs and effects of the state machine as lines of text, for scenario files and failure
// messages.
#pragma once

#include <string>

#include "core/job/job_effect.h"
#include "core/job/job_input.h"

namespace tony::core {

/// One line without a line break; effect::SendStart has the cluster spec on a second one.
std::string RenderEffect(const JobEffect& effect);
/// All of them, one after the other, each ended by a line break.
std::string RenderEffects(const JobEffects& effects);

/// The input and its sender, in a few words.
std::string RenderInput(const JobInput& input);

}  // namespace tony::core
