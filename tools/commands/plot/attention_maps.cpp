#include "tools/commands/plot/attention_maps.h"

#include <algorithm>
#include <sstream>

#include "gyre/data/text/utf8.h"
#include "gyre/models/decode/translate.h"
#include "gyre/models/encoder_only.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/to_tensor.h"
#include "gyre/train/tasks/translation/decoding.h"

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

void cut(Ids& ids, const AttentionMapOptions& options, int64_t longest, const Path& model) {
  if (options.max_length > 0) ids.resize(std::min(ids.size(), size_t(options.max_length)));
  require(int64_t(ids.size()) <= longest, "[plot] ", model.string(), " has positions for ", longest, " tokens, got ",
          ids.size(), "; see --max-length");
}

std::vector<std::string> pieces_of(const Ids& ids, const Vocabulary& vocabulary) {
  std::vector<std::string> pieces;
  for (const int32_t id : ids) pieces.push_back(vocabulary.piece(id));
  return pieces;
}

// Weights of one layer. The layers are the nodes of softmax attention from node `begin` on: number `first`, and then
// every `step`-th one.
Tensor weights_of_layer(const Tape& tape, size_t begin, int first, int step, int layer) {
  int found = 0, layers = 0;
  for (size_t node = begin; node < tape.nodes().size(); ++node) {
    if (tape.nodes()[node].name() != "attention" || found++ % step != first) continue;
    if (layers++ == layer) return attention_weights(tape, int(node), 0);
  }
  throw UsageError("--layer: expected one of the ", layers, " layers with softmax attention, counted from 0, got ",
                   layer);
}

void reject_bos(const AttentionMapOptions& options, const Path& model) {
  options.bos.reject(concat(model.string(), " is not a causal language model"));
}

// A causal model reads the text as in generation, a bidirectional one the text between <s> and </s>.
AttentionMaps of_language_model(const Path& path, const std::string& checkpoint, const AttentionMapOptions& options) {
  if (options.part || !options.target.empty())
    throw UsageError("--", options.part ? "part" : "target", " would have no effect: ", path.string(),
                     " is not a translation model");
  const auto [vocabulary, model] = load_trained_model<EncoderOnly>(path, checkpoint, {}, Device{});
  Ids ids = encode(options.text, "--text", *vocabulary);
  if (model->config().causal) {
    put_before_text(options.bos.before_text(path, checkpoint, *vocabulary), *vocabulary, ids);
  } else {
    reject_bos(options, path);
    ids.insert(ids.begin(), vocabulary->bos());
    ids.push_back(vocabulary->eos());
  }
  cut(ids, options, model->longest(), path);
  Tape tape(cpu_kernels(), {});
  model->encode(tape, to_tensor(ids), Segments::from_lengths({int32_t(ids.size())}));
  const std::vector<std::string> pieces = pieces_of(ids, *vocabulary);
  return {"self-attention", pieces, pieces, weights_of_layer(tape, 0, 0, 1, options.layer)};
}

// The input of the decoder: <s> and the target. Without a given target the model translates the source.
Ids target_of(const AttentionMapOptions& options, const Vocabulary& vocabulary, const EncoderDecoder& model,
              const Ids& source) {
  Ids ids;
  if (options.target.empty()) {
    DecodeOptions decoding;
    set_vocabulary(decoding, vocabulary);
    ids = translate(model, cpu_kernels(), {source}, decoding).front().front().ids;
  } else {
    ids = encode(options.target, "--target", vocabulary);
  }
  ids.insert(ids.begin(), vocabulary.bos());
  return ids;
}

AttentionMaps of_translation_model(const Path& path, const std::string& checkpoint,
                                   const AttentionMapOptions& options) {
  reject_bos(options, path);
  const auto [vocabulary, model] = load_trained_model<EncoderDecoder>(path, checkpoint, {}, Device{});
  Ids source = encode(options.text, "--text", *vocabulary);
  source.push_back(vocabulary->eos());
  cut(source, options, model->longest(), path);
  const Segments sources = Segments::from_lengths({int32_t(source.size())});
  Tape tape(cpu_kernels(), {});
  const Var encoded = model->encode(tape, to_tensor(source), sources);
  const std::vector<std::string> keys = pieces_of(source, *vocabulary);
  const AttentionPart part = options.part.value_or(AttentionPart::cross);
  if (part == AttentionPart::encoder)
    return {"self-attention of the encoder", keys, keys, weights_of_layer(tape, 0, 0, 1, options.layer)};
  const size_t decoder = tape.nodes().size();
  Ids target = target_of(options, *vocabulary, *model, source);
  cut(target, options, model->longest(), path);
  model->decode(tape, encoded, sources, to_tensor(target), Segments::from_lengths({int32_t(target.size())}));
  const std::vector<std::string> queries = pieces_of(target, *vocabulary);
  if (part == AttentionPart::decoder)  // each decoder layer has self-attention, then cross-attention
    return {"self-attention of the decoder", queries, queries, weights_of_layer(tape, decoder, 0, 2, options.layer)};
  return {"cross-attention", queries, keys, weights_of_layer(tape, decoder, 1, 2, options.layer)};
}

}  // namespace

AttentionMaps attention_maps(const Path& model, const std::string& checkpoint, const AttentionMapOptions& options) {
  return model_kind(find_run(model)) == EncoderDecoderConfig::kModel ? of_translation_model(model, checkpoint, options)
                                                                     : of_language_model(model, checkpoint, options);
}

}  // namespace gyre
