// gyre forward: the logits of sequences of ids, as numbers: how another program's model is compared with Gyre's.
#include <memory>
#include <sstream>

#include "core/output_target.h"
#include "core/safetensors_writer.h"
#include "models/encoder_only.h"
#include "models/sequence_classifier.h"
#include "tools/cpu_threads.h"
#include "tools/device_choice.h"
#include "tools/lines.h"
#include "tools/model_choice.h"
#include "tools/program.h"
#include "train/to_tensor.h"
#include "train/trained_model.h"

namespace gyre {

namespace {

struct Forward {
  Path model, ids, token_types, output;
  std::string checkpoint;
  int64_t batch_tokens = 1024;
  DeviceChoice device;
  CpuThreads threads;
};

using Sequences = std::vector<std::vector<int32_t>>;

// One sequence a line, of whole numbers from 0 to below `limit`.
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

Sequences read_token_types(const Forward& call, const Sequences& ids, int64_t limit) {
  if (call.token_types.empty()) return {};
  require(limit > 0, call.token_types.string(), ": the model has no token types");
  Sequences types = read_sequences(call.token_types, limit);
  require(types.size() == ids.size(), call.token_types.string(), ": expected ", ids.size(), " lines as in ",
          call.ids.string(), ", got ", types.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    require(types[i].size() == ids[i].size(), call.token_types.string(), ":", i + 1, ": expected ", ids[i].size(),
            " token types as there are ids, got ", types[i].size());
  }
  return types;
}

// Sequences [begin, end) one after another; undefined where there are none.
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

// The end of the sequences from `begin` on that make a batch: one at least.
size_t batch_end(const Sequences& ids, size_t begin, int64_t tokens) {
  size_t end = begin + 1;
  for (auto sum = int64_t(ids[begin].size()); end < ids.size(); ++end) {
    sum += int64_t(ids[end].size());
    if (sum > tokens) break;
  }
  return end;
}

// What the kinds of model differ in: a row of logits for each token, or one for each sequence.
Shape logits_shape(const EncoderOnly& model, int64_t tokens) { return {tokens, model.config().vocab_size}; }
Shape logits_shape(const SequenceClassifier& model, int64_t /*tokens*/) { return {model.config().classes}; }

// In the order of the sequences: all that each has.
Tensor logits_of(const EncoderOnly& model, Tape& tape, const Tensor& ids, const Segments& segments,
                 const Tensor& types) {
  return model.logits(model.encode(tape, ids, segments, types)).value();
}
Tensor logits_of(const SequenceClassifier& model, Tape& tape, const Tensor& ids, const Segments& segments,
                 const Tensor& types) {
  return model.outputs(tape, {ids, segments, {}, types}).value().reshape({segments.count() * model.config().classes});
}

template <class Model>
void forward(const Forward& call, Kernels& kernels) {
  print_model_choice(call.model, call.checkpoint);
  const auto model = load_model<Model>(call.model, call.checkpoint, kernels.device());
  const EncoderOnlyConfig& encoder = encoder_of(model->config());
  const Sequences ids = read_sequences(call.ids, encoder.vocab_size);
  require_lengths(ids, model->longest(), call.ids);
  const Sequences types = read_token_types(call, ids, encoder.token_types);

  std::vector<PlannedTensor> plan;
  for (size_t i = 0; i < ids.size(); ++i)
    plan.push_back({"logits." + std::to_string(i), DType::f32, logits_shape(*model, int64_t(ids[i].size()))});
  SafetensorsWriter output(call.output, plan, {{"format", "pt"}});
  for (size_t begin = 0; begin < ids.size();) {
    const size_t end = batch_end(ids, begin, call.batch_tokens);
    Tape tape(kernels, {.record = false});
    const Tensor logits =
        logits_of(*model, tape, packed(ids, begin, end), segments_of(ids, begin, end), packed(types, begin, end))
            .to_cpu();
    for (int64_t row = 0; begin < end; ++begin) {
      const int64_t rows = plan[begin].shape[0];
      output.write(logits.slice(row, row + rows));
      row += rows;
    }
  }
  output.commit();
}

int run(const Forward& call) {
  require_no_input(call.output, {call.ids, call.token_types});
  if (call.batch_tokens < 1) throw UsageError("--mini-batch-words is too small");
  call.threads.use();
  Kernels& kernels = call.device.kernels();
  if (model_kind(find_run(call.model)) == ClassifierConfig::kModel) {
    forward<SequenceClassifier>(call, kernels);
  } else {
    forward<EncoderOnly>(call, kernels);
  }
  return 0;
}

}  // namespace

void add_forward_command(Program& program) {
  auto call = std::make_shared<Forward>();
  OptionTable& table = program.command("forward", "compute the logits of sequences of ids, to compare models",
                                       [call] { return run(*call); });
  table.add("--model,-m", call->model, "DIRECTORY", "a run directory, a checkpoint in it, or its model.safetensors");
  table.required("model");
  table.add(
      "--checkpoint", call->checkpoint, "NAME",
      "of the run: best, last, average, a step-... directory or a path; absent: best where there is one, else last");
  table.add("--ids", call->ids, "FILE", "one sequence of ids a line, special ones included");
  table.required("ids");
  table.add("--token-types", call->token_types, "FILE", "the token type of each id, in the same form; absent: all 0");
  table.add("--output,-o", call->output, "FILE",
            "safetensors: logits.0 of the first line, logits.1 of the second, .. in fp32: (tokens, vocabulary); of a "
            "classifier (classes)");
  table.required("output");
  table.group("Work");
  table.add("--mini-batch-words,--max-tokens", call->batch_tokens, "TOKENS", "computed together; a longer line alone");
  call->device.add_row(table);
  call->threads.add_row(table);
}

}  // namespace gyre
