// The groups of the key table, in the files keys_*.cc. Only these files and key_table.cc include
// this header.
#pragma once

#include "jobfile/keys/key_group.h"

namespace tony::jobfile {

KeyGroup ApplicationKeys();
KeyGroup ProgramKeys();
KeyGroup OutcomeKeys();
KeyGroup TimeLimitKeys();
KeyGroup RetryKeys();
KeyGroup TaskTypeKeys();
KeyGroup TypeProgramKeys();
KeyGroup ContainerKeys();
KeyGroup OrderKeys();
KeyGroup TotalLimitKeys();
KeyGroup ExecutorKeys();
KeyGroup FeedKeys();
KeyGroup TaskOutputKeys();
KeyGroup MeasurementKeys();
KeyGroup AlertKeys();
KeyGroup ApplicationMasterKeys();
KeyGroup MasterWaitKeys();
KeyGroup LocalKeys();
KeyGroup ClientKeys();
KeyGroup YarnKeys();
KeyGroup LabelKeys();
KeyGroup TypeLabelKeys();
KeyGroup HadoopKeys();
KeyGroup JavaKeys();
KeyGroup DockerKeys();
KeyGroup HorovodKeys();
KeyGroup HorovodTuningKeys();
KeyGroup HorovodWatchKeys();
KeyGroup HistoryKeys();
KeyGroup PortalKeys();
KeyGroup VersionKeys();

/// A reason that keys in several files share.
inline constexpr char kNoJvm[] = "tony has no JVM; the value is ignored";

}  // namespace tony::jobfile
