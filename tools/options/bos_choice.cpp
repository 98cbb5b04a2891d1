#include "tools/options/bos_choice.h"

#include "gyre/core/error.h"
#include "gyre/train/pretrained/trained_model.h"

namespace gyre {

void BosChoice::add_row(OptionTable& table) {
  table_ = &table;
  table.add_flag("--bos,!--no-bos", is_on_,
                 "begin every text with the token that begins a document, unless it does; default: as in training, or "
                 "as the tokenizer of an imported model says");
}

std::vector<int32_t> BosChoice::before_text(const Path& model, const std::string& checkpoint,
                                            const Vocabulary& vocabulary) const {
  const bool is_given = table_->given("bos");
  if (is_given && !is_on_) return {};
  std::vector<int32_t> before = vocabulary.around_text().before;
  const bool is_trained = trained_option(model, checkpoint, "documents").has_value();
  if ((is_given || is_trained) && before.empty()) before = {vocabulary.bos()};
  return before;
}

void BosChoice::reject(const std::string& reason) const {
  if (table_->given("bos")) throw UsageError("--bos would have no effect: ", reason);
}

void put_before_text(const std::vector<int32_t>& before, const Vocabulary& vocabulary, std::vector<int32_t>& ids) {
  if (ids.empty() && before.empty()) ids.push_back(vocabulary.bos());
  const bool has_bos = !ids.empty() && !before.empty() && ids.front() == before.front();
  if (!has_bos) ids.insert(ids.begin(), before.begin(), before.end());
}

}  // namespace gyre
