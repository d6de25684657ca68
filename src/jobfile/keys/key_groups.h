// The key table's parts, one function per file of rows. Only key_table.cc includes this.
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
KeyGroup TaskOutputKeys();
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

/// Why keys are refused or noted, where several share the reason.
inline constexpr char kNoJvm[] = "tony has no JVM; the value is ignored";

}  // namespace tony::jobfile
