// The program: runs the command that the arguments choose; whatever happens becomes an exit status.
#include <csignal>
#include <exception>
#include <new>
#include <string>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"

int main(int argc, char** argv) {
  using namespace einflow;
  // A reader that closes the pipe early (`| head`) ends the output, not the program.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return run_commands({analyze_command(), explain_command(), simulate_command(), map_command(), bound_command(),
                         translate_command(), machines_command(), problems_command()},
                        argc, argv);
  } catch (const std::bad_alloc&) {
    print_message("einflow: internal error: out of memory");
  } catch (const std::exception& error) {
    print_message(std::string("einflow: internal error: ") + error.what());
  } catch (...) {
    print_message("einflow: internal error");
  }
  return kInternalError;
}
