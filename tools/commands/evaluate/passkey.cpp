// gyre evaluate passkey: the share of hidden numbers that a causal language model finds, by length and depth.
#include "gyre/train/analysis/passkey.h"

#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/random.h"
#include "gyre/train/log/console.h"
#include "tools/commands/greedy_generation.h"
#include "tools/lines.h"
#include "tools/plots/charts.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct PasskeyArgs {
  GreedyOptions model;
  std::vector<std::string> lengths{"512", "1k", "2k"};
  std::vector<double> depths{0, 25, 50, 75, 100};
  int samples = 5;
  uint64_t seed = 1;
  Path text, output, picture;
  bool quiet = false, json = false;
};

// The prompts of one length and one depth.
struct PasskeyCell {
  int64_t length = 0;
  double depth = 0;  // percent
  std::vector<std::string> keys;
  std::vector<GreedyPrompt> prompts;
  std::vector<std::string> texts;  // continuations

  double share() const {
    size_t found = 0;
    for (size_t i = 0; i < keys.size(); ++i) found += has_key(texts[i], keys[i]);
    return double(found) / double(keys.size());
  }
  double mean_tokens() const {
    size_t tokens = 0;
    for (const GreedyPrompt& prompt : prompts) tokens += prompt.ids.size();
    return double(tokens) / double(prompts.size());
  }
};

// "512" or "4k", which is 4,096.
int64_t parse_length(const std::string& text) {
  int64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  const std::string_view unit(end, size_t(text.data() + text.size() - end));
  const bool is_kilo = unit == "k" || unit == "K";
  expect(error == std::errc() && (unit.empty() || is_kilo) && length >= 1 && length < kMaxDimension, "--lengths",
         "numbers of tokens such as 512 or 4k", "'" + text + "'");
  return is_kilo ? 1024 * length : length;
}

// Room for the continuation: the tokens of the number, and some before it.
int answer_tokens(const Vocabulary& vocabulary, const std::string& key) {
  constexpr size_t kBefore = 4;
  return int(vocabulary.encode(" " + key).size() + kBefore);
}

PasskeyCell make_cell(const PasskeyArgs& args, const PasskeyTask& task, const GreedyGenerator& generator,
                      int64_t length, double depth) {
  PasskeyCell cell{length, depth, {}, {}, {}};
  const double share = depth / 100;
  const auto count = [&](const std::string& text) { return int64_t(generator.encode(text).size()); };
  size_t words = 0;
  for (int sample = 0; sample < args.samples; ++sample) {
    const uint64_t stream =
        mix(mix(mix(hash_name("passkey"), uint64_t(length)), uint64_t(1000 * depth)), uint64_t(sample));
    const int room = answer_tokens(generator.vocabulary(), task.prompt(0, share, stream).key);
    if (sample == 0) words = task.words_within(length - room, share, stream, count);
    PasskeyPrompt prompt = task.prompt(words, share, stream);
    GreedyPrompt tokens{generator.encode(prompt.text), prompt.text, room};
    if (int64_t(tokens.ids.size()) > length - room) {  // this number has more tokens than the first one
      prompt = task.prompt(task.words_within(length - room, share, stream, count), share, stream);
      tokens = {generator.encode(prompt.text), prompt.text, room};
    }
    cell.keys.push_back(std::move(prompt.key));
    cell.prompts.push_back(std::move(tokens));
  }
  return cell;
}

std::vector<PasskeyCell> run_cells(const PasskeyArgs& args, const std::vector<int64_t>& lengths) {
  const GreedyGenerator generator(args.model);
  for (const int64_t length : lengths)
    expect(length <= generator.longest(), "--lengths",
           concat("lengths up to the positions of the model, ", generator.longest()), length);
  const PasskeyTask task(args.text.empty() ? "" : read_file(args.text), args.seed);
  std::vector<PasskeyCell> cells;
  WorkProgress progress("prompts", int64_t(lengths.size() * args.depths.size()) * args.samples);
  int64_t done = 0;
  for (const int64_t length : lengths) {
    for (const double depth : args.depths) {
      PasskeyCell cell = make_cell(args, task, generator, length, depth);
      cell.texts = generator.run(cell.prompts);
      done += args.samples;
      if (!args.quiet) progress.show(done);
      cells.push_back(std::move(cell));
    }
  }
  progress.clear();
  return cells;
}

double average(const std::vector<PasskeyCell>& cells) {
  double sum = 0;
  for (const PasskeyCell& cell : cells) sum += cell.share();
  return sum / double(cells.size());
}

void write_cells(const Path& path, const std::vector<PasskeyCell>& cells) {
  OutputLines output(path);
  for (const PasskeyCell& cell : cells) {
    for (size_t i = 0; i < cell.keys.size(); ++i) {
      output.write(json_text({{"dataset", "passkey"},
                              {"input", cell.prompts[i].text},
                              {"answers", {cell.keys[i]}},
                              {"pred", cell.texts[i]},
                              {"length", cell.length},
                              {"depth", cell.depth}}));
    }
  }
  output.commit();
}

void draw_cells(const PasskeyArgs& args, const std::vector<PasskeyCell>& cells) {
  Heatmap map{
      concat("share of pass keys found, ", args.samples, " per cell"), args.depths.size(), args.lengths.size(), {}};
  for (size_t d = 0; d < args.depths.size(); ++d) {
    map.row_names.push_back(fmt::format("{:g} %", args.depths[d]));
    for (size_t l = 0; l < args.lengths.size(); ++l) map.values.push_back(cells[l * args.depths.size() + d].share());
  }
  map.column_names = args.lengths;
  HeatmapsPlot plot;
  plot.title = args.model.model.string();
  plot.x_label = "length (tokens)";
  plot.y_label = "depth of the pass key";
  plot.colors = HeatmapColors::shares;
  plot.panels.push_back(std::move(map));
  draw_heatmaps(plot, args.picture);
}

void print(const PasskeyArgs& args, const std::vector<PasskeyCell>& cells) {
  std::cout << fmt::format("{:>8}", "depth");
  for (const std::string& length : args.lengths) std::cout << fmt::format(" {:>8}", length);
  std::cout << '\n';
  for (size_t d = 0; d < args.depths.size(); ++d) {
    std::cout << fmt::format("{:>6g} %", args.depths[d]);
    for (size_t l = 0; l < args.lengths.size(); ++l)
      std::cout << fmt::format(" {:>8.2f}", cells[l * args.depths.size() + d].share());
    std::cout << '\n';
  }
  std::cout << fmt::format("average {:.4f}\n", average(cells));
}

Json json_of(const PasskeyArgs& args, const std::vector<PasskeyCell>& cells) {
  Json json{{"model", args.model.model.string()},
            {"samples", args.samples},
            {"average", average(cells)},
            {"rows", Json::array()}};
  for (const PasskeyCell& cell : cells)
    json["rows"].push_back(
        {{"length", cell.length}, {"depth", cell.depth}, {"score", cell.share()}, {"tokens", cell.mean_tokens()}});
  return json;
}

int evaluate(PasskeyArgs& args) {
  std::vector<int64_t> lengths;
  for (const std::string& length : args.lengths) lengths.push_back(parse_length(length));
  for (const double depth : args.depths) expect_between(0.0, 100.0, "--depths", depth);
  expect_between(1, 1'000'000, "--samples", args.samples);
  args.model.check();
  require_no_input(args.output, {args.text});
  args.model.threads.use();
  const std::vector<PasskeyCell> cells = run_cells(args, lengths);
  if (!args.output.empty()) write_cells(args.output, cells);
  if (!args.picture.empty()) draw_cells(args, cells);
  if (args.json) {
    std::cout << json_text(json_of(args, cells)) << '\n';
  } else {
    print(args, cells);
  }
  return 0;
}

}  // namespace

void add_evaluate_passkey_command(Program& program) {
  auto args = std::make_shared<PasskeyArgs>();
  OptionTable& table = program.command("evaluate passkey", "numbers that a language model finds in a long text",
                                       [args] { return evaluate(*args); });
  args->model.add_model_rows(table);
  table.add_list("--lengths", args->lengths, "TOKENS,...", "lengths of the prompt with its answer; 1k is 1024 tokens");
  table.add_list("--depths", args->depths, "PERCENT,...", "places of the number in the text, from its beginning");
  table.add("--samples,-n", args->samples, "NUMBER", "numbers to hide for each length and depth");
  table.add("--text", args->text, "FILE", "text in which to hide them; default: five sentences, over and over");
  table.add("--seed", args->seed, "NUMBER", "random seed of the numbers");
  table.add_picture("--picture", args->picture, "draw a heat map of the shares that were found");
  table.add("--output,-o", args->output, "FILE",
            "also write the prompts, the numbers and the continuations as JSON lines");
  table.add_flag("--json", args->json, "print one JSON object");
  args->model.add_execution_rows(table);
  table.add_flag("--quiet", args->quiet, "print no progress");
}

}  // namespace gyre
