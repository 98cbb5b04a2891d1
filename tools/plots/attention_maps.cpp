#include "tools/plots/attention_maps.h"

#include <algorithm>
#include <sstream>

#include "data/utf8.h"
#include "models/decode/translate.h"
#include "models/encoder_only.h"
#include "train/decoding.h"
#include "train/to_tensor.h"
#include "train/trained_model.h"

namespace gyre {
namespace {

using Ids = std::vector<int32_t>;

Ids encode(const std::string& text, const char* option, const Vocabulary& vocabulary) {
  require(!first_invalid_utf8(text), "[plot] ", option, " is not valid UTF-8");
  Ids ids;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Ids some = vocabulary.encode(line);
    ids.insert(ids.end(), some.begin(), some.end());
  }
  require(!ids.empty(), "[plot] ", option, ": expected at least one token, got none");
  return ids;
}

void cut(Ids& ids, const AttentionQuestion& question, int64_t longest, const Path& model) {
  if (question.max_length > 0) ids.resize(std::min(ids.size(), size_t(question.max_length)));
  require(int64_t(ids.size()) <= longest, "[plot] ", model.string(), " has positions for ", longest, " tokens, got ",
          ids.size(), "; see --max-length");
}

std::vector<std::string> pieces_of(const Ids& ids, const Vocabulary& vocabulary) {
  std::vector<std::string> pieces;
  for (const int32_t id : ids) pieces.push_back(vocabulary.piece(id));
  return pieces;
}

// The nodes of softmax attention from `begin` on, every `step`-th of them from number `first`: a layer each.
Tensor weights_of_layer(const Tape& tape, size_t begin, int first, int step, int layer) {
  int found = 0, layers = 0;
  for (size_t node = begin; node < tape.nodes().size(); ++node) {
    if (tape.nodes()[node].name() != "attention" || found++ % step != first) continue;
    if (layers++ == layer) return attention_weights(tape, int(node), 0);
  }
  throw UsageError("--layer: expected one of the ", layers, " layers with softmax attention, counted from 0, got ",
                   layer);
}

// <s> text, and with the end of a text where the model sees both sides.
AttentionMaps of_language_model(const Path& path, const std::string& checkpoint, const AttentionQuestion& question) {
  if (question.part || !question.target.empty())
    throw UsageError("--", question.part ? "part" : "target", " would have no effect: ", path.string(),
                     " is no translation model");
  const auto [vocabulary, model] = load_trained_model<EncoderOnly>(path, checkpoint, {}, Device{});
  Ids ids = encode(question.text, "--text", *vocabulary);
  ids.insert(ids.begin(), vocabulary->bos());
  if (!model->config().causal) ids.push_back(vocabulary->eos());
  cut(ids, question, model->longest(), path);
  Tape tape(cpu_kernels(), {});
  model->encode(tape, to_tensor(ids), Segments::from_lengths({int32_t(ids.size())}));
  const std::vector<std::string> pieces = pieces_of(ids, *vocabulary);
  return {"self-attention", pieces, pieces, weights_of_layer(tape, 0, 0, 1, question.layer)};
}

// What the decoder reads: <s> and the target, which the model itself makes of the source where none is given.
Ids target_of(const AttentionQuestion& question, const Vocabulary& vocabulary, const EncoderDecoder& model,
              const Ids& source) {
  Ids ids;
  if (question.target.empty()) {
    DecodeOptions options;
    set_vocabulary(options, vocabulary);
    ids = translate(model, cpu_kernels(), {source}, options).front().front().ids;
  } else {
    ids = encode(question.target, "--target", vocabulary);
  }
  ids.insert(ids.begin(), vocabulary.bos());
  return ids;
}

AttentionMaps of_translation_model(const Path& path, const std::string& checkpoint, const AttentionQuestion& question) {
  const auto [vocabulary, model] = load_trained_model<EncoderDecoder>(path, checkpoint, {}, Device{});
  Ids source = encode(question.text, "--text", *vocabulary);
  source.push_back(vocabulary->eos());
  cut(source, question, model->longest(), path);
  const Segments sources = Segments::from_lengths({int32_t(source.size())});
  Tape tape(cpu_kernels(), {});
  const Var encoded = model->encode(tape, to_tensor(source), sources);
  const std::vector<std::string> keys = pieces_of(source, *vocabulary);
  const AttentionPart part = question.part.value_or(AttentionPart::cross);
  if (part == AttentionPart::encoder)
    return {"self-attention of the encoder", keys, keys, weights_of_layer(tape, 0, 0, 1, question.layer)};
  const size_t decoder = tape.nodes().size();
  Ids target = target_of(question, *vocabulary, *model, source);
  cut(target, question, model->longest(), path);
  model->decode(tape, encoded, sources, to_tensor(target), Segments::from_lengths({int32_t(target.size())}));
  const std::vector<std::string> queries = pieces_of(target, *vocabulary);
  if (part == AttentionPart::decoder)  // each of its layers attends to itself, then to the encoder
    return {"self-attention of the decoder", queries, queries, weights_of_layer(tape, decoder, 0, 2, question.layer)};
  return {"cross-attention", queries, keys, weights_of_layer(tape, decoder, 1, 2, question.layer)};
}

}  // namespace

AttentionMaps attention_maps(const Path& model, const std::string& checkpoint, const AttentionQuestion& question) {
  return model_kind(find_run(model)) == EncoderDecoderConfig::kModel ? of_translation_model(model, checkpoint, question)
                                                                     : of_language_model(model, checkpoint, question);
}

}  // namespace gyre
