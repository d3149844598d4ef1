// The commands, one file each.
#pragma once

#include "cli/command_line.hpp"

namespace einflow {

Command analyze_command();
Command explain_command();
Command simulate_command();
Command map_command();
Command bound_command();
Command translate_command();
Command machines_command();
Command problems_command();

}  // namespace einflow
