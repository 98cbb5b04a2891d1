#include "tools/page/tape/text_workload.h"

#include <utility>

#include "gyre/core/error.h"
#include "gyre/data/batch/masking.h"
#include "gyre/data/batch/pair_batch.h"
#include "gyre/data/text/utf8.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/models/encoder_only.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/to_tensor.h"
#include "gyre/train/tasks/translation/pair_input.h"

namespace gyre {
namespace {

using Ids = std::vector<int32_t>;

LossResult loss_of(const EncoderDecoder& model, Tape& tape, const PairInput& batch) {
  constexpr double kLabelSmoothing = 0.1;
  return model.loss(tape, batch, kLabelSmoothing);
}

LossResult loss_of(const EncoderOnly& model, Tape& tape, const MaskedInput& batch) { return model.loss(tape, batch); }

// A model with one batch.
template <class Model, class Batch>
class TextWorkload final : public Workload {
 public:
  TextWorkload(std::unique_ptr<Model> model, Batch batch, std::string text, int64_t tokens)
      : model_(std::move(model)), batch_(std::move(batch)), text_(std::move(text)), tokens_(tokens) {}

  Parameters& parameters() override { return model_->parameters(); }
  std::string batches() const override { return text_; }
  bool varies() const override { return false; }
  int64_t draw(uint64_t) override { return tokens_; }
  void draw_ahead(uint64_t) override {}
  LossResult loss(Tape& tape) const override { return loss_of(*model_, tape, batch_); }

 private:
  std::unique_ptr<Model> model_;
  Batch batch_;
  std::string text_;
  int64_t tokens_;
};

Ids encode_text(const std::string& text, const char* option, const Vocabulary& vocabulary) {
  if (first_invalid_utf8(text)) throw UsageError(option, " is not valid UTF-8");
  Ids ids = vocabulary.encode(text);
  if (ids.empty()) throw UsageError(option, ": expected at least one token, got none");
  return ids;
}

void expect_length(size_t tokens, int64_t longest, const char* option) {
  if (int64_t(tokens) > longest)
    throw UsageError(option, ": the model has positions for ", longest, " tokens, got ", tokens);
}

std::string joined_pieces(const Ids& ids, const Vocabulary& vocabulary) {
  std::string text;
  for (const int32_t id : ids) text += (text.empty() ? "" : " ") + vocabulary.piece(id);
  return text;
}

std::unique_ptr<Workload> translation(const Path& path, const std::string& checkpoint, const StepText& text,
                                      Device device) {
  if (text.target.empty()) throw UsageError("--text: expected --target, too, for a translation model");
  auto [vocabulary, model] = load_trained_model<EncoderDecoder>(path, checkpoint, {}, device);
  const Ids source = encode_text(text.text, "--text", *vocabulary),
            target = encode_text(text.target, "--target", *vocabulary);
  expect_length(source.size() + 1, model->longest(), "--text");
  expect_length(target.size() + 1, model->longest(), "--target");
  PairPacker packer(vocabulary->bos(), vocabulary->eos());
  packer.add(source, target);
  PairInput batch = pair_input(packer.finish());
  const int64_t tokens = batch.source.tokens() + batch.target.tokens();
  const std::string pieces = joined_pieces(source, *vocabulary) + " -> " + joined_pieces(target, *vocabulary);
  return std::make_unique<TextWorkload<EncoderDecoder, PairInput>>(std::move(model), std::move(batch), pieces, tokens);
}

// Reads all tokens but the last, and predicts the next one.
MaskedInput causal_input(const Ids& ids) {
  const Ids read(ids.begin(), ids.end() - 1), next(ids.begin() + 1, ids.end());
  return {to_tensor(read), Segments::from_lengths({int32_t(read.size())}), {}, to_tensor(next)};
}

MaskedInput masked_input(Ids& ids, const Vocabulary& vocabulary) {
  Ids rows, targets;
  for (const MaskedRow& masked : Masking(MaskingVocabulary::of(vocabulary), {}, 1).mask(ids, 0, 0)) {
    rows.push_back(masked.row);
    targets.push_back(masked.id);
  }
  if (rows.empty()) throw UsageError("--text: expected a token that may be masked, got none");
  return {to_tensor(ids), Segments::from_lengths({int32_t(ids.size())}), to_tensor(rows), to_tensor(targets)};
}

std::unique_ptr<Workload> language(const Path& path, const std::string& checkpoint, const StepText& text,
                                   Device device) {
  if (!text.target.empty()) throw UsageError("--target would have no effect: the model does not translate");
  auto [vocabulary, model] = load_trained_model<EncoderOnly>(path, checkpoint, {}, device);
  Ids ids = encode_text(text.text, "--text", *vocabulary);
  ids.insert(ids.begin(), vocabulary->bos());
  ids.push_back(vocabulary->eos());
  const bool causal = model->config().causal;
  expect_length(ids.size() - (causal ? 1 : 0), model->longest(), "--text");
  MaskedInput batch = causal ? causal_input(ids) : masked_input(ids, *vocabulary);
  return std::make_unique<TextWorkload<EncoderOnly, MaskedInput>>(std::move(model), std::move(batch),
                                                                  joined_pieces(ids, *vocabulary), int64_t(ids.size()));
}

}  // namespace

std::unique_ptr<Workload> text_workload(const Path& model, const std::string& checkpoint, const StepText& text,
                                        Device device) {
  const std::string kind = model_kind(find_run(model));
  if (kind == EncoderDecoderConfig::kModel) return translation(model, checkpoint, text, device);
  if (kind == EncoderOnlyConfig::kModel) return language(model, checkpoint, text, device);
  throw UsageError("--text: expected a translation or language model, ", model.string(), " is a classifier");
}

}  // namespace gyre
