// gyre data import and gyre data export: convert between token stores and the token files of other programs.
#include "gyre/data/store/token_files.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/core/number_text.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/store/token_store.h"
#include "gyre/data/text/text_input.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/train/log/console.h"
#include "tools/command_line/messages.h"
#include "tools/options/computing_options.h"
#include "tools/program.h"

namespace gyre {
namespace {

// Progress on standard error.
class TokenProgress {
 public:
  TokenFileProgress callback() {
    return [this](uint64_t done, uint64_t all) {
      if (!progress_) progress_.emplace("tokens", int64_t(all));
      progress_->show(int64_t(done));
    };
  }
  void clear() { progress_.reset(); }

 private:
  std::optional<WorkProgress> progress_;
};

struct ImportTokensArgs {
  TokenFormat format{};
  Path vocabulary, output;
  std::vector<Path> inputs;
  TokenizerChoice tokenizer;
  bool copy = false;
  CpuThreads threads;
};

// The data sets among the files: of Megatron's two files, a folder or a pattern may name both.
std::vector<Path> data_sets(TokenFormat format, const std::vector<Path>& paths) {
  std::vector<Path> sets;
  for (const Path& path : expand_paths(paths)) {
    const Path first = files_of_tokens(format, path).front();
    if (std::ranges::find(sets, first) == sets.end()) sets.push_back(first);
  }
  return sets;
}

int import_files(const ImportTokensArgs& args) {
  args.threads.use();
  const std::vector<Path> sets = data_sets(args.format, args.inputs);
  for (const Path& set : sets) require_no_input(args.output, files_of_tokens(args.format, set));
  require_no_input(args.output, {args.vocabulary, args.tokenizer.dictionary});
  const auto vocabulary = load_vocabulary(args.vocabulary, args.tokenizer);
  TokenProgress progress;
  const TokenStore store = import_tokens(*vocabulary, args.format, sets, args.output,
                                         args.copy ? ImportedIds::copy : ImportedIds::in_place, progress.callback());
  progress.clear();
  print_message(concat(counted(count_documents(store), "document"), ", ", counted(store.total_tokens(0), "token"),
                       store.id_files().empty() ? "" : "; the ids stay in the files that were read"));
  return 0;
}

struct ExportTokensArgs {
  TokenFormat format{};
  std::vector<Path> stores;
  Path output;
};

int export_stores(const ExportTokensArgs& args) {
  std::vector<TokenStore> stores;
  for (const Path& path : expand_paths(args.stores)) {
    for (const Path& output : files_of_tokens(args.format, args.output)) require_no_input(output, {path});
    stores.emplace_back(path);
  }
  require(!stores.empty(), "[data export] expected a token store");
  const TokenStore store = stores.size() == 1 ? std::move(stores.front())
                                              : TokenStore::chain(args.stores.front().string(), std::move(stores));
  TokenProgress progress;
  const ExportedTokens exported = export_tokens(store, args.format, args.output, progress.callback());
  progress.clear();
  print_message(concat(counted(exported.documents, "document"), ", ", counted(exported.ids, "id")));
  return 0;
}

void add_import_tokens(Program& program) {
  auto args = std::make_shared<ImportTokensArgs>();
  OptionTable& table =
      program.command("data import", "convert token files of nanoGPT, llm.c or Megatron-LM to a token store",
                      [args] { return import_files(*args); });
  table.add_enum("--from", args->format,
                 "format of the files: .bin of nanoGPT, .bin of llm.c, which has a header, or .bin with .idx of "
                 "Megatron-LM; in all of them, </s> ends and <s> begins a document");
  table.add("--input,-i", args->inputs, "FILE...",
            "files, folders and patterns; they are one text, in this order; of Megatron-LM, the name of either file");
  table.add("--vocab,-v", args->vocabulary, "FILE", "vocabulary of the ids, such as the tokenizer.json of GPT-2");
  table.add_options(args->tokenizer);
  table.add("--output,-o", args->output, "FILE", "token store to write");
  for (const char* name : {"from", "input", "vocab", "output"}) table.required(name);
  table.add_flag("--copy", args->copy,
                 "copy the ids; otherwise the store refers to those in the files, if they have two or four bytes");
  args->threads.add_row(table);
}

void add_export_tokens(Program& program) {
  auto args = std::make_shared<ExportTokensArgs>();
  OptionTable& table =
      program.command("data export", "convert a token store to token files of nanoGPT, llm.c or Megatron-LM",
                      [args] { return export_stores(*args); });
  table.add_enum("--to", args->format,
                 "format of the files; ids take two bytes if the vocabulary allows it, else four, which nanoGPT lacks");
  table.add("--input,--store,-i", args->stores, "FILE...",
            "token stores of documents with the same vocabulary; several are one text, in this order");
  table.add("--output,-o", args->output, "FILE", "file to write; of Megatron-LM, the name before .bin and .idx");
  for (const char* name : {"to", "input", "output"}) table.required(name);
}

}  // namespace

void add_data_token_file_commands(Program& program) {
  add_import_tokens(program);
  add_export_tokens(program);
}

}  // namespace gyre
