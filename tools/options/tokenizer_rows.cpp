#include "tools/options/tokenizer_rows.h"

namespace gyre {

void add_tokenizer_rows(OptionTable& table, TokenizerChoice& choice) {
  table.add_choice("--tokenizer", choice.kind, {"auto", "wobert"},
                   "how to read the vocabulary; auto: as its content says; wobert: a vocab.txt with Chinese words, as "
                   "WoBERT and RoFormer do");
  table.add("--dictionary", choice.dictionary, "FILE",
            "words and frequencies in jieba's format, which cut the text for --tokenizer wobert");
}

}  // namespace gyre
