// gyre completion: prints completion scripts for shells.
#include "tools/help/completion.h"

#include <iostream>

#include "tools/program.h"

namespace gyre {

void add_completion_commands(Program& program) {
  program.describe_group("completion", "print a completion script for a shell");
  program.command("completion bash", "script for bash: source <(gyre completion bash)", [&program] {
    std::cout << bash_completion(program.describe());
    return 0;
  });
  program.command("completion zsh", "script for zsh, in a directory of fpath: gyre completion zsh > _gyre", [&program] {
    std::cout << zsh_completion(program.describe());
    return 0;
  });
}

}  // namespace gyre
