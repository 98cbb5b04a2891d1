// gyre forward: computes the logits or the hidden states of token id sequences, to compare a model with another
// implementation, or to use an encoder's states elsewhere.
#include <memory>
#include <sstream>

#include "gyre/autograd/inspect/tensor_stats.h"
#include "gyre/core/io/file.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/core/option_checks.h"
#include "gyre/models/encoder_only.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/inputs.h"
#include "tools/lines.h"
#include "tools/options/computing_options.h"
#include "tools/options/model_choice.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct ForwardArgs {
  Path model, ids, token_types, output;
  std::string checkpoint;
  int64_t batch_tokens = 1024;
  bool hidden_states = false;
  DeviceChoice device;
  CpuThreads threads;
};

using Sequences = std::vector<std::vector<int32_t>>;

// Reads one sequence per line, of integers from 0 to limit - 1.
Sequences read_sequences(const Path& path, int64_t limit) {
  InputLines input(path);
  Sequences sequences;
  for (std::string line; input.next(line);) {
    std::istringstream words(line);
    auto& sequence = sequences.emplace_back();
    for (std::string word; words >> word;) {
      int32_t number = -1;
      const auto end = std::from_chars(word.data(), word.data() + word.size(), number);
      const bool fits = end.ec == std::errc() && *end.ptr == '\0' && number >= 0 && number < limit;
      require(fits, input.name(), ":", input.line(), ": expected whole numbers from 0 to ", limit - 1, ", got '", word,
              "'");
      sequence.push_back(number);
    }
    require(!sequence.empty(), input.name(), ":", input.line(), ": expected at least one id, got none");
  }
  require(!sequences.empty(), input.name(), ": expected at least one line, got none");
  return sequences;
}

void require_lengths(const Sequences& ids, int64_t longest, const Path& path) {
  for (size_t i = 0; i < ids.size(); ++i) {
    require(int64_t(ids[i].size()) <= longest, path.string(), ":", i + 1, ": expected at most ", longest, " ids, got ",
            ids[i].size());
  }
}

Sequences read_token_types(const ForwardArgs& args, const Sequences& ids, int64_t limit) {
  if (args.token_types.empty()) return {};
  require(limit > 0, args.token_types.string(), ": the model has no token types");
  Sequences types = read_sequences(args.token_types, limit);
  require(types.size() == ids.size(), args.token_types.string(), ": expected ", ids.size(), " lines as in ",
          args.ids.string(), ", got ", types.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    require(types[i].size() == ids[i].size(), args.token_types.string(), ":", i + 1, ": expected ", ids[i].size(),
            " token types as there are ids, got ", types[i].size());
  }
  return types;
}

// Concatenates sequences [begin, end); an undefined tensor if `sequences` is empty.
Tensor packed(const Sequences& sequences, size_t begin, size_t end) {
  if (sequences.empty()) return {};
  std::vector<int32_t> flat;
  for (size_t i = begin; i < end; ++i) flat.insert(flat.end(), sequences[i].begin(), sequences[i].end());
  return to_tensor(flat);
}

Segments segments_of(const Sequences& sequences, size_t begin, size_t end) {
  std::vector<int32_t> lengths;
  for (size_t i = begin; i < end; ++i) lengths.push_back(int32_t(sequences[i].size()));
  return Segments::from_lengths(lengths);
}

// End of the batch that starts with sequence `begin`; it has at least one sequence.
size_t batch_end(const Sequences& ids, size_t begin, int64_t tokens) {
  size_t end = begin + 1;
  for (auto sum = int64_t(ids[begin].size()); end < ids.size(); ++end) {
    sum += int64_t(ids[end].size());
    if (sum > tokens) break;
  }
  return end;
}

// Shape of one sequence's logits: a row for each token, or one row for a classifier.
Shape logits_shape(const EncoderOnly& model, int64_t tokens) { return {tokens, model.config().vocab_size}; }
Shape logits_shape(const SequenceClassifier& model, int64_t /*tokens*/) { return {model.config().classes}; }

// States of all sequences after the last layer, one after another: (tokens, width).
Var states_of(const EncoderOnly& model, Tape& tape, const Tensor& ids, const Segments& segments, const Tensor& types) {
  return model.encode(tape, ids, segments, types);
}
Var states_of(const SequenceClassifier& model, Tape& tape, const Tensor& ids, const Segments& segments,
              const Tensor& types) {
  return model.encode(tape, {ids, segments, {}, types});
}

// Logits of all sequences, one after another.
Tensor logits_of(const EncoderOnly& model, const Var& states, const Segments&) { return model.logits(states).value(); }
Tensor logits_of(const SequenceClassifier& model, const Var& states, const Segments& segments) {
  return model.outputs(states, segments).value().reshape({segments.count() * model.config().classes});
}

template <class Model>
void forward(const ForwardArgs& args, Kernels& kernels) {
  print_model_choice(args.model, args.checkpoint);
  const auto model = load_model<Model>(args.model, args.checkpoint, kernels.device());
  const EncoderOnlyConfig& encoder = encoder_of(model->config());
  const Sequences ids = read_sequences(args.ids, encoder.vocab_size);
  require_lengths(ids, model->longest(), args.ids);
  const Sequences types = read_token_types(args, ids, encoder.token_types);

  std::vector<PlannedTensor> plan;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto tokens = int64_t(ids[i].size());
    plan.push_back(args.hidden_states ? PlannedTensor{concat("hidden_states.", i), DType::f32, {tokens, encoder.dim}}
                                      : PlannedTensor{concat("logits.", i), DType::f32, logits_shape(*model, tokens)});
  }
  SafetensorsWriter output(args.output, plan, {{"format", "pt"}});
  for (size_t begin = 0; begin < ids.size();) {
    const size_t end = batch_end(ids, begin, args.batch_tokens);
    Tape tape(kernels, {.record = false});
    const Segments segments = segments_of(ids, begin, end);
    const Var states = states_of(*model, tape, packed(ids, begin, end), segments, packed(types, begin, end));
    const Tensor outputs = (args.hidden_states ? states.value() : logits_of(*model, states, segments)).to_cpu();
    for (int64_t row = 0; begin < end; ++begin) {
      const int64_t rows = plan[begin].shape[0];
      const Tensor own = outputs.slice(row, row + rows);
      require(all_finite(own), args.ids.string(), ":", begin + 1, ": the outputs of the model are not finite numbers");
      output.write(own);
      row += rows;
    }
  }
  output.commit();
}

int run(const ForwardArgs& args) {
  require_no_input(args.output, {args.ids, args.token_types});
  expect_at_least(1, "--mini-batch-words", args.batch_tokens);
  args.threads.use();
  Kernels& kernels = args.device.kernels();
  if (model_kind(find_run(args.model)) == ClassifierConfig::kModel) {
    forward<SequenceClassifier>(args, kernels);
  } else {
    forward<EncoderOnly>(args, kernels);
  }
  return 0;
}

}  // namespace

void add_forward_command(Program& program) {
  auto args = std::make_shared<ForwardArgs>();
  OptionTable& table = program.command("forward", "compute logits or hidden states of token id sequences",
                                       [args] { return run(*args); });
  add_model_rows(table, args->model, args->checkpoint);
  table.add("--ids", args->ids, "FILE", "token ids, one sequence per line, including special tokens");
  table.required("ids");
  table.add("--token-types", args->token_types, "FILE", "token type of each id, in the same form; default: all 0");
  table.add("--output,-o", args->output, "FILE",
            "safetensors file with fp32 tensors logits.0 for the first line, logits.1 for the second, ..: (tokens, "
            "vocabulary), or (classes) for a classifier");
  table.required("output");
  table.add_flag("--hidden-states", args->hidden_states,
                 "write the states after the last layer instead, hidden_states.0 and so on: (tokens, width)");
  table.group("Execution");
  table.add("--mini-batch-words,--max-tokens", args->batch_tokens, "TOKENS",
            "tokens per batch; a longer line is a batch by itself");
  args->device.add_row(table);
  args->threads.add_row(table);
}

}  // namespace gyre
