// gyre evaluate extrapolation: perplexity of a causal language model at other lengths than that of its training.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/cpu_threads.h"
#include "tools/device_choice.h"
#include "tools/facts.h"
#include "tools/program.h"
#include "tools/scored_text.h"
#include "train/extrapolation.h"
#include "train/log/progress.h"
#include "train/stopwatch.h"
#include "train/trained_model.h"

namespace gyre {

namespace {

struct Extrapolation {
  ScoredText text;
  std::string precision = "fp32";
  std::vector<int> lengths{128, 256, 512, 1012, 1512, 2512};
  std::vector<LengthProtocol> protocols{LengthProtocol::cut, LengthProtocol::full, LengthProtocol::sliding};
  uint64_t most_tokens = 0;
  PositionConfig rope;  // of these, the fields that are given replace those of the model
  double scaling_factor = 0;
  ExtrapolationOptions score{.trained_length = 0};
  DeviceChoice device;
  CpuThreads threads;
  bool json = false;
  OptionTable* table = nullptr;
};

struct Row {
  int length;
  LengthProtocol protocol;
  std::string reason;  // why there is no score; empty: there is
  LengthScore score;
  double seconds = 0;

  double cross_entropy() const { return score.nll / double(score.tokens); }
};

int longest(const Extrapolation& call) { return *std::max_element(call.lengths.begin(), call.lengths.end()); }

// The model's configuration, with RoPE changed as the call says.
EncoderOnlyConfig configure(const Extrapolation& call) {
  auto config = read_config<EncoderOnlyConfig>(find_run(call.text.model));
  PositionConfig& p = config.position;
  for (const char* name : {"rope-scaling", "rope-scaling-factor", "rope-step"}) {
    if (call.table->given(name) && p.encoding != "rope")
      throw UsageError("--", name, " would have no effect: the model's positions are ", p.encoding);
  }
  if (call.table->given("rope-step")) p.rope_step = call.rope.rope_step;
  if (call.table->given("rope-scaling")) {
    p.rope_scaling = call.rope.rope_scaling;
    p.rope_original_length = call.score.trained_length;
    p.rope_scaling_factor = std::max(1.0, double(longest(call)) / call.score.trained_length);
  }
  if (call.scaling_factor > 0) {
    if (p.rope_scaling == RopeScaling::none)
      throw UsageError("--rope-scaling-factor would have no effect: --rope-scaling is none");
    p.rope_scaling_factor = call.scaling_factor;
  }
  return config;
}

// As many of the first tokens as fill blocks of the longest length.
std::vector<int32_t> read_tokens(const Extrapolation& call, const Vocabulary& vocabulary, int32_t& bos) {
  const Documents documents = call.text.open(vocabulary);
  bos = documents.store.bos();
  std::vector<int32_t> tokens = join_documents(documents.store, call.most_tokens == 0 ? UINT64_MAX : call.most_tokens);
  const auto block = size_t(longest(call));
  require(tokens.size() >= block, "[extrapolation] expected at least as many tokens as the longest of --lengths, ",
          block, ", got ", tokens.size());
  tokens.resize(tokens.size() / block * block);
  return tokens;
}

std::string describe(const Row& row) {
  if (!row.reason.empty()) return "n/a: " + row.reason;
  return fmt::format("perplexity {:.3f} : cross-entropy {:.4f} : {} tokens : {:.1f} s", std::exp(row.cross_entropy()),
                     row.cross_entropy(), row.score.tokens, row.seconds);
}

std::vector<Row> plan(const Extrapolation& call, const EncoderOnly& model) {
  std::vector<Row> rows;
  for (const LengthProtocol protocol : call.protocols)
    for (const int length : call.lengths) rows.push_back({length, protocol, no_score(model, length, protocol), {}});
  return rows;
}

// Fills in the scores. A line on the terminal while it works, and one for the log as each row is done.
void score_rows(const Extrapolation& call, const EncoderOnly& model, Kernels& kernels, std::vector<Row>& rows,
                const std::vector<int32_t>& tokens, int32_t bos) {
  const auto scored = std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.reason.empty(); });
  ProgressLine line({.total = scored * int64_t(tokens.size())});
  int64_t done = 0;
  std::string name;
  LengthScorer scorer(model, kernels, tokens, bos, call.score, [&](int64_t more) {
    done += more;
    if (!call.text.quiet) line.show(done, name);
  });
  for (Row& row : rows) {
    name = fmt::format("{} at length {}", enum_name(row.protocol), row.length);
    const Stopwatch watch;
    if (row.reason.empty()) row.score = scorer.run(row.length, row.protocol);
    row.seconds = watch.seconds();
    if (call.text.quiet) continue;
    line.clear();
    fmt::print(stderr, "{}: {}\n", name, describe(row));
  }
}

nlohmann::ordered_json facts_of(const Extrapolation& call, const EncoderOnly& model, const std::vector<Row>& rows,
                                size_t tokens) {
  nlohmann::ordered_json facts{{"model", call.text.model.string()},
                               {"position", model.config().position.encoding},
                               {"trained_length", call.score.trained_length},
                               {"tokens", tokens},
                               {"rows", nlohmann::ordered_json::array()}};
  for (const Row& row : rows) {
    nlohmann::ordered_json entry{{"length", row.length}, {"protocol", enum_name(row.protocol)}};
    const bool has_score = row.reason.empty();
    entry["perplexity"] = has_score ? nlohmann::ordered_json(std::exp(row.cross_entropy())) : nullptr;
    entry["cross_entropy"] = has_score ? nlohmann::ordered_json(row.cross_entropy()) : nullptr;
    entry["tokens"] = row.score.tokens;
    entry["seconds"] = row.seconds;
    if (!has_score) entry["reason"] = row.reason;
    facts["rows"].push_back(std::move(entry));
  }
  return facts;
}

// A line per length, a column per protocol; below, why a score is missing.
void print_table(const Extrapolation& call, const std::vector<Row>& rows) {
  std::string header = fmt::format("{:>8}", "length");
  for (const LengthProtocol protocol : call.protocols) header += fmt::format(" {:>10}", enum_name(protocol));
  std::cout << header << '\n';
  for (size_t l = 0; l < call.lengths.size(); ++l) {
    std::string line = fmt::format("{:>8}", call.lengths[l]);
    for (size_t p = 0; p < call.protocols.size(); ++p) {
      const Row& row = rows[p * call.lengths.size() + l];
      line +=
          row.reason.empty() ? fmt::format(" {:>10.3f}", std::exp(row.cross_entropy())) : fmt::format(" {:>10}", "n/a");
    }
    std::cout << line << '\n';
  }
  for (const Row& row : rows) {
    if (!row.reason.empty())
      std::cout << fmt::format("n/a, {} at length {}: {}\n", enum_name(row.protocol), row.length, row.reason);
  }
}

void check(const Extrapolation& call) {
  for (const int length : call.lengths)
    if (length < 1) throw UsageError("--lengths: expected lengths of at least 1, got ", length);
  if (call.score.batch_rows < 1) throw UsageError("--mini-batch-words is too small");
  if (call.scaling_factor != 0 && call.scaling_factor < 1)
    throw UsageError("--rope-scaling-factor: expected a number of at least 1, got ", call.scaling_factor);
}

int evaluate(Extrapolation& call) {
  check(call);
  call.text.complete(*call.table);
  call.threads.use();
  Kernels& kernels = call.device.kernels();
  call.score.precision = parse_precision(call.precision, kernels);
  if (call.score.trained_length == 0) call.score.trained_length = trained_length(call.text.model, call.text.checkpoint);
  const EncoderOnlyConfig config = configure(call);
  const auto vocabulary = load_run_vocabulary(find_run(call.text.model), call.text.vocabulary, config.vocab_size);
  const auto model = load_model<EncoderOnly>(config, call.text.model, call.text.checkpoint, kernels.device());
  int32_t bos = 0;
  const std::vector<int32_t> tokens = read_tokens(call, *vocabulary, bos);
  std::vector<Row> rows = plan(call, *model);
  score_rows(call, *model, kernels, rows, tokens, bos);
  nlohmann::ordered_json facts = facts_of(call, *model, rows, tokens.size());
  if (!call.json) facts.erase("rows");
  print_facts(facts, call.json);
  if (!call.json) print_table(call, rows);
  return 0;
}

void add_length_rows(OptionTable& table, Extrapolation& call) {
  table.add_list("--lengths", call.lengths, "TOKENS,...", "to score at");
  table.add_list("--protocol,--protocols", call.protocols, "WORD,...",
                 "cut: pieces of the training length; full: blocks of the length; sliding: each token after as many as "
                 "the length has before it, with kept keys and values");
  table.add("--tokens", call.most_tokens, "TOKENS",
            "of the text, from its beginning, rounded down to blocks of the longest length; 0: all");
  table.add("--trained-length", call.score.trained_length, "TOKENS",
            "pieces of the protocol cut; 0: what the model was trained with");
}

void add_rope_rows(OptionTable& table, Extrapolation& call) {
  table.group("RoPE beyond its training, instead of what the model has");
  table.add_enum("--rope-scaling", call.rope.rope_scaling, "how the frequencies change");
  table.add("--rope-scaling-factor", call.scaling_factor, "NUMBER",
            "the longer length, divided by that of training; 0: by the longest of --lengths");
  table.add("--rope-step", call.rope.rope_step, "NUMBER", "token i stands at i times this");
}

}  // namespace

void add_evaluate_extrapolation_command(Program& program) {
  auto call = std::make_shared<Extrapolation>();
  OptionTable& table = program.command("evaluate extrapolation", "perplexity at other lengths than that of training",
                                       [call] { return evaluate(*call); });
  call->table = &table;
  call->text.add_rows(table);
  add_length_rows(table, *call);
  add_rope_rows(table, *call);
  table.group("Work");
  table.add("--mini-batch-words,--max-tokens", call->score.batch_rows, "TOKENS",
            "worked through at a time; a longer block alone");
  table.add_choice("--precision", call->precision, precision_names(), "of activations and products");
  call->device.add_row(table);
  call->threads.add_row(table);
  table.add_flag("--quiet", call->text.quiet, "no lines of progress");
  table.add_flag("--json", call->json, "print one JSON object");
}

}  // namespace gyre
