// gyre man: prints the man page.
#include <iostream>

#include "tools/help/man_page.h"
#include "tools/program.h"

namespace gyre {

void add_man_command(Program& program) {
  program.command("man", "print the man page: gyre man > gyre.1; man -l gyre.1", [&program] {
    std::cout << man_page(program.describe());
    return 0;
  });
}

}  // namespace gyre
