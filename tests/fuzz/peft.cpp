#include "gyre/models/hugging_face/peft.h"

#include "tests/fuzz/target.h"

void read_input(std::string_view input) { gyre::parse_peft_config(input, "input: "); }
