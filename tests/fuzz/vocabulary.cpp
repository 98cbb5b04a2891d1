#include "gyre/data/tokenizer/vocabulary.h"

#include "tests/fuzz/target.h"

using namespace gyre;

void read_input(std::string_view input) {
  const auto vocabulary = load_vocabulary(as_file(input));
  const std::vector<int32_t> ids = vocabulary->encode("low lower\xC3\xA9 newest, 12 \u4e2d\u6587");
  vocabulary->decode(ids);
  for (int id = 0; id < vocabulary->size(); ++id) vocabulary->piece(id);
}
