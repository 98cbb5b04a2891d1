// gyre completion: what a shell reads to complete the program's command lines.
#include <iostream>

#include "tools/completion.h"
#include "tools/program.h"

namespace gyre {

void add_completion_commands(Program& program) {
  program.describe_group("completion", "print a completion script for a shell");
  program.command("completion bash", "for bash: source <(gyre completion bash)", [&program] {
    std::cout << bash_completion(program.describe());
    return 0;
  });
  program.command("completion zsh", "for zsh, in a folder of its fpath: gyre completion zsh > _gyre", [&program] {
    std::cout << zsh_completion(program.describe());
    return 0;
  });
}

}  // namespace gyre
